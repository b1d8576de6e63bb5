// SPDX-License-Identifier: MIT
#include "control/controller/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "control/config/address.h"
#include "control/controller/path_mtu_told.h"

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

std::vector<config::IpAddress> tunnel_addresses(const config::Node& node) {
  std::vector<config::IpAddress> own;
  for (const auto& address : {node.address, node.address6}) {
    if (address) own.push_back(*address);
  }
  return own;
}

constexpr uint8_t health_flags = core::backend_flag::takes_new | core::backend_flag::keeps_known;

}  // namespace

Controller::Controller(config::NodeConfig node, config::MacAddress source)
    : node_(std::move(node)),
      source_(source),
      path_mtus_(tunnel_addresses(node_.node), node_.forwarder.network_mtu) {}

Actions Controller::step(Time now, Event event) {
  Actions actions;
  if (auto* wanted = std::get_if<Configure>(&event)) configure(now, std::move(*wanted), actions);
  if (auto* seen = std::get_if<OwnSeen>(&event)) own_seen(now, std::move(*seen));
  if (const auto* seen = std::get_if<LinkSeen>(&event)) link_seen(now, *seen, actions);
  if (const auto* seen = std::get_if<HealthSeen>(&event)) health_seen(now, seen->flip, actions);
  if (const auto* seen = std::get_if<HopsSeen>(&event)) hops_seen(now, *seen, actions);
  if (const auto* done = std::get_if<Published>(&event)) published(now, *done, actions);
  path_mtus_seen(now, std::get_if<TooBigSeen>(&event), actions);
  publish_if_due(now, actions);
  return actions;
}

std::optional<Time> Controller::deadline() const {
  std::optional<Time> first = candidate_ ? std::optional(candidate_->until) : std::nullopt;
  for (const std::optional<Time>& other : {plan_at_, path_mtus_.deadline()}) {
    if (other && (!first || *other < *first)) first = other;
  }
  return first;
}

void Controller::configure(Time now, Configure event, Actions& actions) {
  auto intent = std::make_shared<const Intent>(std::move(event.services));
  for (std::string& line : intent->checks.complaints()) {
    actions.push_back(Tell{log::Level::warning, std::move(line)});
  }
  candidate_ = Candidate{std::move(intent), now + limits::patience};
  watch_and_resolve(actions);
}

void Controller::own_seen(Time now, OwnSeen event) {
  if (event.addresses == own_) return;
  own_ = std::move(event.addresses);
  if (active_) plan_soon(now);
}

void Controller::link_seen(Time now, const LinkSeen& event, Actions& actions) {
  source_ = event.source;
  if (!active_) return;
  plan_soon(now);
  if (!event.new_engine) return;
  plan_at_ = now;
  watch_and_resolve(actions);
}

void Controller::health_seen(Time now, const health::Flip& flip, Actions& actions) {
  health_[flip.check] = health_of_state(flip.state);
  tell_flip(flip, actions);
  if (!active_) return;
  const std::vector<MemberId>& members = active_->roster->of(flip.check).members;
  if (members.empty()) return;
  refresh(members);
  const bool gentle = flip.before == health::State::unknown && flip.state == health::State::up;
  if (!gentle) touch(members, actions);
  plan_soon(now);
}

void Controller::hops_seen(Time now, const HopsSeen& event, Actions& actions) {
  std::vector<MemberId> changed;
  for (const HopsSeen::Hop& hop : event.hops) {
    const HopsSeen::Hop before = std::exchange(hops_[hop.backend], hop);
    if (before.mac == hop.mac || !active_) continue;
    const std::vector<MemberId>& members = active_->roster->of(hop.backend);
    if (!hop.mac && before.mac && !members.empty()) {
      actions.push_back(
          Tell{log::Level::warning, fmt::format("backend {} has no next hop: {}",
                                                config::to_text(hop.backend), hop.missing)});
    }
    refresh(members);
    changed.insert(changed.end(), members.begin(), members.end());
  }
  if (changed.empty()) return;
  touch(changed, actions);
  plan_soon(now);
}

