// SPDX-License-Identifier: MIT
#include "control/controller/path_mtu_told.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "base/clock.h"
#include "control/config/address.h"
#include "control/config/limits.h"
#include "control/config/mtu.h"
#include "control/limits.h"

namespace fairlead::controller {
namespace {

bool serves_ipv6(const tables::Snapshot& snapshot, uint32_t pool) {
  return std::ranges::any_of(snapshot.services, [&](const tables::Service& service) {
    return service.pool == pool && snapshot.vips[service.vip].family == core::Family::v6;
  });
}

// A tunnel to this backend that has no room for the IPv6 packets of its services.
const tables::Pool* cramped_pool(const path_mtu::Change& change, const tables::Snapshot& snapshot) {
  for (uint32_t p = 0; p < snapshot.pools.size(); p++) {
    const tables::Pool& pool = snapshot.pools[p];
    const uint32_t needed =
        config::limits::ipv6_mtu + config::overhead(pool.method, change.backend.family);
    if (!config::is_tunnel(pool.method) || change.mtu >= needed || !serves_ipv6(snapshot, p)) {
      continue;
    }
    const auto is_backend = [&](const tables::Member& member) {
      return config::IpAddress{member.identity.family, member.identity.address} == change.backend;
    };
    if (std::ranges::any_of(pool.members, is_backend)) return &pool;
  }
  return nullptr;
}

}  // namespace

Tell tell_of(const path_mtu::Change& change, const tables::Snapshot& snapshot) {
  std::string text =
      fmt::format("path MTU to {} is {}", config::to_text(change.backend), change.mtu);
  if (change.told_by.family == core::Family::none) {
    return {log::Level::info, fmt::format("{} again (nothing less was told for {})", text,
                                          to_text(path_mtu::limits::lifetime))};
  }
  text += fmt::format(" (told by {})", config::to_text(change.told_by));
  const tables::Pool* pool = cramped_pool(change, snapshot);
  if (!pool) return {log::Level::info, std::move(text)};
  return {log::Level::warning,
          fmt::format(
              "{}: IPv6 services of pool {} need {}, their larger packets are lost; mend "
              "that link",
              text, pool->id,
              config::limits::ipv6_mtu + config::overhead(pool->method, change.backend.family))};
}

}  // namespace fairlead::controller
