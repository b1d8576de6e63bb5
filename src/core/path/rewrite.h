// SPDX-License-Identifier: MIT
// Fourth stage: the packet gets what takes it to its backend. CONTRACT section 4; RFC 2784 (GRE),
// RFC 2003 and 4213 (IP in IP), the GUE draft (variant 0), RFC 2983 and RFC 6040 (the outer TOS is
// the inner one), RFC 1071 (checksum), RFC 6438 (flow label), RFC 8085 section 3.4 (UDP checksum).
//
// The backend's line holds nearly all of it, ready: what is filled in here are length, TOS, flow
// label and the fold of the checksum. VLAN tags move to the front; padding stays behind the packet.
// GRE, the default, is inline; the other methods stand apart. The checksum of GUE over IPv6 covers
// the whole packet: such backends are for the slow path, which computes it.
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
static_assert(sizeof(Macs) == 12);

struct FAIRLEAD_WIRE_HALF EtherType {
  be16 value;
};
static_assert(sizeof(EtherType) == 2);

struct FAIRLEAD_WIRE UdpGue {
  wire::Udp udp;
  u8 flags;  // variant 0, C 0, no fields
  u8 protocol;
  be16 zero;
};
static_assert(sizeof(UdpGue) == 12);

struct Bare {};  // IP in IP

// What is put in front of the packet, from the outer IP header on.
template <class Ip, class Tunnel>
struct FAIRLEAD_WIRE Head {
  Ip ip;
  Tunnel tunnel;
};
template <class Ip>
struct FAIRLEAD_WIRE Head<Ip, Bare> {
  Ip ip;
};
static_assert(sizeof(Head<wire::Ipv4, wire::Gre>) == 24 && sizeof(Head<wire::Ipv6, Bare>) == 40 &&
              sizeof(Head<wire::Ipv6, UdpGue>) == 52);

constexpr u16 gue_port = 6080;
constexpr u32 type_bytes = sizeof(EtherType);

constexpr u16 folded(u32 sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<u16>(sum);
}

constexpr be16 type_of(Family family) {
  return family == Family::v6 ? wire::type_ipv6 : wire::type_ipv4;
}

constexpr u8 protocol_in_ip(Family inner) {
  return inner == Family::v6 ? wire::protocol_ipv6 : wire::protocol_ipv4;
}

// The line's protocol is that of GRE or UDP, or 0 where the packet decides. `payload`: bytes behind
// the outer IP header.
FAIRLEAD_INLINE void write_ip(wire::Ipv4& ip, const Backend& backend, const Packet& packet,
                              u32 payload, u8 protocol) {
  __builtin_memcpy(&ip, backend.outer, sizeof ip);
  ip.tos = packet.tos;
  ip.total_length = to_be16(static_cast<u16>(payload + sizeof(wire::Ipv4)));
  // The sum of the constant words is ready; TOS and protocol are second bytes of theirs.
  u32 sum = backend.partial_sum + ip.total_length + (static_cast<u32>(packet.tos) << 8);
  if (protocol != 0) {
    ip.protocol = protocol;
    sum += static_cast<u32>(protocol) << 8;
  }
  ip.checksum = static_cast<be16>(~folded(sum));
}

FAIRLEAD_INLINE void write_ip(wire::Ipv6& ip, const Backend& backend, const Packet& packet,
                              u32 payload, u8 protocol) {
  __builtin_memcpy(&ip, backend.outer, sizeof ip);
  const u32 label = static_cast<u32>(packet.hash) & 0xfffff;
  ip.version_class_label = to_be32(6u << 28 | static_cast<u32>(packet.tos) << 20 | label);
  ip.payload_length = to_be16(static_cast<u16>(payload));
  if (protocol != 0) ip.next_header = protocol;
}

template <class Ip>
FAIRLEAD_INLINE void write(Head<Ip, wire::Gre>& head, const Backend& backend,
                           const Packet& packet) {
  write_ip(head.ip, backend, packet, packet.ip_length + static_cast<u32>(sizeof(wire::Gre)), 0);
  head.tunnel = {0, type_of(packet.family)};
}

