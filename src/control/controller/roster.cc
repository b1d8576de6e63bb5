// SPDX-License-Identifier: MIT
#include "control/controller/roster.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/controller/members.h"

namespace fairlead::controller {

Health combined(Health a, Health b) {
  if (a == Health::up || b == Health::up) return Health::up;
  if (a == Health::unknown || b == Health::unknown) return Health::unknown;
  return Health::down;
}

Roster::AddressKey Roster::key_of(const config::IpAddress& address) {
  const auto& word = address.bytes.word;
  return {static_cast<uint32_t>(address.family), word[0], word[1], word[2], word[3]};
}

Roster::Roster(std::shared_ptr<const config::Services> services, const tables::Snapshot& snapshot)
    : services_(std::move(services)) {
  const config::PoolIndex index(services_->pools);
  const Checks checks(*services_);
  for (const tables::Pool& planned : snapshot.pools) {
    const auto number = static_cast<uint32_t>(pools_.size());
    const uint32_t at = index.find(planned.id);
    check(at != config::PoolIndex::none, "pool {} is in the snapshot, not in the configuration",
          planned.id);
    const std::vector<MergedMember> members = members_of(index, *services_, at);
    check(members.size() == planned.members.size(), "pool {} has {} members, not {}", planned.id,
          members.size(), planned.members.size());
    Pool& pool = pools_.emplace_back();
    pool.pool = &services_->pools[at];
    for (const MergedMember& member : members) {
      const MemberId id{number, static_cast<uint32_t>(pool.members.size())};
      std::vector<Watched>& entries = pool.members.emplace_back();
      for (const auto& [from, backend] : member.entries) {
        entries.push_back({from, backend, checks.source_of(*from, *backend)});
        const HealthSource& source = entries.back().source;
        if (source.kind == HealthSource::Kind::check) by_check_[source.check].push_back(id);
        by_address_[key_of(backend->ip)].push_back(id);
      }
    }
  }
  const auto unique = [](std::vector<MemberId>& ids) {
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  };
  for (auto& [key, ids] : by_check_) unique(ids);
  for (auto& [key, ids] : by_address_) unique(ids);
}

const std::vector<MemberId>& Roster::of(const health::Check& check) const {
  static const std::vector<MemberId> none;
  const auto found = by_check_.find(check);
  return found == by_check_.end() ? none : found->second;
}

const std::vector<MemberId>& Roster::of(const config::IpAddress& address) const {
  static const std::vector<MemberId> none;
  const auto found = by_address_.find(key_of(address));
  return found == by_address_.end() ? none : found->second;
}

}  // namespace fairlead::controller