// The table gives changes out at a pace of its own, so these need no collecting.
void Controller::path_mtus_seen(Time now, const TooBigSeen* event, Actions& actions) {
  const path_mtu::Changes changes =
      path_mtus_.step(now, event ? std::optional(event->message) : std::nullopt);
  if (changes.empty() || !active_) return;
  constexpr size_t shown = 3;
  for (size_t i = 0; i < std::min(shown, changes.size()); i++) {
    actions.push_back(tell_of(changes[i], *active_->plan.snapshot));
  }
  if (changes.size() > shown) {
    actions.push_back(Tell{log::Level::info, fmt::format("path MTUs of {} more backends changed",
                                                         changes.size() - shown)});
  }
  if (!table_refused_) plan_at_ = now;
}

void Controller::published(Time now, const Published& event, Actions& actions) {
  check(publishing_ != nullptr, "an answer of the engine that nobody waits for");
  const bool fresh = std::exchange(publishing_new_services_, false);
  std::unique_ptr<Active> done = std::move(publishing_);
  if (event.refused) return refused(now, *event.refused, fresh, actions);
  table_refused_ = false;
  table_generation_ = done->plan.snapshot->generation;
  for (const tables::Pool& pool : done->plan.snapshot->pools) {
    const size_t at = done->flags.size();
    const config::Fail fail = done->intent->services.pools[at].fail;
    done->readings.push_back(reading_of(done->plan.pools[at].tally, fail));
    std::vector<uint8_t>& flags = done->flags.emplace_back();
    for (const tables::Member& member : pool.members) {
      flags.push_back(member.line.flags & health_flags);
    }
  }
  active_ = std::move(done);
  if (!fresh) return;
  path_mtus_.want(path_mtu::targets_of(*active_->plan.snapshot));
  config_generation_++;
  const tables::Snapshot& snapshot = *active_->plan.snapshot;
  size_t backends = 0;
  for (const tables::Pool& pool : snapshot.pools) backends += pool.members.size();
  actions.push_back(
      Tell{log::Level::info,
           fmt::format("configuration {} applied: {}, {}, {}, {}", config_generation_,
                       counted(snapshot.vips.size(), "VIP"),
                       counted(snapshot.services.size(), "service"),
                       counted(snapshot.pools.size(), "pool"), counted(backends, "backend"))});
  watch_and_resolve(actions);
}

// What was to be published with the refused one, such as a new MAC address, still is; an engine
// that refuses what was right before is asked again after a while.
void Controller::refused(Time now, const Error& error, bool fresh, Actions& actions) {
  if (fresh) {
    actions.push_back(
        Tell{log::Level::error, fmt::format("the engine refuses the configuration{}: {}",
                                            active_ ? ", the old one stays" : "", error.message)});
    watch_and_resolve(actions);
    if (active_) plan_soon(now);
    return;
  }
  if (!std::exchange(table_refused_, true)) {
    actions.push_back(
        Tell{log::Level::error, fmt::format("the engine refuses a new table, the old one stays and "
                                            "is tried again each second: {}",
                                            error.message)});
  }
  plan_at_ = now + limits::retry;
}

void Controller::publish_if_due(Time now, Actions& actions) {
  if (publishing_) return;
  if (candidate_ && (now >= candidate_->until || has_hops(candidate_->intent->services))) {
    Candidate next = std::move(*std::exchange(candidate_, std::nullopt));
    publishing_new_services_ = true;
    publish(std::move(next.intent), actions);
  } else if (plan_at_ && now >= *plan_at_ && active_) {
    publish(active_->intent, actions);
  }
}

void Controller::publish(IntentPtr intent, Actions& actions) {
  plan_at_.reset();
  Plan made =
      plan({.node = node_,
            .services = intent->services,
            .health = health_in(*intent),
            .next_hop = [this](const config::IpAddress& backend) { return hop_of(backend); },
            .own = own_,
            .generation = table_generation_ + 1,
            .path_mtu = [this](const config::IpAddress& backend) { return path_mtu_of(backend); }},
           active_ ? active_->plan.tables : Tables{});
  auto roster = active_ && active_->intent == intent
                    ? active_->roster
                    : std::make_shared<const Roster>(made.pools, intent->checks);
  actions.push_back(Publish{made.snapshot, publishing_new_services_});
  publishing_ =
      std::make_unique<Active>(Active{std::move(intent), std::move(made), std::move(roster), {}});
}

