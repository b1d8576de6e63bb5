// SPDX-License-Identifier: MIT
// Packets that belong to a flow without saying so themselves: later fragments, which have no ports,
// and ICMP errors, which quote a packet that the VIP's backend sent. Both go where that flow goes.
// CONTRACT sections 5 and 6; RFC 792, RFC 4443, RFC 8200 section 4.5.
//
// All that cannot be answered by a look-up is for the slow path (engine/slow): holding a fragment
// until its first one comes, answering pings.
#pragma once

#include "core/fragments.h"
#include "core/path/admit.h"
#include "core/path/classify.h"
#include "core/path/follow.h"

namespace fairlead::core {

// What adopt() makes of a packet: an outcome, or work for the slow path.
struct Adopted {
  Outcome outcome;
  bool slow;
};

namespace adopt_detail {

constexpr u8 v4_echo = 8;
constexpr u8 v6_echo = 128;

constexpr bool is_error(Family family, u8 type) {
  return family == Family::v6 ? type >= 1 && type <= 4 : type == 3 || type == 11 || type == 12;
}
constexpr bool is_echo(Family family, u8 type) {
  return type == (family == Family::v6 ? v6_echo : v4_echo);
}
constexpr bool is_neighbour_discovery(Family family, u8 type) {
  return family == Family::v6 && type >= 133 && type <= 137;
}

// The flow that an ICMP error is about, as the client's packets show it: the quoted packet with
// source and destination exchanged. False if the quote holds no such flow.
template <Frame F>
FAIRLEAD_INLINE bool read_quote(const F& frame, const Packet& packet, Packet& flow) {
  const u32 at = packet.l4 + sizeof(wire::Icmp);
  u32 ports = 0;
  flow = {};
  flow.family = packet.family;
  flow.l3 = packet.l3;
  if (packet.family == Family::v6) {
    const wire::Ipv6* ip = frame.template at<wire::Ipv6>(at);
    if (!ip || to_host(ip->version_class_label) >> 28 != 6) return false;
    flow.destination = {{ip->source[0], ip->source[1], ip->source[2], ip->source[3]}};
    flow.source = {
        {ip->destination[0], ip->destination[1], ip->destination[2], ip->destination[3]}};
    flow.protocol = ip->next_header;
    ports = at + sizeof(wire::Ipv6);
    if (admit_detail::is_extension(flow.protocol)) {
      using admit_detail::walk_extensions_apart;
      be32 id = 0;
      const admit_detail::Chain chain{walk_extensions_apart(frame.handle(), flow.protocol, ports,
                                                            packet.l3 + packet.ip_length, &id)};
      using admit_detail::Chain;
      if (chain.word & (Chain::broken | Chain::later)) return false;
      flow.protocol = chain.protocol();
      ports = chain.l4();
    }
  } else {
    const wire::Ipv4* ip = frame.template at<wire::Ipv4>(at);
    const u32 header = ip ? (ip->version_length & 15u) * 4 : 0;
    if (!ip || ip->version_length >> 4 != 4 || header < sizeof(wire::Ipv4)) return false;
    if (to_host(ip->fragment) & wire::fragment_offset_mask) return false;
    flow.destination = {{ip->source, 0, 0, 0}};
    flow.source = {{ip->destination, 0, 0, 0}};
    flow.protocol = ip->protocol;
    ports = at + header;
  }
  if (ports > packet.l3 + packet.ip_length) return false;
  if (!(flow.destination == packet.destination)) return false;  // it was not the VIP who sent that
  if (!classify_detail::has_ports(flow.protocol)) return true;
  const wire::Udp* udp = frame.template at<wire::Udp>(ports);  // TCP has its ports there, too
  if (!udp || ports + sizeof(wire::Udp) > packet.l3 + packet.ip_length) return false;
  flow.destination_port = udp->source_port;
  flow.source_port = udp->destination_port;
  return true;
}

// An adopted flow in one word, for functions that stand apart: reason, backend, service, VIP.
constexpr u64 word_of(const Outcome& outcome) {
  return static_cast<u64>(outcome.reason) | static_cast<u64>(outcome.backend) << 16 |
         static_cast<u64>(outcome.service) << 32 | static_cast<u64>(outcome.vip) << 48;
}
constexpr Outcome outcome_of(u64 word) {
  return {static_cast<Reason>(word & 0xff), State::none, static_cast<u16>(word >> 32),
          static_cast<u16>(word >> 48), static_cast<u16>(word >> 16)};
}

template <Frame F, Tables T>
FAIRLEAD_INLINE u64 adopt_error(const F& frame, const T& tables, const Packet& packet) {
  Packet flow;
  if (!read_quote(frame, packet, flow)) return static_cast<u64>(Reason::icmp_no_flow);
  flow.shape = Shape::flow;
  const Classified found = classify(tables, flow);
  if (!found.row || !found.is_service) return static_cast<u64>(Reason::icmp_no_flow);
  const Row& service = *found.row;
  flow.hash = flow_hash(tables.settings(), flow.family, flow.source, flow.destination,
                        flow.source_port, flow.destination_port, flow.protocol);
  const u32 backend = backend_of_flow(tables, service, flow);
  const Reason reason = backend == 0 ? Reason::no_backend : Reason::icmp_error;
  return word_of({reason, State::none, service.service, service.vip, static_cast<u16>(backend)});
}

template <class Handle, Tables T>
[[gnu::noinline]] u64 adopt_error_apart(const Handle* handle, const T* tables,
                                        const Packet* packet) {
  return adopt_error(*handle, *tables, *packet);
}

template <Frame F, Tables T>
FAIRLEAD_INLINE Adopted adopt_icmp(const F& frame, const T& tables, const Packet& packet,
                                   const Row& vip) {
  Outcome outcome{Reason::icmp_unsupported, State::none, 0, vip.vip, 0};
  const wire::Icmp* icmp = frame.template at<wire::Icmp>(packet.l4);
  if (!icmp) return {outcome, false};
  if (is_neighbour_discovery(packet.family, icmp->type)) {
    outcome.reason = Reason::neighbour_discovery;
    return {outcome, false};
  }
  if (is_echo(packet.family, icmp->type) && !packet.first_fragment) {
    outcome.reason = Reason::echo_limited;
    return {outcome, !(vip.id.flags & row_flag::ping_drop)};
  }
  if (!is_error(packet.family, icmp->type)) return {outcome, false};
  outcome = outcome_of(adopt_error_apart(frame.handle(), &tables, &packet));
  if (outcome.vip == 0) outcome.vip = vip.vip;
  return {outcome, false};
}

template <Tables T>
FAIRLEAD_INLINE Adopted adopt_fragment(const T& tables, const Packet& packet, const Row& vip) {
  const u32 backend = find_fragment(tables, fragment_hash(tables.settings(), packet));
  if (backend == 0 || !(tables.backend(backend).flags & backend_flag::keeps_known)) {
    return {{Reason::fragment_no_mapping, State::none, 0, vip.vip, 0}, true};
  }
  return {{Reason::fragment, State::none, 0, vip.vip, static_cast<u16>(backend)}, false};
}

}  // namespace adopt_detail

// A packet whose shape is icmp or later_fragment, to this VIP.
template <Frame F, Tables T>
FAIRLEAD_INLINE Adopted adopt(const F& frame, const T& tables, Packet& packet, const Row& vip) {
  using namespace adopt_detail;
  packet.hash = flow_hash(tables.settings(), packet.family, packet.source, packet.destination, 0, 0,
                          packet.protocol);
  if (packet.shape == Shape::icmp) return adopt_icmp(frame, tables, packet, vip);
  return adopt_fragment(tables, packet, vip);
}

}  // namespace fairlead::core
