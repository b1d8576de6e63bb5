// SPDX-License-Identifier: MIT
// The path of a packet, whole: admit → classify → follow (→ pick) → rewrite → verdict; fragments
// and ICMP leave it at adopt. Both engines run this, packet by packet; admit() and decide() do not
// change the frame, so that an engine that works on batches can run them in passes.
//
// What needs memory of its own, more than one frame or a clock finer than a tick is slow: holding
// fragments, cutting packets, answering pings, telling senders about MTUs. The path finds that out
// before it has changed or counted anything, and leaves the whole packet to engine/host.
#pragma once

#include "core/path/admit.h"
#include "core/path/adopt.h"
#include "core/path/clamp.h"
#include "core/path/classify.h"
#include "core/path/follow.h"
#include "core/path/rewrite.h"
#include "core/path/verdict.h"

namespace fairlead::core {

struct Decided {
  Outcome outcome;
  bool slow;  // nothing has been done: the slow path decides
};

namespace path_detail {

template <Tables T>
[[gnu::noinline]] u32 remember_fragment_apart(const T* tables, const Packet* packet, u32 backend) {
  remember_fragment(*tables, fragment_hash(tables->settings(), *packet), backend);
  return 0;
}

// Follows the flow of a packet that has one, and lets its later fragments follow it.
template <Tables T>
FAIRLEAD_INLINE Outcome follow_flow(const T& tables, const Row& service, Packet& packet) {
  packet.hash = flow_hash(tables.settings(), packet.family, packet.source, packet.destination,
                          packet.source_port, packet.destination_port, packet.protocol);
  const Followed followed = follow(tables, service, packet);
  if (packet.first_fragment && followed.backend != 0) {
    remember_fragment_apart(&tables, &packet, followed.backend);
  }
  return {followed.reason, followed.state, service.service, service.vip, followed.backend};
}

// What a packet to this backend needs is more than the path can do.
constexpr bool is_slow(const Backend& backend) {
  return backend.method == Method::gue && (backend.flags & backend_flag::outer_v6);
}

constexpr bool is_syn(const Packet& packet) {
  return packet.protocol == wire::protocol_tcp && (packet.tcp_flags & wire::tcp_syn);
}

constexpr u16 mss_for(const Backend& backend, Family family) {
  return family == Family::v6 ? static_cast<u16>(backend.mss - 20) : backend.mss;
}

}  // namespace path_detail

// Looks a packet up that admit() has read. Writes to the connection table, not to the frame.
template <Frame F, Tables T>
FAIRLEAD_INLINE Decided decide(const F& frame, const T& tables, Packet& packet) {
  const Classified classified = classify(tables, packet);
  if (!classified.row) return {{classified.reason, State::none, 0, 0, 0}, false};
  const bool large = packet.ip_length > tables.settings().smallest_inner_mtu;
  if (!classified.is_service) {
    const Adopted adopted = adopt(frame, tables, packet, *classified.row);
    const bool beyond = large || path_detail::is_slow(tables.backend(adopted.outcome.backend));
    return {adopted.outcome, adopted.slow || (adopted.outcome.backend != 0 && beyond)};
  }
  if (large || (classified.row->id.flags & row_flag::slow)) return {{}, true};
  return {path_detail::follow_flow(tables, *classified.row, packet), false};
}

// Gives a packet to its backend. False if the frame has no room in front.
template <Frame F, Tables T>
FAIRLEAD_INLINE bool forward(F& frame, const T& tables, const Packet& packet,
                             const Outcome& outcome) {
  const Backend& backend = tables.backend(outcome.backend);
  if (path_detail::is_syn(packet) &&
      clamp_mss(frame, packet, path_detail::mss_for(backend, packet.family))) {
    tables.counters().mss_clamped++;
  }
  return rewrite(frame, backend, packet);
}

// One frame from beginning to end. The verdict is verdict_of(outcome.reason): a forwarded frame has
// been rewritten in place and is to be sent; any other is untouched.
template <Frame F, Tables T>
FAIRLEAD_INLINE Decided process(F& frame, const T& tables) {
  Packet packet;
  packet.shape = admit(frame, packet);
  Decided decided = decide(frame, tables, packet);
  if (decided.slow) return decided;
  if (verdict_of(decided.outcome.reason) == Verdict::forward &&
      !forward(frame, tables, packet, decided.outcome)) {
    decided.outcome.reason = Reason::overload;
  }
  count(tables, packet, decided.outcome);
  return decided;
}

}  // namespace fairlead::core
