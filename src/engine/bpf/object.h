// SPDX-License-Identifier: MIT
// A BPF object that lies in this program (fairlead_bpf() in cmake embeds it), loaded into the
// kernel.
//
// Tables are global arrays, `Row rows[N] SEC(".bss.rows")`: libbpf makes of each such section an
// array map of one value that user space maps as well, and programs reach it by address, without a
// look-up call. N is the largest size that can be asked for; resize() makes the array smaller
// before it is loaded, and a constant tells the program by how much:
//
//   extern "C" { extern const volatile u32 row_mask; const volatile u32 row_mask = 0; }
//   object.resize(".bss.rows", rows * sizeof(Row));  object.set_constant("row_mask", rows - 1);
//
// The maps of the .bss.* sections are made here and handed to libbpf, not left to libbpf 1.1, which
// would first write the whole array into a second one of its own in order to copy zeros.
//
// Order: open, resize and set_constant, load, everything else. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

struct bpf_object;
struct bpf_map;

namespace fairlead::engine {

class BpfObject {
 public:
  // `name` is for messages and for the kernel's lists of programs and maps.
  static Result<BpfObject> open(std::string name, std::span<const std::byte> image);
  BpfObject(BpfObject&&) noexcept;
  BpfObject& operator=(BpfObject&&) noexcept;
  ~BpfObject();

  // Bytes of the array in section `array` (".bss.rows"): 1 to what the program declares.
  Result<void> resize(std::string_view array, uint64_t bytes);

  // A `const volatile` global of the program with C linkage: a constant for the verifier.
  template <class T>
  Result<void> set_constant(std::string_view variable, const T& value) {
    return write_constant(variable, std::as_bytes(std::span(&value, 1)));
  }

  // Error: not permitted, with the remedy; or refused by the verifier, with its last lines.
  Result<void> load();
  // What libbpf and the verifier said about load(): for a person who wants to know it all.
  const std::string& log() const { return log_; }

  // The array, mapped into this process for as long as the object lives.
  Result<std::span<std::byte>> array(std::string_view name);
  template <class T>
  Result<std::span<T>> array_of(std::string_view name) {
    auto bytes = array(name);
    if (!bytes) {
      return std::unexpected(bytes.error());
    }
    return std::span(reinterpret_cast<T*>(bytes->data()), bytes->size() / sizeof(T));
  }
  Result<int> map(std::string_view name) const;      // descriptor, stays the object's
  Result<int> program(std::string_view name) const;  // descriptor, stays the object's

 private:
  struct Mapping {
    std::string name;
    std::byte* data;
    size_t mapped;
    size_t bytes;
  };

  BpfObject(std::string name, bpf_object* object);
  Result<bpf_map*> find(std::string_view name) const;
  Result<void> write_constant(std::string_view variable, std::span<const std::byte> value);
  Result<void> make_arrays();
  std::unexpected<Error> refused(int error, const std::string& verdict) const;

  struct Closer {
    void operator()(bpf_object* object) const;
  };
  std::string name_;
  std::unique_ptr<bpf_object, Closer> object_;
  std::vector<Mapping> mappings_;
  std::string log_;
};

// "not permitted" as a sentence with the remedy, for programs, maps and sockets of `what`.
std::string not_permitted(std::string_view what);

}  // namespace fairlead::engine
