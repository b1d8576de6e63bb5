// SPDX-License-Identifier: MIT
#include "control/controller/members.h"

#include <algorithm>
#include <map>

#include "control/config/address.h"

namespace fairlead::controller {

tables::Identity identity_of(core::Method method, const config::Backend& backend) {
  const uint16_t port = method == core::Method::nat ? backend.port : uint16_t{0};
  return {backend.ip.bytes, backend.ip.family, port};
}

std::vector<MergedMember> members_of(const config::PoolIndex& index,
                                     const config::Services& services, uint32_t pool) {
  const core::Method method = services.pools[pool].method;
  std::map<tables::Identity, std::vector<Entry>> merged;
  for (const uint32_t part : index.with_included(pool)) {
    const config::Pool& from = services.pools[part];
    for (const config::Backend& backend : from.backends) {
      if (backend.state == config::BackendState::disabled) continue;
      merged[identity_of(method, backend)].push_back({&from, &backend});
    }
  }
  std::vector<MergedMember> members;
  members.reserve(merged.size());
  for (auto& [identity, entries] : merged) members.push_back({identity, std::move(entries)});
  return members;
}

uint32_t weight_of(const MergedMember& member) {
  uint32_t weight = 0;
  for (const Entry& entry : member.entries) weight = std::max(weight, entry.backend->weight);
  return weight;
}

bool is_draining(const MergedMember& member) {
  return std::ranges::all_of(member.entries, [](const Entry& entry) {
    return entry.backend->state == config::BackendState::draining;
  });
}

std::string name_of(const MergedMember& member) {
  const uint16_t port = member.entries.front().backend->port;
  const bool agreed = std::ranges::all_of(
      member.entries, [&](const Entry& entry) { return entry.backend->port == port; });
  const config::IpAddress address{member.identity.family, member.identity.address};
  return config::to_text(config::Endpoint{address, agreed ? port : uint16_t{0}});
}

}  // namespace fairlead::controller
