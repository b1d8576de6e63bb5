// SPDX-License-Identifier: MIT
// Which backend a flow gets that has none. CONTRACT section 3.
//
// By hash: the owner of its Maglev slot, or the first usable one behind it. Probing over unusable
// owners moves no flow of a usable backend; it bridges the moment until the controller has
// published a table without them. How far it looks: when all of 5, 10, 20 backends but one go at
// once, 0.9, 2, 5 % of the slots have that one farther than 255 slots behind them (fill "lines"),
// none has it farther than 1023. When nobody is usable every packet of the pool costs the whole
// search, 1 us, for as long as that moment.
//
// What few services have: several pools (branch.h), schedulers other than maglev (schedule.h).
#pragma once

#include "core/hash.h"
#include "core/path/branch.h"
#include "core/path/concepts.h"
#include "core/path/packet.h"
#include "core/path/schedule.h"

namespace fairlead::core {

// Slots behind `slot`, the mirror included, which every table has behind its end.
template <Tables T>
FAIRLEAD_INLINE u32 probe(const T& tables, u32 slot) {
  for (u32 i = 1; i < limits::slot_mirror; i++) {
    const u32 owner = tables.slot(slot + i);
    if (tables.backend(owner).flags & backend_flag::takes_new) return owner;
  }
  return 0;
}

template <Tables T>
[[gnu::noinline]] u32 probe_apart(const T* tables, u32 slot) {
  return probe(*tables, slot);
}

// The owner of a slot, counted from the first of the arena, or who takes over.
template <Tables T>
FAIRLEAD_INLINE u32 owner_at(const T& tables, u32 slot) {
  const u32 owner = tables.slot(slot);
  if (tables.backend(owner).flags & backend_flag::takes_new) return owner;
  return probe_apart(&tables, slot);
}

namespace pick_detail {

// `hash`: of the flow.
template <Tables T>
FAIRLEAD_INLINE u32 pick(const T& tables, const Row& service, const Address& source, u64 hash,
                         bool opens) {
  const u16 flags = service.id.flags;
  if (flags & row_flag::client_ip) hash = client_hash(tables.settings(), source);
  u32 pool = service.table;
  if (flags & row_flag::branched) {
    pool = branch_of(tables, service.table, service.id.family, source, hash);
  }
  if (opens && (flags & row_flag::least_connections)) return pick_least(tables, pool);
  if (opens && (flags & row_flag::round_robin)) {
    const TableRef turns = tables.table(pool + by_turn);
    return turns.size == 0 ? 0 : owner_at(tables, turns.offset + next_turn(tables, pool, turns));
  }
  const TableRef table = tables.table(pool + by_hash);
  return table.size == 0 ? 0 : owner_at(tables, table.offset + slot_of(hash, table.size));
}

}  // namespace pick_detail

template <Tables T>
[[gnu::noinline]] u32 pick_apart(const T* tables, const Row* service, const Address* source,
                                 u64 hash, bool opens) {
  return pick_detail::pick(*tables, *service, *source, hash, opens);
}

// The id of the backend, or 0: no usable backend. `opens`: the packet begins a flow that is going
// to be remembered, so that the scheduler has the say; any other goes by hash, which is where every
// node would send it.
template <Tables T, class PacketOrFlow>
FAIRLEAD_INLINE u32 pick(const T& tables, const Row& service, const PacketOrFlow& packet,
                         bool opens) {
  return pick_apart(&tables, &service, &packet.source, packet.hash, opens);
}

}  // namespace fairlead::core
