// SPDX-License-Identifier: MIT
// BpfObject: see object.h. What libbpf 1.1 demands is said where it matters.
#include "engine/bpf/object.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/bpf/libbpf_log.h"

namespace fairlead::engine {
namespace {

constexpr std::string_view array_prefix = ".bss.";

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

bool is_array(const bpf_map* map) {
  return std::string_view(bpf_map__name(map)).starts_with(array_prefix);
}

// A variable's place in .rodata, from the object's BTF.
const btf_var_secinfo* find_variable(const btf* types, std::string_view name) {
  const int section = btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC);
  if (section < 0) {
    return nullptr;
  }
  const btf_type* type = btf__type_by_id(types, static_cast<uint32_t>(section));
  const btf_var_secinfo* variable = btf_var_secinfos(type);
  for (uint32_t i = 0; i < btf_vlen(type); i++, variable++) {
    const btf_type* candidate = btf__type_by_id(types, variable->type);
    if (name == btf__name_by_offset(types, candidate->name_off)) {
      return variable;
    }
  }
  return nullptr;
}

}  // namespace

std::string not_permitted(std::string_view what) {
  return fmt::format(
      "{}: not permitted; run as root, or with the capabilities CAP_BPF, "
      "CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON and CAP_IPC_LOCK",
      what);
}

void BpfObject::Closer::operator()(bpf_object* object) const { bpf_object__close(object); }

BpfObject::BpfObject(std::string name, bpf_object* object)
    : name_(std::move(name)), object_(object) {}

BpfObject::BpfObject(BpfObject&&) noexcept = default;
BpfObject& BpfObject::operator=(BpfObject&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(object_, other.object_);
  std::swap(mappings_, other.mappings_);
  std::swap(log_, other.log_);
  return *this;
}

BpfObject::~BpfObject() {
  for (const Mapping& mapping : mappings_) {
    ::munmap(mapping.data, mapping.mapped);
  }
}

Result<BpfObject> BpfObject::open(std::string name, std::span<const std::byte> image) {
  const LibbpfLog log;
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name.c_str());
  bpf_object* object = bpf_object__open_mem(image.data(), image.size(), &options);
  if (object == nullptr) {
    return failure(fmt::format("BPF object {}: cannot be opened: {}: {}", name,
                               std::strerror(errno), log.text()));
  }
  return BpfObject(std::move(name), object);
}

Result<bpf_map*> BpfObject::find(std::string_view name) const {
  bpf_map* map = bpf_object__find_map_by_name(object_.get(), std::string(name).c_str());
  if (map == nullptr) {
    return failure(fmt::format("BPF object {}: has no map {}", name_, name));
  }
  return map;
}

Result<void> BpfObject::resize(std::string_view array, uint64_t bytes) {
  const auto map = find(array);
  if (!map) {
    return std::unexpected(map.error());
  }
  size_t declared = 0;
  const void* own = bpf_map__initial_value(*map, &declared);
  if (!is_array(*map) || own == nullptr) {
    return failure(
        fmt::format("BPF object {}: map {} is no array of a .bss section", name_, array));
  }
  // libbpf mapped its own copy when it opened the object, and unmaps it by the size the map has at
  // the end: larger would unmap what lies behind it.
  if (bytes == 0 || bytes > declared) {
    return failure(fmt::format("BPF object {}: {} can have 1 to {} bytes, not {}", name_, array,
                               declared, bytes));
  }
  if (const int error = bpf_map__set_value_size(*map, static_cast<uint32_t>(bytes)); error != 0) {
    return failure(fmt::format("BPF object {}: {} cannot be resized: {}", name_, array,
                               std::strerror(-error)));
  }
  const size_t kept = whole_pages(bytes);
  if (const size_t mapped = whole_pages(declared); mapped > kept) {
    ::munmap(static_cast<std::byte*>(const_cast<void*>(own)) + kept, mapped - kept);
  }
  return {};
}

