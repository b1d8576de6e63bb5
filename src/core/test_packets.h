// SPDX-License-Identifier: MIT
// Packets for the core's tests, written byte by byte from the RFCs and not from core/wire.h, so
// that a wrong offset there is not repeated here. Also the tunnel around a packet, as the contract
// says it.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "core/types.h"

namespace fairlead::core::test {

using Bytes = std::vector<u8>;

inline void put16(Bytes& out, u32 value) {
  out.push_back(static_cast<u8>(value >> 8));
  out.push_back(static_cast<u8>(value));
}
inline void put32(Bytes& out, u32 value) { put16(out, value >> 16), put16(out, value & 0xffff); }
inline void put(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }
inline void patch16(Bytes& out, size_t at, u32 value) {
  out.at(at) = static_cast<u8>(value >> 8);
  out.at(at + 1) = static_cast<u8>(value);
}

// "192.0.2.1" or "2001:db8::1" as its 4 or 16 bytes.
inline Bytes address_bytes(const std::string& text) {
  const bool v6 = text.find(':') != std::string::npos;
  Bytes out(v6 ? 16 : 4);
  if (inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), out.data()) != 1) std::abort();
  return out;
}
inline Family family_of(const std::string& text) {
  return text.find(':') != std::string::npos ? Family::v6 : Family::v4;
}
inline Address address(const std::string& text) {
  const Bytes bytes = address_bytes(text);
  Address out{};
  __builtin_memcpy(&out, bytes.data(), bytes.size());
  return out;
}

// RFC 1071, sixteen bits at a time.
inline u16 internet_checksum(const Bytes& data, size_t from, size_t to) {
  u32 sum = 0;
  for (size_t i = from; i < to; i += 2) {
    sum += static_cast<u32>(data[i]) << 8 | (i + 1 < to ? data[i + 1] : 0u);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<u16>(~sum);
}

struct TcpSpec {
  u16 source = 40000, destination = 80;
  u8 flags = 0x02;
  Bytes options = {};  // a multiple of 4 bytes
  Bytes payload = {};
  int offset = -1;  // in words of 4 bytes; -1: right
};
inline Bytes tcp(const TcpSpec& spec = {}) {
  Bytes out;
  put16(out, spec.source), put16(out, spec.destination);
  put32(out, 1000), put32(out, 0);
  const int words = spec.offset >= 0 ? spec.offset : static_cast<int>(5 + spec.options.size() / 4);
  out.push_back(static_cast<u8>(words << 4)), out.push_back(spec.flags);
  put16(out, 65535), put16(out, 0), put16(out, 0);
  put(out, spec.options), put(out, spec.payload);
  return out;
}

inline Bytes udp(u16 source = 40000, u16 destination = 53, const Bytes& payload = {1, 2, 3}) {
  Bytes out;
  put16(out, source), put16(out, destination);
  put16(out, static_cast<u32>(8 + payload.size())), put16(out, 0);
  put(out, payload);
  return out;
}

inline Bytes icmp(u8 type, u8 code = 0) {
  return {type, code, 0, 0, 0, 1, 0, 2, 'p', 'i', 'n', 'g'};
}

struct IpSpec {
  std::string source = "203.0.113.7", destination = "198.51.100.10";
  u8 protocol = 6;
  u8 tos = 0;
  u16 id = 0x4242;
  u16 fragment = 0x4000;                              // IPv4: the flags and offset word
  Bytes options = {};                                 // IPv4, a multiple of 4 bytes
  std::vector<std::pair<u8, Bytes>> extensions = {};  // IPv6: number, header without its first byte
};

// An IPv4 or IPv6 packet, by its addresses.
inline Bytes ip(const IpSpec& spec, const Bytes& payload) {
  Bytes out;
  if (family_of(spec.destination) == Family::v4) {
    const u32 header = static_cast<u32>(20 + spec.options.size());
    out.push_back(static_cast<u8>(0x40 | header / 4)), out.push_back(spec.tos);
    put16(out, static_cast<u32>(header + payload.size()));
    put16(out, spec.id), put16(out, spec.fragment);
    out.push_back(63), out.push_back(spec.protocol), put16(out, 0);
    put(out, address_bytes(spec.source)), put(out, address_bytes(spec.destination));
    put(out, spec.options);
    patch16(out, 10, internet_checksum(out, 0, header));
    put(out, payload);
    return out;
  }
  Bytes chain;
  u8 next = spec.protocol;
  for (auto it = spec.extensions.rbegin(); it != spec.extensions.rend(); ++it) {
    Bytes header{next};
    put(header, it->second), put(header, chain);
    chain = header;
    next = it->first;
  }
  put32(out, 6u << 28 | static_cast<u32>(spec.tos) << 20 | 0x12345);
  put16(out, static_cast<u32>(chain.size() + payload.size()));
  out.push_back(next), out.push_back(62);
  put(out, address_bytes(spec.source)), put(out, address_bytes(spec.destination));
  put(out, chain), put(out, payload);
  return out;
}

// Extension headers without their first byte, as IpSpec wants them.
inline std::pair<u8, Bytes> hop_by_hop(u8 units = 0) {
  Bytes body{units, 1, static_cast<u8>(units * 8 + 4)};
  body.resize(units * 8u + 7);
  return {u8{0}, body};
}
inline std::pair<u8, Bytes> destination_options(u8 units = 0) {
  return {u8{60}, hop_by_hop(units).second};
}
inline std::pair<u8, Bytes> routing() {
  Bytes body{2, 0, 0, 0, 0, 0, 0};
  body.resize(23);
  return {u8{43}, body};
}
inline std::pair<u8, Bytes> authentication(u8 icv = 12) {  // a multiple of 4
  Bytes body{static_cast<u8>((12 + icv) / 4 - 2), 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 1};
  body.resize(11u + icv, 0xaa);
  return {u8{51}, body};
}
inline std::pair<u8, Bytes> fragment_header(u16 offset, bool more,
                                            u32 id = 0x01020304) {  // offset in bytes
  Bytes body{0};
  put16(body, (offset & 0xfff8u) | (more ? 1 : 0));
  put32(body, id);
  return {u8{44}, body};
}

// In front of `packet`: MACs, tags (0x8100 in the upper half means a customer tag), ethertype.
inline Bytes ethernet(const Bytes& packet, const std::vector<u32>& tags = {}, int type = -1) {
  Bytes out{0x02, 0, 0, 0, 0, 0x10, 0x02, 0, 0, 0, 0, 0x20};
  for (u32 tag : tags) put32(out, tag);
  if (type < 0) type = packet.at(0) >> 4 == 6 ? 0x86dd : 0x0800;
  put16(out, static_cast<u32>(type));
  put(out, packet);
  return out;
}
inline Bytes frame(const IpSpec& spec, const Bytes& payload) { return ethernet(ip(spec, payload)); }

}  // namespace fairlead::core::test