template <class Ip>
FAIRLEAD_INLINE void write(Head<Ip, Bare>& head, const Backend& backend, const Packet& packet) {
  write_ip(head.ip, backend, packet, packet.ip_length, protocol_in_ip(packet.family));
}

template <class Ip>
FAIRLEAD_INLINE void write(Head<Ip, UdpGue>& head, const Backend& backend, const Packet& packet) {
  const u32 payload = packet.ip_length + static_cast<u32>(sizeof(UdpGue));
  write_ip(head.ip, backend, packet, payload, 0);
  const u16 source = static_cast<u16>(0xc000 | (packet.hash & 0x3fff));
  head.tunnel.udp = {to_be16(source), to_be16(gue_port), to_be16(static_cast<u16>(payload)), 0};
  head.tunnel.flags = 0;
  head.tunnel.protocol = protocol_in_ip(packet.family);
  head.tunnel.zero = 0;
}

// Puts the addresses in place; tags, if any, come to the front first.
template <Frame F>
FAIRLEAD_INLINE bool write_link(const F& frame, const Backend& backend, const Packet& packet,
                                u32 overhead, be16 type) {
  if (packet.l3 > sizeof(wire::Ethernet) && overhead != 0) {
    // Both tags' room is copied even for one tag: the bytes behind it are written later.
    const Tags* from = frame.template at<Tags>(overhead + u32{sizeof(Macs)});
    Tags* to = frame.template at<Tags>(u32{sizeof(Macs)});
    if (!from || !to) return false;
    *to = *from;
  }
  Macs* macs = frame.template at<Macs>(0);
  EtherType* ethertype = frame.template at<EtherType>(packet.l3 - type_bytes);
  if (!macs || !ethertype) return false;
  __builtin_memcpy(macs, backend.macs, sizeof *macs);
  ethertype->value = type;
  return true;
}

template <class Ip, class Tunnel, Frame F>
FAIRLEAD_INLINE bool encapsulate(F& frame, const Backend& backend, const Packet& packet) {
  constexpr u32 overhead = sizeof(Head<Ip, Tunnel>);
  if (!frame.grow(overhead)) return false;
  const be16 type = sizeof(Ip) == sizeof(wire::Ipv6) ? wire::type_ipv6 : wire::type_ipv4;
  if (!write_link(frame, backend, packet, overhead, type)) return false;
  auto* head = frame.template at<Head<Ip, Tunnel>>(packet.l3);
  if (!head) return false;
  write(*head, backend, packet);
  return true;
}

// Everything but GRE.
template <Frame F>
FAIRLEAD_INLINE bool rewrite_other(F& frame, const Backend& backend, const Packet& packet) {
  const bool v6 = backend.flags & backend_flag::outer_v6;
  switch (backend.method) {
    case Method::ipip:
      return v6 ? encapsulate<wire::Ipv6, Bare>(frame, backend, packet)
                : encapsulate<wire::Ipv4, Bare>(frame, backend, packet);
    case Method::gue:
      return v6 ? encapsulate<wire::Ipv6, UdpGue>(frame, backend, packet)
                : encapsulate<wire::Ipv4, UdpGue>(frame, backend, packet);
    case Method::l2: return write_link(frame, backend, packet, 0, type_of(packet.family));
    case Method::gre:
    case Method::nat: return false;  // not by this function
  }
  return false;
}

template <class F>
[[gnu::noinline]] bool rewrite_other_apart(const F* handle, const Backend* backend,
                                           const Packet* packet) {
  F frame(handle);
  return rewrite_other(frame, *backend, *packet);
}

}  // namespace rewrite_detail

// False if the frame has no room in front.
template <Frame F>
FAIRLEAD_INLINE bool rewrite(F& frame, const Backend& backend, const Packet& packet) {
  using namespace rewrite_detail;
  if (backend.method != Method::gre) {
    return rewrite_other_apart(frame.handle(), &backend, &packet);
  }
  if (backend.flags & backend_flag::outer_v6) {
    return encapsulate<wire::Ipv6, wire::Gre>(frame, backend, packet);
  }
  return encapsulate<wire::Ipv4, wire::Gre>(frame, backend, packet);
}

}  // namespace fairlead::core