// What the old and the coming configuration need; all else is forgotten, so that a check or an
// address that comes back later begins anew.
void Controller::watch_and_resolve(Actions& actions) {
  std::map<health::Check, health::Timing> checks;
  std::set<config::IpAddress> addresses;
  const auto add = [&](const Intent& intent) {
    for (auto& [check, timing] : intent.checks.wanted()) {
      const auto [at, fresh] = checks.try_emplace(check, timing);
      if (!fresh) at->second = health::most_demanding(at->second, timing);
    }
    each_backend(intent.services,
                 [&](const config::Backend& backend) { addresses.insert(backend.ip); });
  };
  if (active_) add(*active_->intent);
  if (candidate_) add(*candidate_->intent);
  std::erase_if(health_, [&](const auto& known) { return !checks.contains(known.first); });
  std::erase_if(hops_, [&](const auto& hop) { return !addresses.contains(hop.first); });
  actions.push_back(Watch{std::move(checks)});
  if (node_.forwarder.gateway_mac) return;
  actions.push_back(Resolve{{addresses.begin(), addresses.end()}});
}

// Brings the states of these members in line with what is known now.
void Controller::refresh(const std::vector<MemberId>& members) {
  const HealthOf health = health_in(*active_->intent);
  for (const MemberId& id : members) {
    Plan::Pool& pool = active_->plan.pools[id.pool];
    const MergedMember& member = pool.members[id.member];
    MemberState& state = pool.states[id.member];
    pool.tally.take_off(state);
    state = state_of(member, health, hop_of({member.identity.family, member.identity.address}));
    pool.tally.add(state);
  }
}

// Brings the engine's flags in line with the states of these members; those of the whole pool only
// when its reading changes, so that thousands may go down at once.
void Controller::touch(const std::vector<MemberId>& members, Actions& actions) {
  for (const MemberId& id : members) {
    const config::Fail fail = active_->intent->services.pools[id.pool].fail;
    const Reading reading = reading_of(active_->plan.pools[id.pool].tally, fail);
    if (std::exchange(active_->readings[id.pool], reading) == reading) {
      touch(id, actions);
      continue;
    }
    const auto count = static_cast<uint32_t>(active_->flags[id.pool].size());
    for (uint32_t member = 0; member < count; member++) touch({id.pool, member}, actions);
  }
}

void Controller::touch(MemberId id, Actions& actions) {
  const uint8_t wanted =
      flags_of(active_->plan.pools[id.pool].states[id.member], active_->readings[id.pool]);
  uint8_t& known = active_->flags[id.pool][id.member];
  if (wanted == known) return;
  known = wanted;
  actions.push_back(SetFlags{id.pool, id.member, wanted});
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

HealthOf Controller::health_in(const Intent& intent) const {
  return [this, &intent](const config::Pool&, const config::Backend& backend) {
    return health_of(intent.checks.source_of(backend));
  };
}

Health Controller::health_of(const HealthSource& source) const {
  if (source.kind != HealthSource::Kind::check) return Health::up;
  const auto found = health_.find(source.check);
  return found == health_.end() ? Health::unknown : found->second;
}

NextHop Controller::hop_of(const config::IpAddress& backend) const {
  if (node_.forwarder.gateway_mac) return {*node_.forwarder.gateway_mac, source_, {}};
  const auto found = hops_.find(backend);
  if (found == hops_.end()) return {{}, source_, "not looked up yet"};
  if (!found->second.mac) return {{}, source_, found->second.missing};
  return {*found->second.mac, source_, {}};
}

uint32_t Controller::path_mtu_of(const config::IpAddress& backend) const {
  const path_mtu::Table::Known* known = path_mtus_.find(backend);
  return known ? known->mtu : node_.forwarder.network_mtu;
}

const std::vector<std::string>& Controller::pools_of(const health::Check& check) const {
  static const std::vector<std::string> none;
  return active_ ? active_->roster->of(check).pools : none;
}

void Controller::tell_flip(const health::Flip& flip, Actions& actions) const {
  const config::Endpoint at{{flip.check.target.family, flip.check.target.address},
                            flip.check.target.port};
  constexpr size_t shown = 3;
  const std::vector<std::string>& pools = pools_of(flip.check);
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
