// SPDX-License-Identifier: MIT
// Packets that belong to a flow without saying so themselves: later fragments, which have no ports,
// and ICMP errors, which quote a packet that the VIP's backend sent. Both go where that flow goes.
// CONTRACT sections 5 and 6; RFC 792, RFC 4443, RFC 8200 section 4.5.
//
// All that cannot be answered by a look-up is for the slow path (engine/host): holding a fragment
// until its first one comes, answering pings.
#pragma once

#include "core/fragments.h"
#include "core/path/admit.h"
#include "core/path/classify.h"
#include "core/path/follow.h"
#include "core/path/quote.h"
#include "core/path/translate.h"

namespace fairlead::core {

// What adopt() makes of a packet: an outcome, or work for the slow path.
struct Adopted {
  Outcome outcome;
  bool slow;
};

namespace adopt_detail {

constexpr u8 v4_echo = 8;
constexpr u8 v6_echo = 128;

constexpr bool is_echo(Family family, u8 type) {
  return type == (family == Family::v6 ? v6_echo : v4_echo);
}
constexpr bool is_neighbour_discovery(Family family, u8 type) {
  return family == Family::v6 && type >= 133 && type <= 137;
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
FAIRLEAD_INLINE u64 adopt_error(const F& frame, const T& tables, Packet& packet) {
  constexpr u64 no_flow = static_cast<u64>(Reason::icmp_no_flow);
  Flow flow;
  if (!read_quote(frame, packet, flow)) return no_flow;
  const u32 vip = find_vip(tables, flow.family, flow.destination);
  if (vip == no_row) return no_flow;
  const u32 row = find_service(tables, tables.row(vip), flow.protocol, flow.destination_port,
                               has_ports(flow.protocol));
  if (row == no_row) return no_flow;
  const Row& service = tables.row(row);
  flow.hash = flow_hash(tables.settings(), flow.family, flow.source, flow.destination,
                        flow.source_port, flow.destination_port, flow.protocol);
  const u32 backend = backend_of_flow(tables, service, flow);
  const Reason reason = backend == 0 ? Reason::no_backend : Reason::icmp_error;
  const Backend& line = tables.backend(backend);
  if (backend != 0 && line.method == Method::nat && (line.flags & backend_flag::snat)) {
    packet.node_port = translate_detail::node_port_of(tables, flow, backend);
    if (packet.node_port == 0) return no_flow;
  }
  return word_of({reason, State::none, service.service, service.vip, static_cast<u16>(backend)});
}

template <class Handle, Tables T>
[[gnu::noinline]] u64 adopt_error_apart(const Handle* handle, const T* tables, Packet* packet) {
  return adopt_error(*handle, *tables, *packet);
}

template <Frame F, Tables T>
FAIRLEAD_INLINE Adopted adopt_icmp(const F& frame, const T& tables, Packet& packet,
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
  if (!is_icmp_error(packet.family, icmp->type)) return {outcome, false};
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
