// SPDX-License-Identifier: MIT
// Fourth stage: puts the tunnel in front of the packet. CONTRACT section 4; RFC 2784 (GRE), RFC
// 2983 and RFC 6040 (the outer TOS is the inner one), RFC 1071 (checksum), RFC 6438 (flow label).
//
// The backend's line holds nearly all of it, ready: what is filled in here are length, TOS, flow
// label and the fold of the checksum. VLAN tags move to the front; padding stays behind the packet.
#pragma once

#include "core/path/concepts.h"
#include "core/path/packet.h"

namespace fairlead::core {

namespace rewrite_detail {

struct FAIRLEAD_WIRE Tags {
  be32 tag[limits::vlan_tags];
};

struct FAIRLEAD_WIRE Macs {
  be32 half[3];
};

struct FAIRLEAD_WIRE_HALF EtherType {
  be16 value;
};
static_assert(sizeof(Macs) == 12 && sizeof(EtherType) == 2);

struct FAIRLEAD_WIRE GreOverIpv4 {
  wire::Ipv4 ip;
  wire::Gre gre;
};

struct FAIRLEAD_WIRE GreOverIpv6 {
  wire::Ipv6 ip;
  wire::Gre gre;
};
static_assert(sizeof(GreOverIpv4) == 24 && sizeof(GreOverIpv6) == 44);

constexpr u16 folded(u32 sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<u16>(sum);
}

constexpr be16 gre_protocol(Family inner) {
  return inner == Family::v6 ? wire::type_ipv6 : wire::type_ipv4;
}

FAIRLEAD_INLINE void write(GreOverIpv4& head, const Backend& backend, const Packet& packet) {
  __builtin_memcpy(&head.ip, backend.outer, sizeof head.ip);
  head.ip.tos = packet.tos;
  head.ip.total_length = to_be16(static_cast<u16>(packet.ip_length + 24));
  // The sum of the constant words is ready; the TOS is the second byte of its word.
  const u32 tos_word = static_cast<u32>(packet.tos) << 8;
  head.ip.checksum =
      static_cast<be16>(~folded(backend.partial_sum + head.ip.total_length + tos_word));
  head.gre = {0, gre_protocol(packet.family)};
}

FAIRLEAD_INLINE void write(GreOverIpv6& head, const Backend& backend, const Packet& packet) {
  __builtin_memcpy(&head.ip, backend.outer, sizeof head.ip);
  const u32 label = static_cast<u32>(packet.hash) & 0xfffff;
  head.ip.version_class_label = to_be32(6u << 28 | static_cast<u32>(packet.tos) << 20 | label);
  head.ip.payload_length = to_be16(static_cast<u16>(packet.ip_length + 4));
  head.gre = {0, gre_protocol(packet.family)};
}

template <class Head, Frame F>
FAIRLEAD_INLINE bool encapsulate(F& frame, const Backend& backend, const Packet& packet,
                                 be16 type) {
  constexpr u32 overhead = sizeof(Head);
  constexpr u32 type_bytes = sizeof(EtherType);
  if (!frame.grow(overhead)) return false;
  if (packet.l3 > sizeof(wire::Ethernet)) {
    // Both tags' room is copied even for one tag: the bytes behind it are written below.
    const Tags* from = frame.template at<Tags>(overhead + 12);
    Tags* to = frame.template at<Tags>(12);
    if (!from || !to) return false;
    *to = *from;
  }
  Macs* macs = frame.template at<Macs>(0);
  EtherType* ethertype = frame.template at<EtherType>(packet.l3 - type_bytes);
  Head* head = frame.template at<Head>(packet.l3);
  if (!macs || !ethertype || !head) return false;
  __builtin_memcpy(macs, backend.macs, sizeof *macs);
  ethertype->value = type;
  write(*head, backend, packet);
  return true;
}

}  // namespace rewrite_detail

// False if the frame has no room in front.
template <Frame F>
FAIRLEAD_INLINE bool rewrite(F& frame, const Backend& backend, const Packet& packet) {
  using namespace rewrite_detail;
  if (backend.flags & backend_flag::outer_v6) {
    return encapsulate<GreOverIpv6>(frame, backend, packet, wire::type_ipv6);
  }
  return encapsulate<GreOverIpv4>(frame, backend, packet, wire::type_ipv4);
}

}  // namespace fairlead::core
