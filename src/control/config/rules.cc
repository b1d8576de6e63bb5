// SPDX-License-Identifier: MIT
#include "control/config/rules.h"

#include "control/config/suggest.h"

namespace fairlead::config {

void Rules::known_pool(const Path& path, const std::string& id) const {
  if (pools.find(id) != PoolIndex::none || broken(path)) return;
  const std::string hint =
      reader.full() ? "" : suggestion(id, pool_ids, "expected the id of a pool");
  problem(path, fmt::format("there is no pool {}, {}", in_quotes(id), hint));
}

std::vector<Use> uses_of(const Service& service, size_t vip, size_t number) {
  std::vector<Use> uses{{{"vips", vip, "services", number, "backend_pool"}, &service.backend_pool}};
  for (size_t i = 0; i < service.routes.size(); i++) {
    uses.push_back({{"vips", vip, "services", number, "routes", i, "backend_pool"},
                    &service.routes[i].backend_pool});
  }
  for (size_t i = 0; i < service.split.size(); i++) {
    uses.push_back({{"vips", vip, "services", number, "split", i, "backend_pool"},
                    &service.split[i].backend_pool});
  }
  return uses;
}

std::string_view name_of(core::Family family) {
  return family == core::Family::v6 ? "IPv6" : "IPv4";
}

void check_services(Reader& reader, const Value& root, const NodeConfig& node,
                    const Services& services) {
  const PoolIndex pools(services.pools);
  Rules rules{reader, root, node, services, pools, {}};
  for (const Pool& pool : services.pools) rules.pool_ids.push_back(pool.id);
  check_addresses(rules);
  check_vips(rules);
  if (check_pools(rules)) check_reach(rules);
}

}  // namespace fairlead::config
