// SPDX-License-Identifier: MIT
// publish() has two halves. The first decides everything that can fail (ids, rows, room for slots)
// in memory of its own; the second writes and cannot fail.
//
// Order of the writes, and why a packet in the middle of them is well:
//   1. lines of backends        whoever is named by a table or row is there before it is named
//   2. slots in unused parts, then the TableRef, one store of 8 bytes
//   3. rows and prefix lengths of the generation that is not in use, then its number
//   4. wait until no packet reads the old generation and the old slots
//   5. flags of backends that are gone; old slots, tables and ids become free
// Each pointer-like word is stored with release; a reader loads it with acquire or follows it by
// address dependency.
#include "tables/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include "base/check.h"
#include "core/limits.h"
#include "tables/record_keys.h"
#include "tables/row_table.h"
#include "tables/slot_arena.h"
#include "tables/stable_ids.h"

namespace fairlead::tables {
namespace {

using core::RowKind;

template <class T>
void store(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

// The line of a backend that packets may be reading, 8 bytes at a time. What changes while a
// backend lives, the MAC of its next hop and the flags, lies within one word each.
void write_line(core::Backend& line, const core::Backend& wanted) {
  using Words = std::array<uint64_t, sizeof(core::Backend) / 8>;
  const auto words = std::bit_cast<Words>(wanted);
  auto* at = static_cast<uint64_t*>(static_cast<void*>(&line));
  for (size_t i = 0; i < words.size(); i++) {
    if (at[i] != words[i]) store(at[i], words[i]);
  }
}

// Which outer header the line has is no matter of health; a packet that decided on the old flags
// still finds it.
void write_flags(core::Backend& line, uint8_t flags) {
  constexpr uint8_t fixed = core::backend_flag::outer_v6;
  store<core::u8>(line.flags, static_cast<uint8_t>((line.flags & fixed) | (flags & ~fixed)));
}

template <class Counters>
void clear(Counters* all, uint32_t workers, uint32_t per_worker, uint32_t id) {
  for (uint32_t worker = 0; worker < workers; worker++) {
    Counters& counters = all[size_t{worker} * per_worker + id];
    auto* words = static_cast<uint64_t*>(static_cast<void*>(&counters));
    for (size_t i = 0; i < sizeof(Counters) / 8; i++) store(words[i], uint64_t{0});
  }
}

// A pool's slots in the arena, and what they were made from.
struct Part {
  core::TableRef ref{};
  std::shared_ptr<const std::vector<uint16_t>> owners;
  std::vector<core::Slot> ids;  // by member

  bool is_made_from(const Pool& pool, const std::vector<core::Slot>& wanted) const {
    return owners == pool.table && ids == wanted;
  }
};

bool has_table(const Pool& pool) { return pool.table != nullptr && !pool.table->empty(); }

uint16_t flags_of(const Vip& vip, const Service& service) {
  const bool single = vip.prefix_length == core::host_length(vip.family);
  const bool wide = !single || service.port == 0 || service.protocol == 0;
  return static_cast<uint16_t>((wide ? core::row_flag::wide : 0) |
                               (service.client_ip ? core::row_flag::client_ip : 0));
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

}  // namespace

struct Publisher::State {
  // All that one publish() is going to write.
  struct Plan {
    std::vector<core::Slot> backends;  // ids of all members, pool after pool
    std::vector<uint32_t> pools;       // where each pool begins in it; one more at the end
    std::vector<uint32_t> vips, services, tables;  // ids, by position in the snapshot
    std::vector<uint32_t> fresh_backends, fresh_services;
    std::vector<Part> parts;   // by pool
    std::vector<bool> writes;  // by pool: whether its part is new
    std::optional<RowTable> rows;
    core::PrefixLengths prefixes{};
  };

  State(const Memory& m, Options o)
      : memory(m),
        options(std::move(o)),
        arena(m.capacity.slots),
        backend_ids(m.capacity.backends),
        service_ids(m.capacity.services),
        vip_ids(m.capacity.services),
        table_ids(m.capacity.tables),
        backend_names(m.capacity.backends),
        service_names(m.capacity.services, -1),
        vip_names(m.capacity.services, -1) {}

  Result<Plan> prepare(const Snapshot& next, uint64_t now_ms);
  Result<void> give_ids(const Snapshot& next, uint64_t now_ms, Plan& plan);
  Result<void> make_room(const Snapshot& next, Plan& plan);
  Result<void> place_rows(const Snapshot& next, Plan& plan) const;
  void abandon(const Plan& plan);

  void write_backends(const Snapshot& next, const Plan& plan);
  void write_tables(const Plan& plan);
  void write_rows(const Snapshot& next, const Plan& plan);
  void retire(const Plan& plan, uint64_t now_ms, uint64_t quarantine_ms);
  void name(const Snapshot& next, const Plan& plan);

  Memory memory;
  Options options;
  SlotArena arena;
  StableIds<BackendKey, KeyHash> backend_ids;
  StableIds<ServiceKey, KeyHash> service_ids;
  StableIds<ServiceKey, KeyHash> vip_ids;
  StableIds<std::string> table_ids;  // index of a pool's TableRef

  std::shared_ptr<const Snapshot> snapshot;
  std::unordered_map<std::string, Part> parts;  // by pool
  std::vector<BackendName> backend_names;       // by id
  std::vector<int32_t> service_names, vip_names;
  std::vector<core::Slot> backends;  // Plan::backends and Plan::pools of `snapshot`
  std::vector<uint32_t> pools;
};

namespace {

template <class Assigned>
Result<std::vector<uint32_t>> accept(Assigned&& assigned, std::string_view what, size_t wanted,
                                     size_t held, uint32_t capacity) {
  if (assigned.repeated)
    return failure(fmt::format("{} {} is there twice", what, *assigned.repeated));
  if (assigned.missing != 0) {
    return failure(
        fmt::format("capacity exceeded: {} {}s wanted, {} do not fit; the engine holds {}, of "
                    "which {} are in use or "
                    "were removed so lately that connections may still name them",
                    wanted, what, assigned.missing, capacity - 1, held));
  }
  return std::move(assigned.ids);
}

}  // namespace

Result<void> Publisher::State::give_ids(const Snapshot& next, uint64_t now_ms, Plan& plan) {
  std::vector<BackendKey> backend_keys;
  std::vector<std::string> pool_keys;
  for (const Pool& pool : next.pools) {
    plan.pools.push_back(static_cast<uint32_t>(backend_keys.size()));
    pool_keys.push_back(pool.id);
    for (const Member& member : pool.members) backend_keys.push_back({pool.id, member.identity});
  }
  plan.pools.push_back(static_cast<uint32_t>(backend_keys.size()));
  std::vector<ServiceKey> vip_keys, service_keys;
  for (const Vip& vip : next.vips) vip_keys.push_back(key_of(vip));
  for (const Service& service : next.services) {
    service_keys.push_back(key_of(next.vips[service.vip], service));
  }

  auto propose = [now_ms](auto& ids, const auto& keys, std::string_view what, uint32_t capacity,
                          std::vector<uint32_t>& out,
                          std::vector<uint32_t>* fresh = nullptr) -> Result<void> {
    auto assigned = ids.propose(keys, now_ms);
    if (fresh != nullptr) *fresh = assigned.fresh;
    auto result = accept(std::move(assigned), what, keys.size(), ids.held(), capacity);
    if (!result) return std::unexpected(result.error());
    out = std::move(*result);
    return {};
  };
  const Capacity& capacity = memory.capacity;
  std::vector<uint32_t> backend_numbers;
  Result<void> fine = propose(backend_ids, backend_keys, "backend", capacity.backends,
                              backend_numbers, &plan.fresh_backends);
  if (fine) fine = propose(table_ids, pool_keys, "pool", capacity.tables, plan.tables);
  if (fine) fine = propose(vip_ids, vip_keys, "VIP", capacity.services, plan.vips);
  if (fine) {
    fine = propose(service_ids, service_keys, "service", capacity.services, plan.services,
                   &plan.fresh_services);
  }
  for (const uint32_t id : backend_numbers) plan.backends.push_back(static_cast<core::Slot>(id));
  return fine;
}

Result<void> Publisher::State::make_room(const Snapshot& next, Plan& plan) {
  plan.parts.resize(next.pools.size());
  plan.writes.resize(next.pools.size());
  for (size_t p = 0; p < next.pools.size(); p++) {
    const Pool& pool = next.pools[p];
    std::vector<core::Slot> ids(plan.backends.begin() + plan.pools[p],
                                plan.backends.begin() + plan.pools[p + 1]);
    const auto old = parts.find(pool.id);
    if (old != parts.end() && old->second.is_made_from(pool, ids)) {
      plan.parts[p] = old->second;
      continue;
    }
    Part& part = plan.parts[p];
    part.owners = pool.table;
    part.ids = std::move(ids);
    plan.writes[p] = true;
    if (!has_table(pool)) continue;
    const uint32_t size = static_cast<uint32_t>(pool.table->size());
    const uint32_t last = std::ranges::max(*pool.table);
    check(last < pool.members.size(), "pool {}: a slot belongs to member {} of {}", pool.id, last,
          pool.members.size());
    const auto begin = arena.take(size + core::limits::slot_mirror);
    if (!begin) {
      return failure(
          fmt::format("capacity exceeded: no room for the {} slots of pool {}; {} of {} are in "
                      "use, and a table "
                      "needs room twice while it is exchanged: choose a smaller table_size",
                      size, pool.id, arena.used(), arena.capacity()));
    }
    part.ref = {*begin, size};
  }
  return {};
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
  for (size_t s = 0; s < next.services.size(); s++) {
    const Service& service = next.services[s];
    const Vip& vip = next.vips[service.vip];
    core::Row row{.address = vip.address,
                  .id = core::row_id(RowKind::service, vip.family, vip.prefix_length,
                                     service.protocol, core::to_be16(service.port)),
                  .service = static_cast<uint16_t>(plan.services[s]),
                  .vip = static_cast<uint16_t>(plan.vips[service.vip]),
                  .table = plan.tables[service.pool]};
    row.id.flags = flags_of(vip, service);
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
  if (!list_lengths(next.vips, plan.prefixes)) {
    return failure(
        fmt::format("capacity exceeded: VIPs of one family have more than {} different "
                    "prefix lengths",
                    core::limits::prefix_lengths));
  }
  return {};
}

Result<Publisher::State::Plan> Publisher::State::prepare(const Snapshot& next, uint64_t now_ms) {
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
  for (size_t p = 0; p < plan.parts.size(); p++) {
    if (plan.writes[p] && plan.parts[p].ref.size != 0) arena.give_back(plan.parts[p].ref.offset);
  }
}

void Publisher::State::write_backends(const Snapshot& next, const Plan& plan) {
  const Capacity& c = memory.capacity;
  // No connection and no table names a fresh id, so no worker counts on it.
  for (const uint32_t id : plan.fresh_backends) {
    clear(memory.backend_counters, c.workers, c.backends, id);
  }
  for (const uint32_t id : plan.fresh_services) {
    clear(memory.service_counters, c.workers, c.services, id);
  }
  size_t at = 0;
  for (const Pool& pool : next.pools) {
    for (const Member& member : pool.members) {
      write_line(memory.backends[plan.backends[at++]], member.line);
    }
  }
}

void Publisher::State::write_tables(const Plan& plan) {
  for (size_t p = 0; p < plan.parts.size(); p++) {
    if (!plan.writes[p]) continue;
    const Part& part = plan.parts[p];
    core::Slot* slots = memory.slots + part.ref.offset;
    for (uint32_t i = 0; i < part.ref.size; i++) slots[i] = part.ids[(*part.owners)[i]];
    if (part.ref.size != 0) {
      // In a table smaller than the mirror this goes round several times.
      for (uint32_t i = 0; i < core::limits::slot_mirror; i++) slots[part.ref.size + i] = slots[i];
    }
    store(memory.tables[plan.tables[p]], part.ref);
  }
}

void Publisher::State::write_rows(const Snapshot& next, const Plan& plan) {
  core::Settings& settings = *memory.settings;
  const uint32_t generation = settings.generation ^ 1;
  core::Row* rows = memory.rows + size_t{generation} * memory.capacity.rows;
  std::ranges::copy(plan.rows->rows(), rows);
  settings.prefixes[generation] = plan.prefixes;
  for (size_t i = 0; i < next.seed.size(); i++) store<core::u64>(settings.seed[i], next.seed[i]);
  for (size_t i = 0; i < next.ttl_ms.size(); i++) {
    const uint64_t ticks = (next.ttl_ms[i] + options.tick_ms - 1) / options.tick_ms;
    store<core::Tick>(settings.ttl[i], static_cast<core::Tick>(ticks));
  }
  store(settings.version, core::layout_version);
  store(settings.generation, generation);
}

void Publisher::State::retire(const Plan& plan, uint64_t now_ms, uint64_t quarantine_ms) {
  std::vector<bool> stays(memory.capacity.backends);
  for (const core::Slot id : plan.backends) stays[id] = true;
  for (const core::Slot id : backends) {
    if (!stays[id]) write_flags(memory.backends[id], 0);
  }
  std::unordered_map<std::string, Part> old = std::move(parts);
  parts.clear();
  std::vector<bool> has_pool(memory.capacity.tables);
  for (size_t p = 0; p < plan.parts.size(); p++) {
    const std::string& id = snapshot->pools[p].id;
    has_pool[plan.tables[p]] = true;
    if (!plan.writes[p]) old.erase(id);
    parts.emplace(id, plan.parts[p]);
  }
  for (const auto& [id, part] : old) {
    if (part.ref.size != 0) arena.give_back(part.ref.offset);
  }
  for (uint32_t i = 0; i < memory.capacity.tables; i++) {
    if (!has_pool[i] && memory.tables[i].size != 0) store(memory.tables[i], core::TableRef{});
  }
  backend_ids.commit(now_ms, quarantine_ms);
  service_ids.commit(now_ms, quarantine_ms);
  vip_ids.commit(now_ms, quarantine_ms);
  table_ids.commit(now_ms, 0);
}

void Publisher::State::name(const Snapshot& next, const Plan& plan) {
  std::ranges::fill(backend_names, BackendName{});
  std::ranges::fill(service_names, -1);
  std::ranges::fill(vip_names, -1);
  for (size_t p = 0; p < next.pools.size(); p++) {
    for (uint32_t i = plan.pools[p]; i < plan.pools[p + 1]; i++) {
      backend_names[plan.backends[i]] = {static_cast<int32_t>(p),
                                         static_cast<int32_t>(i - plan.pools[p])};
    }
  }
  for (size_t i = 0; i < plan.services.size(); i++) {
    service_names[plan.services[i]] = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < plan.vips.size(); i++) vip_names[plan.vips[i]] = static_cast<int32_t>(i);
}

Publisher::Publisher(const Memory& memory, Options options)
    : state_(std::make_unique<State>(memory, std::move(options))) {
  const uint64_t tick = state_->options.tick_ms;
  check(tick >= 1 && tick <= 100, "a tick of {} ms", tick);
}

Publisher::~Publisher() = default;

Result<void> Publisher::publish(std::shared_ptr<const Snapshot> snapshot, uint64_t now_ms) {
  State& state = *state_;
  auto plan = state.prepare(*snapshot, now_ms);
  if (!plan) return std::unexpected(plan.error());

  state.write_backends(*snapshot, *plan);
  state.write_tables(*plan);
  state.write_rows(*snapshot, *plan);
  if (state.options.wait) state.options.wait();

  uint64_t ttl_ms = std::ranges::max(snapshot->ttl_ms);
  if (state.snapshot) ttl_ms = std::max<uint64_t>(ttl_ms, std::ranges::max(state.snapshot->ttl_ms));
  state.snapshot = std::move(snapshot);
  state.retire(*plan, now_ms, ttl_ms + 1000);
  state.name(*state.snapshot, *plan);
  state.backends = std::move(plan->backends);
  state.pools = std::move(plan->pools);
  return {};
}

void Publisher::set_flags(uint32_t pool, uint32_t member, uint8_t flags) {
  const uint32_t id = backend_id(pool, member);
  if (id != 0) write_flags(state_->memory.backends[id], flags);
}

Publisher::BackendName Publisher::backend(uint32_t id) const {
  return id < state_->backend_names.size() ? state_->backend_names[id] : BackendName{};
}

int32_t Publisher::service(uint32_t id) const {
  return id < state_->service_names.size() ? state_->service_names[id] : -1;
}

int32_t Publisher::vip(uint32_t id) const {
  return id < state_->vip_names.size() ? state_->vip_names[id] : -1;
}

uint32_t Publisher::backend_id(uint32_t pool, uint32_t member) const {
  const auto& pools = state_->pools;
  if (pool + size_t{1} >= pools.size()) return 0;
  const uint32_t at = pools[pool] + member;
  return at < pools[pool + 1] ? state_->backends[at] : 0;
}

const std::shared_ptr<const Snapshot>& Publisher::snapshot() const { return state_->snapshot; }

}  // namespace fairlead::tables
