// SPDX-License-Identifier: MIT
// publish() has two halves. The first decides everything that can fail, in memory of its own
// (publisher_plan.cc); the second, here, writes and cannot fail.
//
// Order of the writes, and why a packet in the middle of them is well:
//   1. lines of backends        whoever is named by a table or row is there before it is named
//   2. slots in unused parts, then the TableRef, one store of 8 bytes
//   3. rows and prefix lengths of the generation that is not in use, then its number
//   4. wait until no packet reads the old generation and the old slots
//   5. lines and flags of backends that are gone, or follow others (tables/holders.h), for no table
//      names them now; old slots, tables and ids become free
// Each pointer-like word is stored with release; a reader loads it with acquire or follows it by
// address dependency.
#include "tables/publisher.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "base/check.h"
#include "core/limits.h"
#include "tables/publisher_state.h"

namespace fairlead::tables {
namespace {

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
  constexpr uint8_t fixed = core::backend_flag::fixed;
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

// What fits into the tunnel of every backend; all of an IP packet if there is none.
uint32_t smallest_inner_mtu(const Snapshot& snapshot) {
  uint32_t smallest = 65'535;
  for (const Pool& pool : snapshot.pools) {
    for (const Member& member : pool.members) {
      smallest = std::min<uint32_t>(smallest, member.line.inner_mtu);
    }
  }
  return smallest;
}

bool counts_live(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.services, [](const Service& service) {
    return service.scheduler == Scheduler::least_connections;
  });
}

}  // namespace

Publisher::State::State(const Memory& m, Options o)
    : memory(m),
      options(std::move(o)),
      arena(m.capacity.slots),
      backend_ids(m.capacity.backends),
      service_ids(m.capacity.services),
      vip_ids(m.capacity.services),
      table_ids(m.capacity.tables / core::table_kinds),
      backend_names(m.capacity.backends),
      service_names(m.capacity.services, -1),
      vip_names(m.capacity.services, -1) {}

void Publisher::State::write_backends(const Snapshot& next, const Plan& plan) {
  const Capacity& c = memory.capacity;
  // No connection and no table names a fresh id, so no worker counts on it.
  for (const uint32_t id : plan.fresh_backends) {
    clear(memory.backend_counters, c.workers, c.backends, id);
    store(memory.live[id], core::u64{0});
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
    const Parts& pool = plan.parts[p];
    for (size_t kind = 0; kind < pool.tables.size(); kind++) {
      const Part& part = pool.tables[kind];
      if (!part.is_new) continue;
      core::Slot* slots = memory.slots + part.ref.offset;
      for (uint32_t i = 0; i < part.ref.size; i++) slots[i] = pool.ids[(*part.owners)[i]];
      if (part.ref.size != 0) {
        // In a table smaller than the mirror this goes round several times.
        for (uint32_t i = 0; i < core::limits::slot_mirror; i++) {
          slots[part.ref.size + i] = slots[i];
        }
      }
      store(memory.tables[plan.tables[p] * core::table_kinds + kind], part.ref);
    }
  }
}

void Publisher::State::write_rows(const Snapshot& next, const Plan& plan) {
  core::Settings& settings = *memory.settings;
  const uint32_t generation = settings.generation ^ 1;
  core::Row* rows = memory.rows + size_t{generation} * memory.capacity.rows;
  std::ranges::copy(plan.rows->rows(), rows);
  std::ranges::copy(plan.branches, memory.branches + size_t{generation} * memory.capacity.branches);
  settings.prefixes[generation] = plan.prefixes;
  for (size_t i = 0; i < next.seed.size(); i++) store<core::u64>(settings.seed[i], next.seed[i]);
  for (size_t i = 0; i < next.ttl_ms.size(); i++) {
    const uint64_t ticks = (next.ttl_ms[i] + options.tick_ms - 1) / options.tick_ms;
    store<core::Tick>(settings.ttl[i], static_cast<core::Tick>(ticks));
  }
  const uint64_t fragment_ticks = (next.fragment_ttl_ms + options.tick_ms - 1) / options.tick_ms;
  store<core::Tick>(settings.fragment_ttl, static_cast<core::Tick>(fragment_ticks));
  store<core::u32>(settings.smallest_inner_mtu, smallest_inner_mtu(next));
  store<core::u32>(settings.workers, memory.capacity.workers);
  if (next.gateway) std::ranges::copy(*next.gateway, settings.gateway);
  store<core::u8>(settings.has_gateway, next.gateway ? 1 : 0);
  const bool translates = std::ranges::any_of(
      next.pools, [](const Pool& pool) { return pool.method == core::Method::nat; });
  store<core::u8>(settings.translates, settings.translates | (translates ? 1 : 0));
  store<core::u8>(settings.counts_live, counts_live(next) ? 1 : 0);
  store(settings.version, core::layout_version);
  store(settings.generation, generation);
}

