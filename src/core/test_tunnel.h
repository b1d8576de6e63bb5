// SPDX-License-Identifier: MIT
// One tunnel to a backend, twice: as the line that the core reads, and as the frame that must come
// of it, encoded from RFC 2784, RFC 791 and RFC 8200 with nothing taken from core/path/rewrite.h.
#pragma once

#include <string>

#include "core/records.h"
#include "core/test_packets.h"

namespace fairlead::core::test {

struct Tunnel {
  std::string node = "192.0.2.11", backend = "10.0.0.1";
  Bytes next_hop = {0x02, 0, 0, 0, 0, 0x99}, interface = {0x02, 0, 0, 0, 0, 0x10};

  bool is_v6() const { return family_of(backend) == Family::v6; }
  u32 overhead() const { return is_v6() ? 44 : 24; }

  // The outer IP header; `length` counts what it counts in each family, 0 where it is not known.
  Bytes outer(u32 length, u8 tos, u32 label) const {
    Bytes out;
    if (is_v6()) {
      put32(out, 6u << 28 | static_cast<u32>(tos) << 20 | label);
      put16(out, length);
      out.push_back(47), out.push_back(64);
    } else {
      out.push_back(0x45), out.push_back(tos);
      put16(out, length), put16(out, 0), put16(out, 0x4000);
      out.push_back(64), out.push_back(47), put16(out, 0);
    }
    put(out, address_bytes(node)), put(out, address_bytes(backend));
    return out;
  }

  // What the configuration makes of it, see records.h.
  Backend line(u8 flags) const {
    Backend line{};
    for (u32 i = 0; i < 6; i++) line.macs[i] = next_hop[i], line.macs[6 + i] = interface[i];
    const Bytes header = outer(0, 0, 0);
    u32 sum = 0;
    for (size_t i = 0; i < header.size(); i++) {
      line.outer[i] = header[i];
      sum += static_cast<u32>(header[i]) << i % 2 * 8;
    }
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    if (!is_v6()) line.partial_sum = static_cast<u16>(sum);
    line.inner_mtu = static_cast<u16>(1500 - overhead());
    line.mss = static_cast<u16>(line.inner_mtu - 40);
    line.method = Method::gre;
    line.flags = static_cast<u8>(flags | (is_v6() ? backend_flag::outer_v6 : 0));
    return line;
  }

  // The frame around a packet; `padding` is what stood behind it.
  Bytes around(const Bytes& packet, const std::vector<u32>& tags, u32 label,
               const Bytes& padding = {}) const {
    const bool inner_v6 = packet[0] >> 4 == 6;
    const u8 tos = inner_v6 ? static_cast<u8>((packet[0] & 15) << 4 | packet[1] >> 4) : packet[1];
    const u32 size = static_cast<u32>(packet.size());
    Bytes out;
    put(out, next_hop), put(out, interface);
    for (const u32 tag : tags) put32(out, tag);
    put16(out, is_v6() ? 0x86dd : 0x0800);
    Bytes header = outer(is_v6() ? size + 4 : size + 24, tos, label);
    if (!is_v6()) patch16(header, 10, internet_checksum(header, 0, 20));
    put(out, header);
    put16(out, 0), put16(out, inner_v6 ? 0x86dd : 0x0800);
    put(out, packet), put(out, padding);
    return out;
  }
};

}  // namespace fairlead::core::test
