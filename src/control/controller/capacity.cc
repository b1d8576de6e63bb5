// SPDX-License-Identifier: MIT
#include "control/controller/capacity.h"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "control/config/includes.h"
#include "core/limits.h"
#include "core/records.h"
#include "tables/turns.h"

namespace fairlead::controller {
namespace {

struct Need {
  uint64_t rows = 2, branches = 1, tables = 1, slots = 0, backends = 1, services = 1;  // id 0
};

// Those that a service with another scheduler than maglev may choose from.
std::set<uint32_t> scheduled_pools(const config::Services& services,
                                   const config::PoolIndex& index) {
  std::set<uint32_t> pools;
  for (const config::Vip& vip : services.vips) {
    for (const config::Service& service : vip.services) {
      if (service.scheduler == config::Scheduler::maglev) continue;
      pools.insert(index.find(service.backend_pool));
      for (const config::Route& route : service.routes)
        pools.insert(index.find(route.backend_pool));
      for (const config::Branch& share : service.split)
        pools.insert(index.find(share.backend_pool));
    }
  }
  return pools;
}

void add(Need& need, const config::Services& services) {
  const config::PoolIndex index(services.pools);
  const std::set<uint32_t> schedules = scheduled_pools(services, index);
  for (uint32_t i = 0; i < services.pools.size(); i++) {
    std::vector<uint32_t> weights;
    for (const uint32_t pool : index.with_included(i)) {
      for (const config::Backend& backend : services.pools[pool].backends) {
        weights.push_back(backend.weight);
      }
    }
    need.tables++;
    need.backends += weights.size();
    need.slots += services.pools[i].table_size + 2 * core::limits::slot_mirror;
    if (schedules.contains(i)) {
      need.slots += tables::most_turns(weights) + weights.size() + 4 * core::limits::slot_mirror;
    }
  }
  uint64_t things = 0;
  for (const config::Vip& vip : services.vips) things += std::max<uint64_t>(1, vip.services.size());
  need.services += things;
  for (const config::Vip& vip : services.vips) {
    need.rows += 1 + vip.services.size();
    for (const config::Service& service : vip.services) {
      const size_t branches = service.routes.size() + service.split.size();
      if (branches != 0) need.branches += branches + 1;
    }
  }
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
  capacity.branches = at_least(capacity.branches, need.branches, 1u << 16);
  capacity.tables = at_least(capacity.tables, core::table_kinds * need.tables, 1u << 18);
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
