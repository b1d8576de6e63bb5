// SPDX-License-Identifier: MIT
// The first half of publish(): ids, room for slots and places of rows, each of which may be too
// few. Everything is decided here, in memory of its own.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "core/limits.h"
#include "core/services.h"
#include "tables/publisher_state.h"

namespace fairlead::tables {
namespace {

using core::RowKind;

// GUE to an IPv6 backend: the outer UDP checksum covers the whole packet.
bool needs_slow_path(const Pool& pool) {
  return std::ranges::any_of(pool.members, [](const Member& member) {
    return member.line.method == core::Method::gue &&
           (member.line.flags & core::backend_flag::outer_v6);
  });
}

uint16_t flags_of(const Vip& vip, const Service& service, bool slow) {
  const bool single = vip.prefix_length == core::host_length(vip.family);
  const std::pair<bool, uint16_t> flags[] = {
      {!single || service.port == 0 || service.protocol == 0, core::row_flag::wide},
      {service.client_ip, core::row_flag::client_ip},
      {slow, core::row_flag::slow},
      {!service.routes.empty() || !service.split.empty(), core::row_flag::branched},
      {service.scheduler == Scheduler::round_robin, core::row_flag::round_robin},
      {service.scheduler == Scheduler::least_connections, core::row_flag::least_connections}};
  uint16_t all = 0;
  for (const auto& [set, flag] : flags) all = static_cast<uint16_t>(all | (set ? flag : 0));
  return all;
}

// Longest first, each + 1, 0 behind the last; false if there are too many.
bool list_lengths(std::span<const Vip> vips, core::PrefixLengths& out) {
  for (const core::Family family : {core::Family::v4, core::Family::v6}) {
    auto& list = family == core::Family::v4 ? out.v4 : out.v6;
    std::vector<uint8_t> lengths;
    for (const Vip& vip : vips) {
      if (vip.family == family && vip.prefix_length != core::host_length(family)) {
        lengths.push_back(static_cast<uint8_t>(vip.prefix_length + 1));
      }
    }
    std::ranges::sort(lengths, std::ranges::greater{});
    lengths.erase(std::ranges::unique(lengths).begin(), lengths.end());
    if (lengths.size() > core::limits::prefix_lengths) return false;
    std::ranges::copy(lengths, list);
  }
  return true;
}

template <class Ids, class Key>
Result<AssignedIds> propose(Ids& ids, const std::vector<Key>& keys, std::string_view what,
                            uint64_t now_ms) {
  AssignedIds assigned = ids.propose(keys, now_ms);
  if (assigned.repeated) {
    return failure(fmt::format("{} {} is there twice", what, *assigned.repeated));
  }
  if (assigned.missing != 0) {
    return failure(
        fmt::format("capacity exceeded: {} {}s wanted, {} do not fit; the engine has {} ids, {} of "
                    "which are in "
                    "use or were removed so lately that connections may still name them",
                    keys.size(), what, assigned.missing, ids.count(), ids.held()));
  }
  return assigned;
}

}  // namespace

Result<void> Publisher::State::give_ids(const Snapshot& next, uint64_t now_ms, Plan& plan) {
  Holding holding = hold(lines, next.pools);
  std::vector<std::string> pool_keys;
  plan.pools.push_back(0);
  for (const Pool& pool : next.pools) {
    pool_keys.push_back(pool.id);
    plan.pools.push_back(plan.pools.back() + static_cast<uint32_t>(pool.members.size()));
  }
  std::vector<ServiceKey> vip_keys, service_keys;
  for (const Vip& vip : next.vips) vip_keys.push_back(key_of(vip));
  for (const Service& service : next.services) {
    service_keys.push_back(key_of(next.vips[service.vip], service));
  }

  auto for_backends = propose(backend_ids, holding.keys, "backend", now_ms);
  if (!for_backends) return std::unexpected(for_backends.error());
  auto tables = propose(table_ids, pool_keys, "pool", now_ms);
  if (!tables) return std::unexpected(tables.error());
  auto vips = propose(vip_ids, vip_keys, "VIP", now_ms);
  if (!vips) return std::unexpected(vips.error());
  auto services = propose(service_ids, service_keys, "service", now_ms);
  if (!services) return std::unexpected(services.error());

  for (const uint32_t id : for_backends->ids) plan.backends.push_back(static_cast<core::Slot>(id));
  for (Follower& follower : holding.followers) {
    plan.followers.push_back({plan.backends[follower.key], std::move(follower.members)});
  }
  plan.backends.resize(plan.pools.back());
  plan.lines = std::move(holding.lines);
  plan.tables = std::move(tables->ids);
  plan.vips = std::move(vips->ids);
  plan.services = std::move(services->ids);
  plan.fresh_backends = std::move(for_backends->fresh);
  plan.fresh_services = std::move(services->fresh);
  return {};
}

Result<void> Publisher::State::make_room(const Snapshot& next, Plan& plan) {
  plan.parts.resize(next.pools.size());
  for (size_t p = 0; p < next.pools.size(); p++) {
    const Pool& pool = next.pools[p];
    Parts& parts_of_pool = plan.parts[p];
    parts_of_pool.ids.assign(plan.backends.begin() + plan.pools[p],
                             plan.backends.begin() + plan.pools[p + 1]);
    const auto old = parts.find(pool.id);
    const bool same_ids = old != parts.end() && old->second.ids == parts_of_pool.ids;
    const std::array owners{pool.table, pool.turns, pool.candidates};
    for (size_t kind = 0; kind < owners.size(); kind++) {
      Part& part = parts_of_pool.tables[kind];
      if (same_ids && old->second.tables[kind].owners == owners[kind]) {
        part = old->second.tables[kind];
      } else if (auto taken = take_room(pool, owners[kind], part); !taken) {
        return taken;
      }
    }
  }
  return {};
}

Result<void> Publisher::State::take_room(const Pool& pool, const Pool::Owners& owners, Part& part) {
  part = {.ref = {}, .owners = owners, .is_new = true};
  if (owners == nullptr || owners->empty()) return {};
  const uint32_t size = static_cast<uint32_t>(owners->size());
  const uint32_t last = std::ranges::max(*owners);
  check(last < pool.members.size(), "pool {}: a slot belongs to member {} of {}", pool.id, last,
        pool.members.size());
  const auto begin = arena.take(size + core::limits::slot_mirror);
  if (!begin) {
    return failure(
        fmt::format("capacity exceeded: no room for the {} slots of pool {}; {} of {} are in use, "
                    "and a table needs room twice while it is exchanged: choose a smaller "
                    "table_size",
                    size, pool.id, arena.used(), arena.capacity()));
  }
  part.ref = {*begin, size};
  return {};
}

// The branches of a service, in the order in which they are asked, and where they begin.
uint32_t Publisher::State::add_branches(const Service& service, Plan& plan) {
  const auto first = static_cast<uint32_t>(plan.branches.size());
  const auto pool = [&](uint32_t number) { return plan.tables[number] * core::table_kinds; };
  for (const Route& route : service.routes) {
    plan.branches.push_back({.source = route.source,
                             .kind = core::BranchKind::route,
                             .prefix_length = route.prefix_length,
                             .family = route.family,
                             .pool = pool(route.pool)});
  }
  uint8_t position = 0;
  for (const Share& share : service.split) {
    plan.branches.push_back({.kind = core::BranchKind::share,
                             .position = position++,
                             .weight = share.weight,
                             .pool = pool(share.pool)});
  }
  plan.branches.push_back({.kind = core::BranchKind::otherwise, .pool = pool(service.pool)});
  return first;
}

Result<void> Publisher::State::place_rows(const Snapshot& next, Plan& plan) const {
  RowTable& rows = plan.rows.emplace(memory.capacity.rows);
  bool fits = true;
  for (size_t v = 0; v < next.vips.size(); v++) {
    const Vip& vip = next.vips[v];
    core::Row row{.address = vip.address,
                  .id = core::row_id(RowKind::vip, vip.family, vip.prefix_length),
                  .vip = static_cast<uint16_t>(plan.vips[v])};
    row.id.flags = vip.answers_ping ? 0 : core::row_flag::ping_drop;
    fits = fits && rows.insert(row);
  }
  std::vector<bool> slow;  // by pool
  for (const Pool& pool : next.pools) slow.push_back(needs_slow_path(pool));
  for (size_t s = 0; s < next.services.size(); s++) {
    const Service& service = next.services[s];
    const Vip& vip = next.vips[service.vip];
    const bool one_slow =
        std::ranges::any_of(service.pools(), [&](uint32_t pool) { return slow[pool]; });
    core::Row row{.address = vip.address,
                  .id = core::row_id(RowKind::service, vip.family, vip.prefix_length,
                                     service.protocol, core::to_be16(service.port)),
                  .service = static_cast<uint16_t>(plan.services[s]),
                  .vip = static_cast<uint16_t>(plan.vips[service.vip]),
                  .table = plan.tables[service.pool] * core::table_kinds};
    row.id.flags = flags_of(vip, service, one_slow);
    if (row.id.flags & core::row_flag::branched) row.table = add_branches(service, plan);
    fits = fits && rows.insert(row);
  }
  for (const core::Family family : {core::Family::v4, core::Family::v6}) {
    for (const core::Address& own : family == core::Family::v4 ? next.own_v4 : next.own_v6) {
      const core::RowId id = core::row_id(RowKind::own, family, core::host_length(family));
      fits = fits && rows.insert({.address = own, .id = id});
    }
  }
  if (!fits) {
    return failure(fmt::format(
        "capacity exceeded: {} VIPs, {} services and {} own addresses do not fit in {} rows",
        next.vips.size(), next.services.size(), next.own_v4.size() + next.own_v6.size(),
        memory.capacity.rows));
  }
  if (plan.branches.size() > memory.capacity.branches) {
    return failure(fmt::format("capacity exceeded: {} routes and shares do not fit in {} branches",
                               plan.branches.size(), memory.capacity.branches));
  }
  if (!list_lengths(next.vips, plan.prefixes)) {
    return failure(
        fmt::format("capacity exceeded: VIPs of one family have more than {} different "
                    "prefix lengths",
                    core::limits::prefix_lengths));
  }
  return {};
}

Result<Plan> Publisher::State::prepare(const Snapshot& next, uint64_t now_ms) {
  Plan plan;
  Result<void> fine = give_ids(next, now_ms, plan);
  if (fine) fine = make_room(next, plan);
  if (fine) fine = place_rows(next, plan);
  if (fine) return plan;
  abandon(plan);
  return std::unexpected(fine.error());
}

void Publisher::State::abandon(const Plan& plan) {
  backend_ids.abort();
  table_ids.abort();
  vip_ids.abort();
  service_ids.abort();
  for (const Parts& pool : plan.parts) {
    for (const Part& part : pool.tables) {
      if (part.is_new && part.ref.size != 0) arena.give_back(part.ref.offset);
    }
  }
}

}  // namespace fairlead::tables
