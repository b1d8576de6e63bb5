// SPDX-License-Identifier: MIT
// The schedulers other than maglev: whose turn it is, and who has the fewest connections for its
// weight. CONTRACT section 3. They choose for new flows only, which are then remembered, and
// count for the node: the one place where workers write the same lines. If each counted for itself,
// all would send their new flows to the same backend as soon as it has fewer than others.
#pragma once

#include "core/path/concepts.h"

namespace fairlead::core {

// Where in the pool's table it goes on.
template <Tables T>
FAIRLEAD_INLINE u32 next_turn(const T& tables, u32 pool, TableRef table) {
  return static_cast<u32>(add_shared(tables.turns_taken(pool)) % table.size);
}

// The backend with the least (connections + 1) / weight, as if it had the new one already; among
// equals the one whose turn it is. Of more than limits::least_looked_at backends as many, others
// each time, which comes close: the chance that none of 64 is among the least loaded fifth is one
// in a million.
template <Tables T>
FAIRLEAD_INLINE u32 pick_least(const T& tables, u32 pool) {
  const TableRef table = tables.table(pool + by_load);
  if (table.size == 0) return 0;
  const u32 begin = table.offset + next_turn(tables, pool, table);
  u32 best = 0;
  u64 best_load = 0;
  u64 best_weight = 0;
  for (u32 i = 0; i < limits::least_looked_at; i++) {
    if (i >= table.size) break;
    const u32 id = tables.slot(begin + i);
    const Backend& backend = tables.backend(id);
    if (!(backend.flags & backend_flag::takes_new)) continue;
    const u64 load = tables.live(id) + 1;
    if (load * best_weight < best_load * backend.weight || best == 0) {
      best = id;
      best_load = load;
      best_weight = backend.weight;
    }
  }
  return best;
}

}  // namespace fairlead::core
