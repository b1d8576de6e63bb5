// SPDX-License-Identifier: MIT
#include "control/controller/replay_script.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "control/limits.h"

namespace fairlead::controller {
namespace {

constexpr auto by_time = [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; };

// Where the frame came from or went to is filled in later, if the node has no gateway_mac.
NextHop next_hop_of(const config::NodeConfig& node) {
  NextHop next_hop;
  if (node.forwarder.gateway_mac) next_hop.destination = *node.forwarder.gateway_mac;
  return next_hop;
}

}  // namespace

ReplayScript::ReplayScript(config::NodeConfig node, config::Services services,
                           std::vector<ServicesChange> services_changes,
                           std::vector<BackendChange> backend_changes)
    : node_(std::move(node)),
      services_(std::move(services)),
      services_changes_(std::move(services_changes)),
      backend_changes_(std::move(backend_changes)) {
  std::ranges::stable_sort(services_changes_, by_time);
  std::ranges::stable_sort(backend_changes_, by_time);
}

std::optional<uint64_t> ReplayScript::next_ns() const {
  if (!begun_) return 0;
  std::optional<uint64_t> next = rebuild_ns_;
  const auto sooner = [&next](uint64_t ns) { next = std::min(next.value_or(ns), ns); };
  if (next_services_ < services_changes_.size()) sooner(services_changes_[next_services_].at_ns);
  if (next_backend_ < backend_changes_.size()) sooner(backend_changes_[next_backend_].at_ns);
  return next;
}

Result<void> ReplayScript::perform(tables::Publisher& publisher, uint64_t now_ms) {
  const std::optional<uint64_t> now_ns = next_ns();
  check(now_ns.has_value(), "nothing is due at {} ms", now_ms);
  const bool others = replace_services(*now_ns) || !begun_;
  const bool changed = change_backends(*now_ns);
  const auto snapshot = replan();
  begun_ = true;
  if (others || (rebuild_ns_ && *rebuild_ns_ <= *now_ns)) {
    rebuild_ns_.reset();
    return publisher.publish(snapshot, now_ms);
  }
  if (changed) {
    for (uint32_t p = 0; p < snapshot->pools.size(); p++) {
      const std::vector<tables::Member>& members = snapshot->pools[p].members;
      for (uint32_t m = 0; m < members.size(); m++) {
        publisher.set_flags(p, m, members[m].line.flags);
      }
    }
    if (!rebuild_ns_) rebuild_ns_ = *now_ns + static_cast<uint64_t>(limits::debounce.count());
  }
  return {};
}

bool ReplayScript::replace_services(uint64_t now_ns) {
  bool replaced = false;
  for (; next_services_ < services_changes_.size(); next_services_++, replaced = true) {
    ServicesChange& change = services_changes_[next_services_];
    if (change.at_ns > now_ns) break;
    services_ = std::move(change.services);
  }
  return replaced;
}

bool ReplayScript::change_backends(uint64_t now_ns) {
  const size_t before = next_backend_;
  while (next_backend_ < backend_changes_.size() &&
         backend_changes_[next_backend_].at_ns <= now_ns) {
    next_backend_++;
  }
  return next_backend_ != before;
}

// The last that was said of it; nothing is up.
Word ReplayScript::word_of(const config::Backend& backend) const {
  for (size_t i = next_backend_; i-- > 0;) {
    if (is_meant(backend_changes_[i].backend, backend)) return backend_changes_[i].word;
  }
  return Word::up;
}

config::Services ReplayScript::services_as_said() const {
  config::Services services = services_;
  for (config::Pool& pool : services.pools) {
    for (config::Backend& backend : pool.backends) {
      const bool draining = word_of(backend) == Word::draining;
      if (draining && backend.state == config::BackendState::active) {
        backend.state = config::BackendState::draining;
      }
    }
  }
  return services;
}

std::shared_ptr<const tables::Snapshot> ReplayScript::replan() {
  const config::Services services = services_as_said();
  const NextHop next_hop = next_hop_of(node_);
  Plan plan =
      controller::plan({.node = node_,
                        .services = services,
                        .health =
                            [this](const config::Pool&, const config::Backend& backend) {
                              return word_of(backend) == Word::down ? Health::down : Health::up;
                            },
                        .next_hop = [next_hop](const config::IpAddress&) { return next_hop; },
                        .own = {},
                        .generation = ++generation_},
                       tables_);
  tables_ = std::move(plan.tables);
  return plan.snapshot;
}

}  // namespace fairlead::controller