Result<void> BpfObject::write_constant(std::string_view variable,
                                       std::span<const std::byte> value) {
  const auto constants = find(".rodata");
  const btf* types = bpf_object__btf(object_.get());
  const btf_var_secinfo* place =
      constants && types != nullptr ? find_variable(types, variable) : nullptr;
  if (place == nullptr) {
    return failure(fmt::format("BPF object {}: has no constant {}", name_, variable));
  }
  if (place->size != value.size()) {
    return failure(fmt::format("BPF object {}: constant {} has {} bytes, not {}", name_, variable,
                               place->size, value.size()));
  }
  size_t size = 0;
  auto* data =
      static_cast<std::byte*>(const_cast<void*>(bpf_map__initial_value(*constants, &size)));
  if (data == nullptr || place->offset + value.size() > size) {
    return failure(fmt::format("BPF object {}: constant {} lies outside .rodata", name_, variable));
  }
  std::memcpy(data + place->offset, value.data(), value.size());
  return {};
}

Result<void> BpfObject::make_arrays() {
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, object_.get()) {
    if (!is_array(map)) {
      continue;
    }
    // The kernel knows 15 characters; libbpf takes such a prefix for the map's own name.
    const std::string name(std::string_view(bpf_map__name(map)).substr(0, BPF_OBJ_NAME_LEN - 1));
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const Fd made(bpf_map_create(BPF_MAP_TYPE_ARRAY, name.c_str(), sizeof(uint32_t),
                                 bpf_map__value_size(map), 1, &options));
    if (!made) {
      return refused(errno, {});
    }
    if (const int error = bpf_map__reuse_fd(map, made.get()); error != 0) {
      return refused(-error, {});
    }
  }
  return {};
}

std::unexpected<Error> BpfObject::refused(int error, const std::string& verdict) const {
  if (!verdict.empty() && error != EPERM) {
    return failure(
        fmt::format("BPF program {}: refused by the kernel's verifier, which needs Linux "
                    "6.1 or newer: {}",
                    name_, verdict));
  }
  switch (error) {
    case EPERM:
    case EACCES: return failure(not_permitted(fmt::format("BPF program {}", name_)));
    case ENOMEM:
    case E2BIG:
      return failure(
          fmt::format("BPF program {}: no memory for its tables; lower "
                      "connection_table_size",
                      name_));
    case ENOSYS:
      return failure(
          fmt::format("BPF program {}: this kernel has no BPF; it needs "
                      "CONFIG_BPF_SYSCALL",
                      name_));
    default:
      return failure(
          fmt::format("BPF program {}: cannot be loaded: {}", name_, std::strerror(error)));
  }
}

Result<void> BpfObject::load() {
  const LibbpfLog log;
  if (auto made = make_arrays(); !made) {
    return made;
  }
  const int error = bpf_object__load(object_.get());
  log_ = log.text();
  if (error != 0) {
    return refused(-error, log.verdict());
  }
  // libbpf goes on without, and the verifier then takes no function for one to be checked apart.
  if (bpf_object__btf_fd(object_.get()) < 0) {
    return failure(fmt::format("BPF program {}: the kernel refuses its type information", name_));
  }
  return {};
}

Result<std::span<std::byte>> BpfObject::array(std::string_view name) {
  for (const Mapping& mapping : mappings_) {
    if (mapping.name == name) {
      return std::span(mapping.data, mapping.bytes);
    }
  }
  const auto map = find(name);
  if (!map) {
    return std::unexpected(map.error());
  }
  const size_t bytes = bpf_map__value_size(*map);
  const size_t mapped = whole_pages(bytes);
  void* data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(*map), 0);
  if (data == MAP_FAILED) {
    return failure(
        fmt::format("BPF object {}: {} cannot be mapped: {}", name_, name, std::strerror(errno)));
  }
  mappings_.push_back({std::string(name), static_cast<std::byte*>(data), mapped, bytes});
  return std::span(mappings_.back().data, bytes);
}

Result<int> BpfObject::map(std::string_view name) const {
  const auto map = find(name);
  if (!map) {
    return std::unexpected(map.error());
  }
  return bpf_map__fd(*map);
}

Result<int> BpfObject::program(std::string_view name) const {
  const bpf_program* program =
      bpf_object__find_program_by_name(object_.get(), std::string(name).c_str());
  if (program == nullptr) {
    return failure(fmt::format("BPF object {}: has no program {}", name_, name));
  }
  return bpf_program__fd(program);
}

}  // namespace fairlead::engine
