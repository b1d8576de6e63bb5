// SPDX-License-Identifier: MIT
#include "control/controller/capacity.h"

#include <algorithm>
#include <bit>

#include "control/config/includes.h"
#include "core/limits.h"
#include "core/records.h"

namespace fairlead::controller {
namespace {

struct Need {
  uint64_t rows = 2, tables = 1, slots = 0, backends = 1, services = 1;  // own addresses; id 0
};

void add(Need& need, const config::Services& services) {
  const config::PoolIndex index(services.pools);
  for (uint32_t i = 0; i < services.pools.size(); i++) {
    need.tables++;
    need.slots += services.pools[i].table_size + 2 * core::limits::slot_mirror;
    for (const uint32_t pool : index.with_included(i)) {
      need.backends += services.pools[pool].backends.size();
    }
  }
  uint64_t things = 0;
  for (const config::Vip& vip : services.vips) things += std::max<uint64_t>(1, vip.services.size());
  need.services += things;
  for (const config::Vip& vip : services.vips) need.rows += 1 + vip.services.size();
}

uint32_t at_least(uint32_t usual, uint64_t needed, uint64_t most) {
  return static_cast<uint32_t>(std::max<uint64_t>(usual, std::bit_ceil(std::min(needed, most))));
}

}  // namespace

tables::Capacity capacity_for(const config::Forwarder& forwarder, uint32_t workers,
                              std::span<const config::Services* const> configurations) {
  Need need;
  for (const config::Services* services : configurations) add(need, *services);
  tables::Capacity capacity;
  capacity.workers = std::bit_ceil(std::max(workers, 1u));
  // A table of rows is built with an eye on the length of searches: at most half full.
  capacity.rows = at_least(capacity.rows, 2 * need.rows, 1u << 20);
  capacity.tables = at_least(capacity.tables, need.tables, 1u << 16);
  capacity.slots = at_least(capacity.slots, 2 * need.slots, 1u << 31);
  capacity.backends = at_least(capacity.backends, need.backends, 1u << 16);
  capacity.services = at_least(capacity.services, need.services, 1u << 16);
  capacity.narrow_lines = std::bit_ceil(forwarder.connection_table_size / core::narrow_ways);
  capacity.wide_lines = std::bit_ceil(forwarder.connection_table_size / core::wide_ways);
  capacity.fragment_lines = std::bit_ceil(forwarder.fragment_table_size / core::narrow_ways);
  // Pools of method nat may come while the node runs; with snat a connection takes two lines.
  const uint64_t connections = uint64_t{capacity.workers} * forwarder.connection_table_size;
  capacity.translations = at_least(capacity.translations, 2 * connections, 1u << 21);
  return capacity;
}

}  // namespace fairlead::controller
