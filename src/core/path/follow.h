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

// The backend of a flow for which there was no room: the rest of its packets will go by hash, so
// what a scheduler chose for the first is of no use.
template <Tables T>
FAIRLEAD_INLINE u16 where_all_find_it(const T& tables, const Row& service, const Packet& packet,
                                      u32 chosen) {
  if (!(service.id.flags & row_flag::scheduled)) return static_cast<u16>(chosen);
  return static_cast<u16>(pick(tables, service, packet, false));
}

template <class Bucket, Tables T>
FAIRLEAD_INLINE Followed follow_entry(const T& tables, const Row& service, const Packet& packet,
                                      const KeyOf<Bucket>& key) {
  const Tick now = tables.now();
  Meta* entry = find_connection<Bucket>(tables, key, packet.hash);
  const Meta before = entry ? *entry : Meta{0};
  const State live = is_live(before, now, tables.settings()) ? state_of(before) : State::none;
  const Event event = event_of(packet.protocol, packet.tcp_flags);
  const Transition next = transition(live, event);

  u32 backend = backend_of(before);
  Reason reason = Reason::known;
  if (next.is_new || !(tables.backend(backend).flags & backend_flag::keeps_known)) {
    backend = pick(tables, service, packet, !next.is_new || opens(event));
    if (backend == 0) return {Reason::no_backend, State::none, 0};
    reason = next.is_new ? Reason::fresh : Reason::repinned;
    if (next.state == State::none) return {Reason::hashed, State::none, static_cast<u16>(backend)};
  }
  const Meta after = meta_of(now, tag_of(packet.hash), next.state, backend);
  if (entry) {
    if (after.word != before.word) *entry = after;
  } else {
    const KeyOf<Bucket> copy = key;  // so that `key` itself can stay in registers
    if (!remember_apart(&tables, &copy, packet.hash, after.word)) {
      return {Reason::hashed, State::none, where_all_find_it(tables, service, packet, backend)};
    }
  }
  return {reason, next.state, static_cast<u16>(backend)};
}

template <class PacketOrFlow>
FAIRLEAD_INLINE bool is_narrow(const Row& service, const PacketOrFlow& packet) {
  return packet.family == Family::v4 && !(service.id.flags & row_flag::wide);
}

template <class PacketOrFlow>
FAIRLEAD_INLINE u64 narrow_key_of(const Row& service, const PacketOrFlow& packet) {
  return narrow_key(packet.source.word[0], packet.source_port, service.service);
}

template <class PacketOrFlow>
FAIRLEAD_INLINE WideKey wide_key_of(const Row& service, const PacketOrFlow& packet) {
  const bool wide = service.id.flags & row_flag::wide;
  return wide_key(packet.source, packet.source_port, wide ? packet.hash >> 16 : service.service);
}

}  // namespace follow_detail

template <Tables T>
FAIRLEAD_INLINE Followed follow(const T& tables, const Row& service, const Packet& packet) {
  using namespace follow_detail;
  if (is_narrow(service, packet)) {
    return follow_entry<NarrowBucket>(tables, service, packet, narrow_key_of(service, packet));
  }
  return follow_entry<WideBucket>(tables, service, packet, wide_key_of(service, packet));
}

namespace follow_detail {

// The backend of a flow's live connection, as this worker knows it; 0 without one.
template <Tables T>
FAIRLEAD_INLINE u32 known_backend(const T& tables, const Row& service, const Address& source,
                                  u32 source_port, u64 hash) {
  struct Key {  // what the keys of either kind are made of
    Address source;
    be16 source_port;
    Family family;
    u64 hash;
  };
  const Key flow{source, static_cast<be16>(source_port), service.id.family, hash};
  const Meta* entry =
      is_narrow(service, flow)
          ? find_connection<NarrowBucket>(tables, narrow_key_of(service, flow), hash)
          : find_connection<WideBucket>(tables, wide_key_of(service, flow), hash);
  return entry && is_live(*entry, tables.now(), tables.settings()) ? backend_of(*entry) : 0;
}

}  // namespace follow_detail

template <Tables T>
[[gnu::noinline]] u32 known_backend_apart(const T* tables, const Row* service,
                                          const Address* source, u32 source_port, u64 hash) {
  return follow_detail::known_backend(*tables, *service, *source, source_port, hash);
}

// Who remembers a flow, and as whose; backend 0: nobody does.
struct Holder {
  u32 worker;
  u32 backend;
};

// For packets which the network card may have given to another worker than the flow's others: what
// it looks at for whole packets (ports, this direction's addresses) a first fragment and an ICMP
// error do not show it.
template <Tables T, class PacketOrFlow>
FAIRLEAD_INLINE Holder holder_of(const T& tables, const Row& service, const PacketOrFlow& flow) {
  for (u32 i = 0; i < limits::workers; i++) {
    if (i >= tables.settings().workers) break;
    // From this one on: most flows are its own.
    const u32 worker = (tables.worker() + i) % tables.settings().workers;
    const auto& there = tables.of_worker(worker);
    const u32 backend =
        known_backend_apart(&there, &service, &flow.source, flow.source_port, flow.hash);
    if (backend != 0) return {worker, backend};
  }
  return {tables.worker(), 0};
}

// Where a flow's packets go, without any trace that it was asked: the backend of its connection, or
// the one that it would get; 0 if there is none.
template <Tables T>
FAIRLEAD_INLINE u32 backend_of_flow(const T& tables, const Row& service, const Flow& flow) {
  const u32 known = holder_of(tables, service, flow).backend;
  if (known != 0 && (tables.backend(known).flags & backend_flag::keeps_known)) return known;
  return pick(tables, service, flow, false);
}

}  // namespace fairlead::core
