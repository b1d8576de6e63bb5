// SPDX-License-Identifier: MIT
// What a service demands of the pools that its flows can reach: families that method nat can join,
// and room for its packets in the tunnel.
#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "control/config/limits.h"
#include "control/config/mtu.h"
#include "control/config/names.h"
#include "control/config/rules.h"

namespace fairlead::config {
namespace {

using core::Family;
using core::Method;

using Families = std::map<Family, Path>;  // of the backends of a pool, and one of each

Families families_of(const Rules& rules, uint32_t pool) {
  Families families;
  rules.each_backend(pool, [&](const Backend& backend, const Path& path) {
    families.try_emplace(backend.ip.family, path);
  });
  return families;
}

// CONTRACT section 7.
void large_enough(const Rules& rules, const Use& use, Method method, Family inner, Family outer) {
  const uint32_t mtu = rules.node.forwarder.network_mtu;
  const uint32_t left = mtu - overhead(method, outer);
  const uint32_t least =
      inner == Family::v6 ? limits::ipv6_mtu : limits::smallest_mss + ip_tcp_bytes(Family::v4);
  if (left >= least) return;
  const std::string why = inner == Family::v6
                              ? fmt::format("IPv6 needs {}", limits::ipv6_mtu)
                              : fmt::format("an MSS of {}", left - ip_tcp_bytes(Family::v4));
  rules.problem(use.path,
                fmt::format("network_mtu = {} leaves {} packets of {} bytes by {} to {} backends "
                            "({}), expected at least {} in node.toml",
                            mtu, name_of(inner), left, name_of(method_names, method),
                            name_of(outer), why, least + overhead(method, outer)));
}

void same_family(const Rules& rules, const Use& use, const Pool& pool, Family vip, Family backend,
                 const Path& place) {
  if (pool.method != Method::nat || vip == backend) return;
  rules.problem(use.path,
                fmt::format("pool \"{}\" is of method nat and has an {} backend in line "
                            "{} besides others, expected only {} ones like the VIP",
                            pool.id, name_of(backend), rules.line_of(place), name_of(vip)));
}

class Reach {
 public:
  explicit Reach(const Rules& rules) : rules_(rules) {}

  void check(size_t vip, size_t number) {
    const Family family = rules_.services.vips[vip].address.address.family;
    const Service& service = rules_.services.vips[vip].services[number];
    for (const Use& use : uses_of(service, vip, number)) {
      const uint32_t pool = rules_.pools.find(*use.pool);
      if (pool == PoolIndex::none || rules_.broken({"pools", size_t{pool}, "method"})) continue;
      const auto [known, fresh] = families_.try_emplace(pool);
      if (fresh) known->second = families_of(rules_, pool);
      const Method method = rules_.services.pools[pool].method;
      for (const auto& [outer, place] : known->second) {
        if (known->second.size() > 1) {
          same_family(rules_, use, rules_.services.pools[pool], family, outer, place);
        }
        if (seen_.insert({method, family, outer}).second) {
          large_enough(rules_, use, method, family, outer);
        }
      }
    }
  }

 private:
  const Rules& rules_;
  std::unordered_map<uint32_t, Families> families_;  // of the pools that were reached
  std::set<std::tuple<Method, Family, Family>> seen_;
};

}  // namespace

void check_reach(const Rules& rules) {
  Reach reach(rules);
  for (size_t i = 0; i < rules.services.vips.size(); i++) {
    if (rules.broken({"vips", i, "address"})) continue;
    for (size_t j = 0; j < rules.services.vips[i].services.size(); j++) reach.check(i, j);
  }
}

}  // namespace fairlead::config
