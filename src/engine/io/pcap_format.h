// SPDX-License-Identifier: MIT
// What pcap and pcapng have in common for CaptureReader: an Input, a name for messages, a place to
// say that the file is cut, and integers in the byte order of whoever wrote the file. For
// engine/io/pcap*.cc only.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "engine/io/input.h"
#include "engine/io/pcap.h"

namespace fairlead::engine {

class CaptureReader::Format {
 public:
  Format(Input input, std::string name) : input_(std::move(input)), name_(std::move(name)) {}
  virtual ~Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;

  // As CaptureReader::next(); the bytes lie in the Input's buffer.
  virtual Result<std::optional<CapturedFrame>> next() = 0;

  Input& input() { return input_; }
  const std::string& name() const { return name_; }
  const std::string& warning() const { return warning_; }
  Precision precision() const { return precision_; }

 protected:
  using Bytes = std::span<const std::byte>;

  uint16_t u16(Bytes bytes, size_t at) const { return load<uint16_t>(bytes, at); }
  uint32_t u32(Bytes bytes, size_t at) const { return load<uint32_t>(bytes, at); }
  uint64_t u64(Bytes bytes, size_t at) const { return load<uint64_t>(bytes, at); }

  // The end of a file that lacks its end, or that could not be read: the record that starts at
  // `start` has `wanted` bytes, of which `there` are there.
  Result<std::optional<CapturedFrame>> cut(uint64_t start, uint64_t wanted, uint64_t there) {
    ended_ = true;
    if (input_.error() != 0) {
      return failure(fmt::format("{}: cannot be read beyond byte {}: {}", name_, input_.offset(),
                                 std::strerror(input_.error())));
    }
    warning_ = fmt::format(
        "{}: cut short: {} of the {} bytes from offset {} on are missing, behind {} "
        "whole frames",
        name_, wanted - there, wanted, start, frames_);
    return std::nullopt;
  }

  std::unexpected<Error> corrupt(const std::string& what) {
    ended_ = true;
    return failure(fmt::format("{}: corrupt at byte {}, behind {} whole frames: {}", name_,
                               input_.offset(), frames_, what));
  }

  std::unexpected<Error> not_ethernet(uint32_t link_type) {
    ended_ = true;
    return failure(
        fmt::format("{}: its link type is {}, and only Ethernet (1) can be read: capture "
                    "on an Ethernet interface, not on \"any\"",
                    name_, link_type));
  }

  Input input_;
  std::string name_;
  std::string warning_;
  Precision precision_ = Precision::micro;
  bool swapped_ = false;  // the file's byte order is not ours
  bool ended_ = false;
  uint64_t frames_ = 0;

 private:
  template <class T>
  T load(Bytes bytes, size_t at) const {
    T value;
    std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
    return swapped_ ? std::byteswap(value) : value;
  }
};

constexpr uint32_t link_type_ethernet = 1;

// The magic number of each format has been seen; nothing has been skipped.
std::unique_ptr<CaptureReader::Format> open_classic(Input input, std::string name);
std::unique_ptr<CaptureReader::Format> open_pcapng(Input input, std::string name);

namespace pcap_magic {
constexpr uint32_t micro = 0xa1b2c3d4;
constexpr uint32_t nano = 0xa1b23c4d;
constexpr uint32_t pcapng = 0x0a0d0d0a;  // reads the same in both byte orders
constexpr uint32_t pcapng_order = 0x1a2b3c4d;
}  // namespace pcap_magic

}  // namespace fairlead::engine
