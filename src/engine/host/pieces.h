// SPDX-License-Identifier: MIT
// Cuts an IPv4 packet, which may be a fragment itself, to fragments of at most `mtu` bytes.
// RFC 791 section 3.2: options with the copied flag stand in each, the others in the first only.
#pragma once

#include <cstdint>
#include <span>

namespace fairlead::host {

class Pieces {
 public:
  // `packet` is a whole, well-formed IPv4 packet without DF. mtu: at least 68 (RFC 791).
  Pieces(std::span<const uint8_t> packet, uint32_t mtu);

  // The next fragment with its checksum, or an empty span after the last. `out` has room for mtu.
  std::span<const uint8_t> next(std::span<uint8_t> out);

 private:
  std::span<const uint8_t> header_;
  std::span<const uint8_t> rest_;  // of the payload
  uint32_t mtu_;
  uint32_t offset_;   // of what comes next, in bytes
  bool more_behind_;  // the packet itself was not the last fragment
  uint8_t copied_[60];
  uint32_t copied_bytes_;  // the header of all fragments but the first
};

}  // namespace fairlead::host
