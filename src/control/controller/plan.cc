// SPDX-License-Identifier: MIT
#include "control/controller/plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/config/mtu.h"
#include "control/controller/line.h"
#include "tables/turns.h"

namespace fairlead::controller {
namespace {

using core::Family;
namespace backend_flag = core::backend_flag;

uint64_t big_endian(core::be32 high, core::be32 low) {
  return uint64_t{core::to_host(high)} << 32 | core::to_host(low);
}

std::string why_unusable(const MemberState& state, const NextHop& next_hop, uint8_t flags) {
  if (flags & backend_flag::takes_new) return "";
  if (!state.reachable) return next_hop.missing;
  if (state.draining) return "draining";
  if (state.weight == 0) return "weight 0";
  return state.health == Health::unknown ? "not checked yet while others are up" : "down";
}

bool is_eligible(const MemberState& member) {
  return member.reachable && !member.draining && member.weight > 0;
}

class Planner {
 public:
  Planner(const Input& input, const Tables& previous)
      : input_(input), previous_(previous), index_(input.services.pools) {}

  Plan run() {
    tables::Snapshot snapshot;
    snapshot.generation = input_.generation;
    snapshot.seed = flow_seeds(input_.node.forwarder.hash_seed);
    snapshot.ttl_ms = ttls();
    snapshot.fragment_ttl_ms = static_cast<uint32_t>(input_.node.forwarder.fragment_ttl.count());
    snapshot.gateway = input_.node.forwarder.gateway_mac;
    own_addresses(snapshot);
    for (uint32_t i = 0; i < input_.services.pools.size(); i++) {
      snapshot.pools.push_back(pool(i));
    }
    vips(snapshot);
    schedules(snapshot);
    return {std::make_shared<const tables::Snapshot>(std::move(snapshot)), std::move(tables_),
            std::move(pools_)};
  }

 private:
  std::array<uint32_t, core::state_count> ttls() const {
    const config::ConnectionTtls& ttls = input_.node.forwarder.connection_ttls;
    std::array<uint32_t, core::state_count> result{};
    const auto set = [&](core::State state, config::Milliseconds ttl) {
      result[static_cast<size_t>(state)] = static_cast<uint32_t>(ttl.count());
    };
    set(core::State::handshake, ttls.tcp_handshake);
    set(core::State::established, ttls.tcp_established);
    set(core::State::closing, ttls.tcp_closing);
    set(core::State::udp, ttls.udp);
    set(core::State::other, ttls.other);
    return result;
  }

  void own_addresses(tables::Snapshot& snapshot) const {
    std::vector<config::IpAddress> own = input_.own;
    for (const auto& address : {input_.node.node.address, input_.node.node.address6}) {
      if (address) own.push_back(*address);
    }
    for (const config::IpAddress& address : own) {
      auto& list = address.family == Family::v6 ? snapshot.own_v6 : snapshot.own_v4;
      if (std::ranges::find(list, address.bytes) == list.end()) list.push_back(address.bytes);
    }
  }

  void vips(tables::Snapshot& snapshot) const {
    for (const config::Vip& vip : input_.services.vips) {
      const auto number = static_cast<uint32_t>(snapshot.vips.size());
      snapshot.vips.push_back({vip.id, vip.address.address.bytes, vip.address.length,
                               vip.address.address.family, vip.ping == config::Ping::reply});
      for (const config::Service& from : vip.services) {
        tables::Service& service = snapshot.services.emplace_back();
        service.vip = number;
        service.protocol = from.protocol;
        service.port = from.port;
        service.pool = find(from.backend_pool);
        service.client_ip = from.affinity == config::Affinity::client_ip;
        service.scheduler = from.scheduler;
        for (const config::Route& route : from.routes) {
          const config::IpAddress& source = route.source.address;
          service.routes.push_back(
              {source.bytes, route.source.length, source.family, find(route.backend_pool)});
        }
        for (const config::Branch& share : from.split) {
          service.split.push_back({share.weight, find(share.backend_pool)});
        }
      }
    }
  }

  uint32_t find(const std::string& id) const {
    const uint32_t pool = index_.find(id);
    check(pool != config::PoolIndex::none, "no pool {}", id);
    return pool;
  }

