// SPDX-License-Identifier: MIT
// The Internet checksum (RFC 1071) over bytes in memory order, for frames that are built anew.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace fairlead::host {

// The sum of the 16-bit words; a last odd byte counts as if a zero followed.
inline uint64_t sum_of(std::span<const uint8_t> bytes) {
  uint64_t sum = 0;
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    sum += word;
    bytes = bytes.subspan(sizeof word);
  }
  uint32_t rest = 0;
  std::memcpy(&rest, bytes.data(), bytes.size());
  return sum + rest;
}

// As it is written into a header.
inline uint16_t checksum_of(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

}  // namespace fairlead::host