// It keeps live connections while all that it follows do: one that is down in its pool must not get
// those of another for ever, and a connection that chooses afresh mostly gets the same backend.
void Publisher::State::follow(const FollowerLine& follower) {
  const bool keeps = std::ranges::all_of(follower.members, [this](uint32_t member) {
    return (memory.backends[backends[member]].flags & core::backend_flag::keeps_known) != 0;
  });
  write_flags(memory.backends[follower.id], keeps ? core::backend_flag::keeps_known : 0);
}

// Counts begin again: those made under the old pool's name are no new traffic of the other pool.
// (A worker that counts on it in this very moment may put the old count back.)
void Publisher::State::adopt(Plan plan) {
  std::vector<bool> had_pool(memory.capacity.backends);
  for (const core::Slot id : backends) had_pool[id] = true;
  backends = std::move(plan.backends);
  pools = std::move(plan.pools);
  lines = std::move(plan.lines);
  followers = std::move(plan.followers);
  followed.clear();
  for (const FollowerLine& follower : followers) {
    if (had_pool[follower.id]) {
      clear(memory.backend_counters, memory.capacity.workers, memory.capacity.backends,
            follower.id);
    }
    const core::Slot leader = backends[follower.members.front()];
    write_line(memory.backends[follower.id], memory.backends[leader]);
    follow(follower);
    for (const uint32_t member : follower.members) followed.emplace(member, &follower);
  }
}

void Publisher::State::retire(const Plan& plan, uint64_t now_ms, uint64_t quarantine_ms) {
  std::vector<bool> stays(memory.capacity.backends);
  for (const core::Slot id : plan.backends) stays[id] = true;
  for (const FollowerLine& follower : plan.followers) stays[follower.id] = true;
  for (const core::Slot id : backends) {
    if (!stays[id]) write_flags(memory.backends[id], 0);
  }
  for (const FollowerLine& follower : followers) {
    if (!stays[follower.id]) write_flags(memory.backends[follower.id], 0);
  }
  std::unordered_map<std::string, Parts> old = std::move(parts);
  parts.clear();
  std::vector<bool> has_pool(memory.capacity.tables);
  for (size_t p = 0; p < plan.parts.size(); p++) {
    Parts kept = plan.parts[p];
    const auto before = old.find(snapshot->pools[p].id);
    for (size_t kind = 0; kind < kept.tables.size(); kind++) {
      has_pool[plan.tables[p] * core::table_kinds + kind] = true;
      if (!kept.tables[kind].is_new && before != old.end()) before->second.tables[kind] = {};
      kept.tables[kind].is_new = false;
    }
    parts.emplace(snapshot->pools[p].id, std::move(kept));
  }
  for (const auto& [id, gone] : old) {
    for (const Part& part : gone.tables) {
      if (part.ref.size != 0) arena.give_back(part.ref.offset);
    }
  }
  for (uint32_t i = 0; i < memory.capacity.tables; i++) {
    if (!has_pool[i] && memory.tables[i].size != 0) store(memory.tables[i], core::TableRef{});
  }
  backend_ids.commit(now_ms, quarantine_ms);
  service_ids.commit(now_ms, quarantine_ms);
  vip_ids.commit(now_ms, quarantine_ms);
  table_ids.commit(now_ms, 0);
}

void Publisher::State::name(const Plan& plan) {
  std::ranges::fill(backend_names, BackendName{});
  std::ranges::fill(service_names, -1);
  std::ranges::fill(vip_names, -1);
  for (size_t p = 0; p < plan.parts.size(); p++) {
    for (uint32_t i = plan.pools[p]; i < plan.pools[p + 1]; i++) {
      backend_names[plan.backends[i]] = {static_cast<int32_t>(p),
                                         static_cast<int32_t>(i - plan.pools[p])};
    }
  }
  for (const FollowerLine& follower : plan.followers) {
    backend_names[follower.id] = backend_names[plan.backends[follower.members.front()]];
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

  uint64_t ttl_ms =
      std::max<uint64_t>(std::ranges::max(snapshot->ttl_ms), snapshot->fragment_ttl_ms);
  if (state.snapshot) ttl_ms = std::max<uint64_t>(ttl_ms, std::ranges::max(state.snapshot->ttl_ms));
  state.snapshot = std::move(snapshot);
  state.retire(*plan, now_ms, ttl_ms + 1000);
  state.name(*plan);
  state.adopt(std::move(*plan));
  return {};
}

void Publisher::set_flags(uint32_t pool, uint32_t member, uint8_t flags) {
  const uint32_t id = backend_id(pool, member);
  if (id == 0) return;
  write_flags(state_->memory.backends[id], flags);
  const auto [first, last] = state_->followed.equal_range(state_->pools[pool] + member);
  for (auto at = first; at != last; ++at) state_->follow(*at->second);
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