  // Which pools have new flows given out by this scheduler.
  std::vector<bool> pools_of(const std::vector<tables::Service>& services,
                             tables::Scheduler scheduler) const {
    std::vector<bool> wanted(input_.services.pools.size());
    for (const tables::Service& service : services) {
      if (service.scheduler != scheduler) continue;
      for (const uint32_t pool : service.pools()) wanted[pool] = true;
    }
    return wanted;
  }

  void schedules(tables::Snapshot& snapshot) {
    const auto turns = pools_of(snapshot.services, tables::Scheduler::round_robin);
    const auto loads = pools_of(snapshot.services, tables::Scheduler::least_connections);
    for (size_t i = 0; i < snapshot.pools.size(); i++) {
      tables::Pool& pool = snapshot.pools[i];
      if (turns[i]) pool.turns = schedule(core::by_turn, pool.members);
      if (loads[i]) pool.candidates = schedule(core::by_load, pool.members);
    }
  }

  tables::Pool pool(uint32_t number) {
    const config::Pool& from = input_.services.pools[number];
    tables::Pool result{.id = from.id, .method = from.method};
    Plan::Pool& decided = pools_.emplace_back();
    decided.members = members_of(index_, input_.services, number);
    std::vector<NextHop> next_hops;
    for (const MergedMember& member : decided.members) {
      const config::IpAddress address{member.identity.family, member.identity.address};
      const NextHop next_hop = input_.next_hop(address);
      const MemberState state = state_of(member, input_.health, next_hop);
      decided.states.push_back(state);
      core::Backend line = line_of(from.method, address, input_.node, next_hop, path_mtu(address));
      line.weight = state.weight;
      result.members.push_back({member.identity, name_of(member), state.weight, line, ""});
      next_hops.push_back(next_hop);
    }
    decided.tally = tally_of(decided.states);
    const Reading reading = reading_of(decided.tally, from.fail);
    for (size_t i = 0; i < result.members.size(); i++) {
      tables::Member& member = result.members[i];
      const uint8_t flags = flags_of(decided.states[i], reading);
      const bool outer_v6 = member.identity.family == Family::v6;
      member.line.flags = static_cast<uint8_t>(flags | (outer_v6 ? backend_flag::outer_v6 : 0));
      if (from.method == core::Method::nat) {
        put_nat(member.line, member.identity, from.snat, input_.node);
      }
      member.unusable = why_unusable(decided.states[i], next_hops[i], flags);
    }
    result.table = table(from, result.members);
    return result;
  }

  uint32_t path_mtu(const config::IpAddress& backend) const {
    const uint32_t most = input_.node.forwarder.network_mtu;
    return input_.path_mtu ? std::min(most, input_.path_mtu(backend)) : most;
  }

  Table table(const config::Pool& pool, const std::vector<tables::Member>& members) {
    TableInput input;
    input.size = pool.table_size;
    input.fill = pool.fill == config::FillKind::paper ? tables::Fill::paper : tables::Fill::lines;
    for (const tables::Member& member : members) {
      const bool usable = member.line.flags & backend_flag::takes_new;
      const bool owns = usable || pool.on_down == config::OnDown::skip;
      input.identities.push_back(identity_hash(member.identity, pool.table_seed));
      input.weights.push_back(owns ? member.weight : 0);
      input.usable.push_back(usable);
    }
    return made_from(std::move(input));
  }

  Table schedule(uint32_t kind, const std::vector<tables::Member>& members) {
    TableInput input{.kind = kind};
    for (const tables::Member& member : members) {
      const bool usable = member.line.flags & backend_flag::takes_new;
      input.weights.push_back(usable ? member.weight : 0);
    }
    return made_from(std::move(input));
  }

  Table made_from(TableInput input) {
    if (const auto known = tables_.find(input); known != tables_.end()) return known->second;
    Table table;
    if (const auto old = previous_.find(input); old != previous_.end()) {
      table = old->second;
    } else {
      table = std::make_shared<const std::vector<uint16_t>>(build_table(input));
    }
    tables_.emplace(std::move(input), table);
    return table;
  }

