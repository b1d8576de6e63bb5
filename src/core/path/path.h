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
#include "core/path/translate.h"
#include "core/path/verdict.h"

namespace fairlead::core {

struct Decided {
  Outcome outcome;
  bool slow;  // nothing has been done that shows: the slow path decides
};

namespace path_detail {

template <Tables T>
[[gnu::noinline]] u32 remember_fragment_apart(const T* tables, const Packet* packet, u32 backend) {
  remember_fragment(*tables, fragment_hash(tables->settings(), *packet), backend);
  return 0;
}

// What a connection of method nat that is not remembered is taken for, by its replies.
FAIRLEAD_INLINE constexpr State state_for_replies(State state, const Packet& packet) {
  if (state != State::none) return state;
  if (packet.protocol == wire::protocol_udp) return State::udp;
  if (packet.protocol != wire::protocol_tcp) return State::other;
  const bool ends = packet.tcp_flags & (wire::tcp_fin | wire::tcp_rst);
  return ends ? State::closing : State::established;
}

// Follows the flow of a packet that has one, and lets its later fragments and its replies follow.
template <Frame F, Tables T>
FAIRLEAD_INLINE Outcome follow_flow(const F& frame, const T& tables, const Row& service,
                                    Packet& packet) {
  packet.hash = flow_hash(tables.settings(), packet.family, packet.source, packet.destination,
                          packet.source_port, packet.destination_port, packet.protocol);
  const Followed followed =
      packet.first_fragment
          ? follow(tables.of_worker(holder_of(tables, service, packet).worker), service, packet)
          : follow(tables, service, packet);
  if (packet.first_fragment && followed.backend != 0) {
    remember_fragment_apart(&tables, &packet, followed.backend);
  }
  Outcome outcome{followed.reason, followed.state, service.service, service.vip, followed.backend};
  if (followed.backend != 0 && tables.backend(followed.backend).method == Method::nat) {
    const bool v6 = tables.backend(followed.backend).flags & backend_flag::outer_v6;
    if (v6 != (packet.family == Family::v6)) {  // a pool without backends of the VIP's family
      return {Reason::no_backend, State::none, service.service, service.vip, 0};
    }
    const State state = state_for_replies(followed.state, packet);
    const u64 known = static_cast<u64>(followed.backend) | static_cast<u64>(state) << 16 |
                      static_cast<u64>(service.service) << 32 | static_cast<u64>(service.vip) << 48;
    const u32 wide = service.id.flags & row_flag::wide;
    if (!translate(frame, tables, packet, known, wide != 0)) {
      outcome.reason = Reason::overload;
    }
  }
  return outcome;
}

// A packet to no VIP: the host's, unless it answers a connection of method nat.
template <Frame F, Tables T>
FAIRLEAD_INLINE Outcome follow_back(const F& frame, const T& tables, Packet& packet) {
  const u32 line = follow_reply_apart(frame.handle(), &tables, &packet);
  if (line == no_translation) return {Reason::not_vip, State::none, 0, 0, 0};
  packet.translation = line;
  const Translation& entry = tables.translation(line);
  return {Reason::nat_reply, state_of(entry.meta), entry.facts.service, entry.facts.vip_id,
          static_cast<u16>(backend_of(entry.meta))};
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
  if (!classified.row) {
    if (classified.reason == Reason::not_vip && tables.settings().translates) {
      return {path_detail::follow_back(frame, tables, packet), false};
    }
    return {{classified.reason, State::none, 0, 0, 0}, false};
  }
  const bool large = packet.ip_length > tables.settings().smallest_inner_mtu;
  if (!classified.is_service) {
    const Adopted adopted = adopt(frame, tables, packet, *classified.row);
    const bool beyond = large || path_detail::is_slow(tables.backend(adopted.outcome.backend));
    return {adopted.outcome, adopted.slow || (adopted.outcome.backend != 0 && beyond)};
  }
  if (large || (classified.row->id.flags & row_flag::slow)) return {{}, true};
  const Outcome outcome = path_detail::follow_flow(frame, tables, *classified.row, packet);
  // A connection may be with a backend that its service had before. It is known, and the slow path
  // comes to the same.
  return {outcome, path_detail::is_slow(tables.backend(outcome.backend))};
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
  if (outcome.reason == Reason::nat_reply) {
    return rewrite_reply_apart(frame.handle(), &tables, &packet);
  }
  if (backend.method == Method::nat) return rewrite_nat_apart(frame.handle(), &backend, &packet);
  return rewrite(frame, backend, packet);
}

// One frame from beginning to end. The verdict is verdict_of(outcome.reason): a forwarded frame has
// been rewritten in place and is to be sent; any other is untouched.
// `packet` is room for what is known of the frame meanwhile.
template <Frame F, Tables T>
FAIRLEAD_INLINE Decided process(F& frame, const T& tables, Packet& packet) {
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
template <Frame F, Tables T>
FAIRLEAD_INLINE Decided process(F& frame, const T& tables) {
  Packet packet;
  return process(frame, tables, packet);
}

}  // namespace fairlead::core
