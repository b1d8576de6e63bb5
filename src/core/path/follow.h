// SPDX-License-Identifier: MIT
// Third stage: the connection of a packet decides where it goes; without one, pick.h does, and the
// choice is remembered. CONTRACT section 2.
#pragma once

#include "core/connections.h"
#include "core/path/pick.h"

namespace fairlead::core {

struct Followed {
  Reason reason;  // fresh, known, repinned, hashed, no_backend
  State state;
  u16 backend;
};

namespace follow_detail {

template <class Bucket, Tables T>
FAIRLEAD_INLINE Followed follow_entry(const T& tables, const Row& service, const Packet& packet,
                                      const KeyOf<Bucket>& key) {
  const Settings& settings = tables.settings();
  const Event event = event_of(packet.protocol, packet.tcp_flags);
  const u32 tag = tag_of(packet.hash);
  const Tick now = tables.now();
  Meta* entry = find_connection<Bucket>(tables, key, packet.hash);
  State before = State::none;
  if (entry && is_live(*entry, now, settings)) before = state_of(*entry);
  if (event == Event::opening && before == State::closing) before = State::none;
  const State state = next_state(before, event);

  if (before != State::none) {
    u32 backend = backend_of(*entry);
    Reason reason = Reason::known;
    if (!(tables.backend(backend).flags & backend_flag::keeps_known)) [[unlikely]] {
      backend = pick(tables, service, packet);
      if (backend == 0) return {Reason::no_backend, State::none, 0};
      reason = Reason::repinned;
    }
    const Meta meta = meta_of(now, tag_of(*entry), state, backend);
    if (meta.word != entry->word) *entry = meta;
    return {reason, state, static_cast<u16>(backend)};
  }

  const u32 backend = pick(tables, service, packet);
  if (backend == 0) return {Reason::no_backend, State::none, 0};
  if (state == State::none) return {Reason::hashed, State::none, static_cast<u16>(backend)};
  const Meta meta = meta_of(now, tag, state, backend);
  if (entry) {
    *entry = meta;
  } else {
    const KeyOf<Bucket> copy = key;  // so that `key` itself can stay in registers
    if (!remember_apart(&tables, &copy, packet.hash, meta.word)) {
      return {Reason::hashed, State::none, static_cast<u16>(backend)};
    }
  }
  return {Reason::fresh, state, static_cast<u16>(backend)};
}

}  // namespace follow_detail

template <Tables T>
FAIRLEAD_INLINE Followed follow(const T& tables, const Row& service, const Packet& packet) {
  using namespace follow_detail;
  const bool wide = service.id.flags & row_flag::wide;
  if (packet.family == Family::v4 && !wide) {
    const u64 key = narrow_key(packet.source.word[0], packet.source_port, service.service);
    return follow_entry<NarrowBucket>(tables, service, packet, key);
  }
  const u64 rest = wide ? packet.hash >> 16 : service.service;
  return follow_entry<WideBucket>(tables, service, packet,
                                  wide_key(packet.source, packet.source_port, rest));
}

}  // namespace fairlead::core