  const Input& input_;
  const Tables& previous_;
  config::PoolIndex index_;
  Tables tables_;
  std::vector<Plan::Pool> pools_;
};

}  // namespace

Plan plan(const Input& input, const Tables& previous) { return Planner(input, previous).run(); }

uint64_t splitmix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::array<uint64_t, 2> flow_seeds(uint64_t hash_seed) {
  uint64_t state = hash_seed;
  const uint64_t first = splitmix64(state);
  return {first, splitmix64(state)};
}

uint64_t identity_hash(const tables::Identity& identity, uint64_t table_seed) {
  const core::be32* word = identity.address.word;
  const uint64_t kind = uint64_t{static_cast<uint8_t>(identity.family)} << 16 | identity.port;
  uint64_t hash = table_seed;
  for (const uint64_t part : {kind, big_endian(word[0], word[1]), big_endian(word[2], word[3])}) {
    uint64_t state = hash ^ part;
    hash = splitmix64(state);
  }
  return hash;
}

MemberState state_of(const MergedMember& member, const HealthOf& health, const NextHop& next_hop) {
  MemberState state{.health = health ? Health::down : Health::up,
                    .draining = is_draining(member),
                    .reachable = next_hop.missing.empty(),
                    .weight = weight_of(member)};
  for (const Entry& entry : member.entries) {
    if (state.health == Health::up) break;
    const Health one = health(*entry.pool, *entry.backend);
    if (one != Health::down) state.health = one;
  }
  return state;
}

void Tally::add(const MemberState& member) {
  if (!is_eligible(member)) return;
  if (member.health == Health::up) up++;
  if (member.health == Health::unknown) unknown++;
}

void Tally::take_off(const MemberState& member) {
  if (!is_eligible(member)) return;
  if (member.health == Health::up) up--;
  if (member.health == Health::unknown) unknown--;
}

Tally tally_of(std::span<const MemberState> members) {
  Tally tally;
  for (const MemberState& member : members) tally.add(member);
  return tally;
}

Reading reading_of(const Tally& tally, config::Fail fail) {
  return {.unknown_is_up = tally.up == 0,
          .all_up = tally.up == 0 && tally.unknown == 0 && fail == config::Fail::open};
}

uint8_t flags_of(const MemberState& member, const Reading& reading) {
  const bool up = reading.all_up || member.health == Health::up ||
                  (member.health == Health::unknown && reading.unknown_is_up);
  uint8_t flags = 0;
  if (member.reachable && up) flags |= backend_flag::keeps_known;
  if (is_eligible(member) && up) flags |= backend_flag::takes_new;
  return flags;
}

namespace {

std::vector<uint16_t> build_candidates(std::span<const uint32_t> weights) {
  std::vector<uint16_t> candidates;
  for (size_t i = 0; i < weights.size(); i++) {
    if (weights[i] != 0) candidates.push_back(static_cast<uint16_t>(i));
  }
  return candidates;
}

}  // namespace

std::vector<uint16_t> build_table(const TableInput& input) {
  if (input.kind == core::by_turn) return tables::build_turns(input.weights);
  if (input.kind == core::by_load) return build_candidates(input.weights);
  if (std::ranges::find(input.usable, true) == input.usable.end()) return {};
  std::vector<tables::MaglevBackend> backends;
  backends.reserve(input.identities.size());
  for (size_t i = 0; i < input.identities.size(); i++) {
    backends.push_back({input.identities[i], input.weights[i]});
  }
  std::vector<uint16_t> table = tables::build_maglev(backends, input.size, input.fill);
  bool all_usable = true;
  for (size_t i = 0; i < backends.size(); i++)
    all_usable &= input.usable[i] || input.weights[i] == 0;
  if (all_usable) return table;
  // Backwards, so that a slot finds the answer of the one behind it; twice, since the last slots
  // look on from the first.
  const size_t size = table.size();
  for (size_t i = 2 * size; i-- > 0;) {
    uint16_t& owner = table[i % size];
    if (!input.usable[owner]) owner = table[(i + 1) % size];
  }
  return table;
}

}  // namespace fairlead::controller
