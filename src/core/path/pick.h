// SPDX-License-Identifier: MIT
// Which backend a flow gets that has none: the owner of its Maglev slot, or the first usable one
// behind it. CONTRACT section 3. Probing over unusable owners moves no flow of a usable backend; it
// bridges the moment until the controller has published a table without them.
//
// How far it looks: when all of 5, 10, 20 backends but one go at once, 0.9, 2, 5 % of the slots
// have that one farther than 255 slots behind them (fill "lines"), none has it farther than 1023.
// When nobody is usable every packet of the pool costs the whole search, 1 us, for as long as that
// moment.
#pragma once

#include "core/hash.h"
#include "core/path/concepts.h"
#include "core/path/packet.h"

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

// The id of the backend, or 0: no usable backend.
template <Tables T, class PacketOrFlow>
FAIRLEAD_INLINE u32 pick(const T& tables, const Row& service, const PacketOrFlow& packet) {
  const TableRef table = tables.table(service.table);
  if (table.size == 0) return 0;
  u64 hash = packet.hash;
  if (service.id.flags & row_flag::client_ip) hash = client_hash(tables.settings(), packet.source);
  const u32 slot = table.offset + slot_of(hash, table.size);
  const u32 owner = tables.slot(slot);
  if (tables.backend(owner).flags & backend_flag::takes_new) return owner;
  return probe_apart(&tables, slot);
}

}  // namespace fairlead::core
