// SPDX-License-Identifier: MIT
#include "control/controller/roster.h"

#include <algorithm>

namespace fairlead::controller {
namespace {

template <class T>
void sort_unique(std::vector<T>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

}  // namespace

Roster::Roster(const std::vector<Plan::Pool>& pools, const Checks& checks) {
  for (uint32_t p = 0; p < pools.size(); p++) {
    for (uint32_t m = 0; m < pools[p].members.size(); m++) {
      for (const auto& [from, backend] : pools[p].members[m].entries) {
        by_address_[backend->ip].push_back({p, m});
        const HealthSource& source = checks.source_of(*backend);
        if (source.kind != HealthSource::Kind::check) continue;
        Checked& checked = by_check_[source.check];
        checked.members.push_back({p, m});
        checked.pools.push_back(from->id);
      }
    }
  }
  for (auto& [check, checked] : by_check_) {
    sort_unique(checked.members);
    sort_unique(checked.pools);
  }
  for (auto& [address, ids] : by_address_) sort_unique(ids);
}

const Roster::Checked& Roster::of(const health::Check& check) const {
  static const Checked none;
  const auto found = by_check_.find(check);
  return found == by_check_.end() ? none : found->second;
}

const std::vector<MemberId>& Roster::of(const config::IpAddress& address) const {
  static const std::vector<MemberId> none;
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? none : found->second;
}

}  // namespace fairlead::controller
