// SPDX-License-Identifier: MIT
// First stage: what kind of packet is this? Reads the Ethernet header with up to two VLAN tags, the
// IP header with its options or extension headers, and the ports; judges whether they can be right.
// CONTRACT section 1, steps 1 and 3; RFC 791, RFC 8200, RFC 9293.
//
// Only reads, and asks no table: whether a malformed packet is dropped or is somebody else's
// depends on its destination, which classify.h looks up.
#pragma once

#include "core/path/concepts.h"
#include "core/path/packet.h"

namespace fairlead::core {

namespace admit_detail {

// What an IPv6 extension chain leads to, in one word, so that a function which the verifier checks
// apart can return it: the protocol, the offset of its header, whether the chain holds a fragment
// header, and if it is broken.
struct Chain {
  u64 word;
  static constexpr u64 broken = 1ull << 63;
  static constexpr u64 first = 1ull << 62;
  static constexpr u64 later = 1ull << 61;
  constexpr u8 protocol() const { return static_cast<u8>(word); }
  constexpr u32 l4() const { return static_cast<u32>(word >> 8) & 0x7fff; }
};

constexpr bool is_extension(u8 protocol) {
  return protocol == wire::extension_hop_by_hop || protocol == wire::extension_routing ||
         protocol == wire::extension_fragment || protocol == wire::extension_authentication ||
         protocol == wire::extension_destination;
}

// Walks the chain that begins with header `next` at offset `at` and must stay below `end`. `id`
// receives the identification of a fragment header.
template <Frame F>
FAIRLEAD_INLINE u64 walk_extensions(const F& frame, u32 next, u32 at, u32 end, be32& id) {
  u64 fragment = 0;
  for (u32 i = 0; i < limits::ipv6_extension_headers; i++) {
    at &= 0x7fff;
    const wire::Ipv6Extension* extension = frame.template at<wire::Ipv6Extension>(at);
    if (!extension || at + 8 > end) return Chain::broken;
    u32 size = (extension->length + 1u) * 8;
    if (next == wire::extension_authentication) size = (extension->length + 2u) * 4;
    if (next == wire::extension_fragment) {
      size = 8;
      const u16 field = to_host(extension->fragment);
      id = extension->id;
      if (field & 0xfff8)
        fragment = Chain::later;
      else if (field & 1)
        fragment = Chain::first;
    }
    next = extension->next_header;
    at += size;
    if (at > end) return Chain::broken;
    if (fragment == Chain::later || !is_extension(static_cast<u8>(next))) {
      return fragment | static_cast<u64>(at) << 8 | next;
    }
  }
  return Chain::broken;
}

template <class Handle>
[[gnu::noinline]] u64 walk_extensions_apart(const Handle* handle, u32 next, u32 at, u32 end,
                                            be32* id) {
  return walk_extensions(*handle, next, at, end, *id);
}

template <Frame F>
FAIRLEAD_INLINE Shape read_ipv4(const F& frame, Packet& packet, bool& later) {
  const wire::Ipv4* ip = frame.template at<wire::Ipv4>(packet.l3);
  if (!ip) return Shape::cut;
  packet.family = Family::v4;
  packet.source = {{ip->source, 0, 0, 0}};
  packet.destination = {{ip->destination, 0, 0, 0}};
  packet.protocol = ip->protocol;
  packet.tos = ip->tos;
  packet.fragment_id = ip->id;
  packet.ip_length = to_host(ip->total_length);
  const u32 header = (ip->version_length & 15u) * 4;
  packet.l4 = packet.l3 + header;
  const u16 fragment = to_host(ip->fragment);
  packet.dont_fragment = fragment & wire::fragment_dont;
  later = fragment & wire::fragment_offset_mask;
  packet.first_fragment = !later && (fragment & wire::fragment_more);
  if (ip->version_length >> 4 != 4 || header < 20 || packet.ip_length < header ||
      packet.l3 + packet.ip_length > frame.length()) {
    return Shape::malformed;
  }
  return Shape::flow;
}

template <Frame F>
FAIRLEAD_INLINE Shape read_ipv6(const F& frame, Packet& packet, bool& later) {
  const wire::Ipv6* ip = frame.template at<wire::Ipv6>(packet.l3);
  if (!ip) return Shape::cut;
  packet.family = Family::v6;
  packet.source = {{ip->source[0], ip->source[1], ip->source[2], ip->source[3]}};
  packet.destination = {
      {ip->destination[0], ip->destination[1], ip->destination[2], ip->destination[3]}};
  const u32 word = to_host(ip->version_class_label);
  packet.tos = static_cast<u8>(word >> 20);
  packet.dont_fragment = true;
  packet.ip_length = 40u + to_host(ip->payload_length);
  packet.protocol = ip->next_header;
  packet.l4 = packet.l3 + 40;
  if (word >> 28 != 6 || packet.l3 + packet.ip_length > frame.length()) return Shape::malformed;
  if (is_extension(packet.protocol)) {
    be32 id = 0;
    const Chain chain{walk_extensions_apart(frame.handle(), packet.protocol, packet.l4,
                                            packet.l3 + packet.ip_length, &id)};
    packet.fragment_id = id;
    if (chain.word & Chain::broken) return Shape::malformed;
    later = chain.word & Chain::later;
    packet.first_fragment = chain.word & Chain::first;
    packet.protocol = chain.protocol();
    packet.l4 = chain.l4();
  }
  return Shape::flow;
}

// `room` is what the IP packet has from l4 on.
template <Frame F>
FAIRLEAD_INLINE Shape read_transport(const F& frame, Packet& packet, u32 room) {
  const Shape cut = packet.first_fragment ? Shape::tiny_fragment : Shape::malformed;
  if (packet.protocol == wire::protocol_tcp) {
    const wire::Tcp* tcp = frame.template at<wire::Tcp>(packet.l4);
    if (!tcp || room < sizeof(wire::Tcp)) return cut;
    packet.source_port = tcp->source_port;
    packet.destination_port = tcp->destination_port;
    packet.tcp_flags = tcp->flags;
    const u32 header = (tcp->offset >> 4) * 4u;
    if (header < sizeof(wire::Tcp)) return Shape::malformed;
    if (header > room) return cut;
    const bool opens = tcp->flags & wire::tcp_syn;
    if (opens && (tcp->flags & (wire::tcp_fin | wire::tcp_rst))) return Shape::malformed;
    return Shape::flow;
  }
  if (packet.protocol == wire::protocol_udp) {
    const wire::Udp* udp = frame.template at<wire::Udp>(packet.l4);
    if (!udp || room < sizeof(wire::Udp)) return cut;
    packet.source_port = udp->source_port;
    packet.destination_port = udp->destination_port;
    return Shape::flow;
  }
  const u8 icmp = packet.family == Family::v6 ? wire::protocol_icmpv6 : wire::protocol_icmp;
  if (packet.protocol != icmp) return Shape::flow;
  return room < sizeof(wire::Icmp) ? cut : Shape::icmp;
}

}  // namespace admit_detail

// Fills the packet as far as it can be read and says what it is.
template <Frame F>
FAIRLEAD_INLINE Shape admit(const F& frame, Packet& packet) {
  using namespace admit_detail;
  packet = {};
  const wire::Ethernet* ethernet = frame.template at<wire::Ethernet>(0);
  if (!ethernet) return Shape::not_ip;
  be16 type = ethernet->type;
  u32 at = sizeof(wire::Ethernet);
  for (u32 i = 0; i < limits::vlan_tags; i++) {
    if (type != wire::type_vlan && type != wire::type_service_vlan) break;
    const wire::Vlan* vlan = frame.template at<wire::Vlan>(at);
    if (!vlan) return Shape::not_ip;
    type = vlan->type;
    at += sizeof(wire::Vlan);
  }
  packet.l3 = at;
  bool later = false;
  Shape shape = Shape::not_ip;
  if (type == wire::type_ipv4)
    shape = read_ipv4(frame, packet, later);
  else if (type == wire::type_ipv6)
    shape = read_ipv6(frame, packet, later);
  if (shape != Shape::flow) return shape;
  if (later) return Shape::later_fragment;
  return read_transport(frame, packet, packet.l3 + packet.ip_length - packet.l4);
}

}  // namespace fairlead::core
