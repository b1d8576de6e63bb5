// SPDX-License-Identifier: MIT
// For tests: messages of routers as bytes, from the tables of the RFCs and not from the code that
// reads them.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "control/config/address.h"

namespace fairlead::path_mtu {

using Bytes = std::basic_string<uint8_t>;

inline Bytes be16(uint32_t value) {
  return {static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
}
inline Bytes be32(uint32_t value) { return be16(value >> 16) + be16(value & 0xffff); }

inline Bytes bytes_of(const char* address) {
  uint8_t bytes[16];
  const bool v4 = std::strchr(address, ':') == nullptr;
  if (inet_pton(v4 ? AF_INET : AF_INET6, address, bytes) != 1) return {};
  return {bytes, v4 ? 4u : 16u};
}

inline config::IpAddress ip(std::string_view text) { return config::parse_address(text).value(); }

inline Bytes with_sum(Bytes message, size_t at) {
  uint32_t sum = 0;
  for (size_t i = 0; i < message.size(); i++) sum += uint32_t{message[i]} << (i % 2 ? 0 : 8);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return message.replace(at, 2, be16(~sum & 0xffff));
}

inline Bytes ipv4(const char* from, const char* to, uint8_t protocol, uint32_t length,
                  uint32_t fragment = 0x4000) {
  return with_sum(Bytes{0x45, 0} + be16(length) + be16(0) + be16(fragment) +
                      Bytes{64, protocol, 0, 0} + bytes_of(from) + bytes_of(to),
                  10);
}

inline Bytes ipv6(const char* from, const char* to, uint8_t next, uint32_t length) {
  return Bytes{0x60, 0, 0, 0} + be16(length - 40) + Bytes{next, 64} + bytes_of(from) + bytes_of(to);
}

inline const Bytes gre4 = be16(0) + be16(0x0800), gre6 = be16(0) + be16(0x86dd);

// ICMP 3/4 from `router` to this node.
inline Bytes needs_fragmentation(const char* router, uint32_t mtu, const Bytes& quote,
                                 uint8_t code = 4) {
  const Bytes icmp = with_sum(Bytes{3, code, 0, 0} + be16(0) + be16(mtu) + quote, 2);
  return ipv4(router, "192.0.2.11", 1, static_cast<uint32_t>(20 + icmp.size()), 0) + icmp;
}

// ICMPv6 2; its sum is the kernel's business.
inline Bytes packet_too_big(uint32_t mtu, const Bytes& quote) {
  return Bytes{2, 0, 0, 0} + be32(mtu) + quote;
}

}  // namespace fairlead::path_mtu
