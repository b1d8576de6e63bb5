// SPDX-License-Identifier: MIT
#include "control/controller/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/config/address.h"

namespace fairlead::controller {
namespace {

Health health_of_state(health::State state) {
  switch (state) {
    case health::State::up: return Health::up;
    case health::State::down: return Health::down;
    case health::State::unknown: break;
  }
  return Health::unknown;
}

template <class F>
void each_backend(const config::Services& services, F function) {
  for (const config::Pool& pool : services.pools) {
    for (const config::Backend& backend : pool.backends) {
      if (backend.state != config::BackendState::disabled) function(backend);
    }
  }
}

constexpr uint8_t health_flags = core::backend_flag::takes_new | core::backend_flag::keeps_known;

}  // namespace

Controller::Controller(config::NodeConfig node, config::MacAddress source)
    : node_(std::move(node)), source_(source) {}

Controller::AddressKey Controller::key_of(const config::IpAddress& address) {
  const auto& word = address.bytes.word;
  return {static_cast<uint32_t>(address.family), word[0], word[1], word[2], word[3]};
}

Actions Controller::step(Time now, Event event) {
  Actions actions;
  if (auto* wanted = std::get_if<Configure>(&event)) configure(now, std::move(*wanted), actions);
  if (const auto* seen = std::get_if<HealthSeen>(&event)) health_seen(now, seen->flip, actions);
  if (const auto* seen = std::get_if<HopsSeen>(&event)) hops_seen(now, *seen, actions);
  if (const auto* done = std::get_if<Published>(&event)) published(*done, actions);
  publish_if_due(now, actions);
  return actions;
}

std::optional<Time> Controller::deadline() const {
  if (candidate_ && plan_at_) return std::min(candidate_->until, *plan_at_);
  if (candidate_) return candidate_->until;
  return plan_at_;
}

void Controller::configure(Time now, Configure event, Actions& actions) {
  auto services = std::make_shared<const config::Services>(std::move(event.services));
  for (std::string& line : Checks(*services).complaints()) {
    actions.push_back(Tell{log::Level::warning, std::move(line)});
  }
  candidate_ = Candidate{std::move(services), std::move(event.own), now + limits::patience};
  watch_and_resolve(actions);
}

void Controller::health_seen(Time now, const health::Flip& flip, Actions& actions) {
  seen_[flip.check] = {health_of_state(flip.state), now, flip.reason};
  tell_flip(flip, actions);
  if (!active_) return;
  std::set<uint32_t> pools;
  for (const MemberId& id : active_->roster.of(flip.check)) pools.insert(id.pool);
  if (pools.empty()) return;
  const bool gentle = flip.before == health::State::unknown && flip.state == health::State::up;
  if (!gentle) touch(pools, actions);
  plan_soon(now);
}

void Controller::hops_seen(Time now, const HopsSeen& event, Actions& actions) {
  std::set<uint32_t> pools;
  for (const HopsSeen::Hop& hop : event.hops) {
    HopsSeen::Hop& known = hops_.try_emplace(key_of(hop.backend)).first->second;
    const bool same = known.mac == hop.mac;
    if (!same && active_) {
      const auto& members = active_->roster.of(hop.backend);
      if (!hop.mac && known.mac && !members.empty()) {
        actions.push_back(
            Tell{log::Level::warning, fmt::format("backend {} has no next hop: {}",
                                                  config::to_text(hop.backend), hop.missing)});
      }
      for (const MemberId& id : members) pools.insert(id.pool);
    }
    known = hop;
  }
  if (pools.empty()) return;
  touch(pools, actions);
  plan_soon(now);
}

void Controller::published(const Published& event, Actions& actions) {
  check(publishing_ != nullptr, "an answer of the engine that nobody waits for");
  const bool fresh = std::exchange(publishing_new_services_, false);
  std::unique_ptr<Active> done = std::move(publishing_);
  if (event.refused) {
    actions.push_back(
        Tell{log::Level::error,
             fmt::format("the engine refuses {}: {}", fresh ? "the configuration" : "a new table",
                         event.refused->message)});
    if (fresh) watch_and_resolve(actions);
    return;
  }
  table_generation_ = done->plan.snapshot->generation;
  for (const tables::Pool& pool : done->plan.snapshot->pools) {
    std::vector<uint8_t>& flags = done->flags.emplace_back();
    for (const tables::Member& member : pool.members) {
      flags.push_back(member.line.flags & health_flags);
    }
  }
  active_ = std::move(done);
  if (!fresh) return;
  config_generation_++;
  const tables::Snapshot& snapshot = *active_->plan.snapshot;
  size_t backends = 0;
  for (const tables::Pool& pool : snapshot.pools) backends += pool.members.size();
  actions.push_back(Tell{log::Level::info,
                         fmt::format("configuration {} applied: {} VIPs, {} services, {} pools, {} "
                                     "backends",
                                     config_generation_, snapshot.vips.size(),
                                     snapshot.services.size(), snapshot.pools.size(), backends)});
  watch_and_resolve(actions);
}

void Controller::publish_if_due(Time now, Actions& actions) {
  if (publishing_) return;
  if (candidate_ && (now >= candidate_->until || has_hops(*candidate_->services))) {
    Candidate next = std::move(*std::exchange(candidate_, std::nullopt));
    publishing_new_services_ = true;
    publish(std::move(next.services), std::move(next.own), actions);
  } else if (plan_at_ && now >= *plan_at_ && active_) {
    publish(active_->services, active_->own, actions);
  }
}

void Controller::publish(ServicesPtr services, std::vector<config::IpAddress> own,
                         Actions& actions) {
  plan_at_.reset();
  const Checks checks(*services);
  Input input{.node = node_,
              .services = *services,
              .health =
                  [&](const config::Pool& pool, const config::Backend& backend) {
                    return health_of(checks.source_of(pool, backend));
                  },
              .next_hop = [this](const config::IpAddress& backend) { return hop_of(backend); },
              .own = own,
              .generation = table_generation_ + 1};
  Plan made = plan(input, active_ ? active_->plan.tables : Tables{});
  Roster roster(services, *made.snapshot);
  actions.push_back(Publish{made.snapshot, publishing_new_services_});
  publishing_ = std::make_unique<Active>(
      Active{std::move(services), std::move(own), std::move(made), std::move(roster), {}});
}

// What the old and the coming configuration need; all else is forgotten, so that a check or an
// address that comes back later begins anew.
void Controller::watch_and_resolve(Actions& actions) {
  std::map<health::Check, health::Timing> checks;
  std::map<AddressKey, config::IpAddress> addresses;
  const auto add = [&](const config::Services& services) {
    for (auto& [check, timing] : Checks(services).wanted()) {
      const auto [at, fresh] = checks.try_emplace(check, timing);
      if (!fresh) at->second = health::most_demanding(at->second, timing);
    }
    each_backend(services, [&](const config::Backend& backend) {
      addresses.try_emplace(key_of(backend.ip), backend.ip);
    });
  };
  if (active_) add(*active_->services);
  if (candidate_) add(*candidate_->services);
  std::erase_if(seen_, [&](const auto& seen) { return !checks.contains(seen.first); });
  std::erase_if(hops_, [&](const auto& hop) { return !addresses.contains(hop.first); });
  actions.push_back(Watch{std::move(checks)});
  if (node_.forwarder.gateway_mac) return;
  Resolve resolve;
  for (const auto& [key, address] : addresses) resolve.backends.push_back(address);
  actions.push_back(std::move(resolve));
}

// Brings the engine's flags of these pools in line with what is known now.
void Controller::touch(const std::set<uint32_t>& pools, Actions& actions) {
  for (const uint32_t pool : pools) {
    std::vector<uint8_t>& known = active_->flags[pool];
    std::vector<MemberState> states;
    for (uint32_t member = 0; member < known.size(); member++) {
      states.push_back(state_of(*active_, {pool, member}));
    }
    const auto flags = flags_of(states, active_->roster.pools()[pool].pool->fail);
    for (uint32_t member = 0; member < known.size(); member++) {
      const uint8_t wanted = flags[member] & health_flags;
      if (wanted == known[member]) continue;
      known[member] = wanted;
      actions.push_back(SetFlags{pool, member, wanted});
    }
  }
}

void Controller::plan_soon(Time now) {
  if (!plan_at_) plan_at_ = now + limits::debounce;
}

bool Controller::has_hops(const config::Services& services) const {
  bool all = true;
  each_backend(services, [&](const config::Backend& backend) {
    all = all && hop_of(backend.ip).missing.empty();
  });
  return all;
}

Health Controller::health_of(const HealthSource& source) const {
  if (source.kind == HealthSource::Kind::always_up) return Health::up;
  if (source.kind == HealthSource::Kind::never_known) return Health::unknown;
  const auto found = seen_.find(source.check);
  return found == seen_.end() ? Health::unknown : found->second.health;
}

NextHop Controller::hop_of(const config::IpAddress& backend) const {
  if (node_.forwarder.gateway_mac) return {*node_.forwarder.gateway_mac, source_, {}};
  const auto found = hops_.find(key_of(backend));
  if (found == hops_.end()) return {{}, source_, "not looked up yet"};
  if (!found->second.mac) return {{}, source_, found->second.missing};
  return {*found->second.mac, source_, {}};
}

MemberState Controller::state_of(const Active& active, MemberId id) const {
  const tables::Member& member = active.plan.snapshot->pools[id.pool].members[id.member];
  MemberState state{.health = Health::down, .draining = true, .weight = member.weight};
  for (const Roster::Watched& entry : active.roster.pools()[id.pool].members[id.member]) {
    state.health = combined(state.health, health_of(entry.source));
    if (entry.backend->state != config::BackendState::draining) state.draining = false;
    state.reachable = hop_of(entry.backend->ip).missing.empty();
  }
  return state;
}

std::set<std::string> Controller::pools_of(const health::Check& check) const {
  std::set<std::string> pools;
  if (!active_) return pools;
  for (const MemberId& id : active_->roster.of(check)) {
    for (const Roster::Watched& entry : active_->roster.pools()[id.pool].members[id.member]) {
      if (entry.source.kind == HealthSource::Kind::check && entry.source.check == check) {
        pools.insert(entry.pool->id);
      }
    }
  }
  return pools;
}

void Controller::tell_flip(const health::Flip& flip, Actions& actions) const {
  const config::Endpoint at{{flip.check.target.family, flip.check.target.address},
                            flip.check.target.port};
  constexpr size_t shown = 3;
  const auto pools = pools_of(flip.check);
  std::string of = pools.empty() ? "" : pools.size() == 1 ? " of pool " : " of pools ";
  size_t count = 0;
  for (const std::string& pool : pools) {
    if (++count > shown) break;
    of += (count > 1 ? ", " : "") + pool;
  }
  if (pools.size() > shown) of += fmt::format(" and {} more", pools.size() - shown);
  const bool up = flip.state == health::State::up;
  actions.push_back(Tell{up ? log::Level::info : log::Level::warning,
                         fmt::format("backend {}{} is {}: {}", config::to_text(at), of,
                                     up ? "up" : "down", flip.reason)});
}

}  // namespace fairlead::controller
