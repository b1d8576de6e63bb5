// SPDX-License-Identifier: MIT
// The rules, in the order of the file: VIPs and their services, pools and their backends, and what
// a service demands of the pools that its flows can reach. A rule sees one thing and words its own
// problem. The later ones look at pools together with what they include, so they run only when the
// includes are sound.
#include "control/config/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "control/config/address.h"
#include "control/config/includes.h"
#include "control/config/limits.h"
#include "control/config/mtu.h"
#include "control/config/names.h"
#include "control/config/suggest.h"

namespace fairlead::config {
namespace {

using core::Family;
using core::Method;

std::string_view name_of(Family family) { return family == Family::v6 ? "IPv6" : "IPv4"; }

// A pool that a service names, and the key that does.
struct Use {
  Path path;
  const std::string* pool;
};

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

class Rules {
 public:
  Rules(Reader& reader, const Value& root, const NodeConfig& node, const Services& services)
      : reader_(reader), root_(root), node_(node), services_(services), pools_(services.pools) {
    for (const Pool& pool : services.pools) pool_ids_.push_back(pool.id);
  }

  void run() {
    unique_ids("vips", services_.vips);
    unique_ids("pools", services_.pools);
    unique_addresses();
    few_prefix_lengths();
    for (size_t i = 0; i < services_.vips.size(); i++) {
      not_the_node(i);
      unique_services(i);
      for (size_t j = 0; j < services_.vips[i].services.size(); j++) service(i, j);
    }
    few_services();
    for (size_t i = 0; i < services_.pools.size(); i++) pool(i);
    if (!no_cycles() || !few_backends()) return;
    for (size_t i = 0; i < services_.pools.size(); i++) whole_pool(i);
    for (size_t i = 0; i < services_.vips.size(); i++) {
      for (size_t j = 0; j < services_.vips[i].services.size(); j++) reachable_pools(i, j);
    }
  }

 private:
  void problem(const Path& path, std::string message) {
    reader_.problem(root_, path, std::move(message));
  }
  uint32_t line_of(const Path& path) const { return find(root_, path).line; }

  template <class T>
  void unique_ids(std::string_view list, const std::vector<T>& things) {
    std::unordered_map<std::string_view, size_t> first;
    for (size_t i = 0; i < things.size(); i++) {
      const Path path{list, i, "id"};
      if (reader_.broken(path)) continue;
      const auto [found, fresh] = first.try_emplace(things[i].id, i);
      if (fresh) continue;
      problem(path,
              fmt::format("is \"{}\" like {}[{}] in line {}, expected an id of its own",
                          things[i].id, list, found->second, line_of({list, found->second, "id"})));
    }
  }

  // VIPs.

  void unique_addresses() {
    std::map<std::string, size_t> first;
    for (size_t i = 0; i < services_.vips.size(); i++) {
      const Path path{"vips", i, "address"};
      if (reader_.broken(path)) continue;
      const std::string address = to_text(services_.vips[i].address);
      const auto [found, fresh] = first.try_emplace(address, i);
      if (fresh) continue;
      problem(path,
              fmt::format("is \"{}\" like that of vips[{}] in line {}, expected one VIP for "
                          "each address, with all its services",
                          address, found->second, line_of({"vips", found->second, "address"})));
    }
  }

  void few_prefix_lengths() {
    std::map<Family, std::set<uint8_t>> lengths;
    for (size_t i = 0; i < services_.vips.size(); i++) {
      const Prefix& prefix = services_.vips[i].address;
      if (is_single(prefix) || reader_.broken({"vips", i, "address"})) continue;
      std::set<uint8_t>& known = lengths[prefix.address.family];
      if (!known.insert(prefix.length).second) continue;
      if (known.size() <= core::limits::prefix_lengths) continue;
      problem({"vips", i, "address"},
              fmt::format("is \"{}\", prefix length {} of {}, expected at most {} different ones",
                          to_text(prefix), known.size(), name_of(prefix.address.family),
                          core::limits::prefix_lengths));
    }
  }

  void not_the_node(size_t i) {
    const Prefix& prefix = services_.vips[i].address;
    for (const auto& own : {node_.node.address, node_.node.address6}) {
      if (!own || !is_single(prefix) || prefix.address != *own) continue;
      problem({"vips", i, "address"}, fmt::format("is \"{}\", the node's own address, expected one "
                                                  "that only clients use",
                                                  to_text(prefix)));
    }
  }

  void unique_services(size_t vip) {
    const std::vector<Service>& services = services_.vips[vip].services;
    std::map<std::pair<uint8_t, uint16_t>, size_t> first;
    for (size_t j = 0; j < services.size(); j++) {
      const Path path{"vips", vip, "services", j};
      if (reader_.broken(path) || reader_.broken({"vips", vip, "services", j, "protocol"}) ||
          reader_.broken({"vips", vip, "services", j, "port"})) {
        continue;
      }
      const Service& service = services[j];
      const auto [found, fresh] = first.try_emplace({service.protocol, service.port}, j);
      if (fresh) continue;
      problem(path, fmt::format("is {}/{} like services[{}] in line {}, expected one service for "
                                "each protocol and port",
                                config::name_of(protocol_names, service.protocol), service.port,
                                found->second, line_of({"vips", vip, "services", found->second})));
    }
  }

  void few_services() {
    size_t count = 0;
    for (size_t i = 0; i < services_.vips.size(); i++) {
      count += services_.vips[i].services.size();
      if (count <= core::limits::services) continue;
      problem({"vips", i}, fmt::format("makes {} services, expected at most {} in all", count,
                                       core::limits::services));
      return;
    }
  }

  // Services.

  void service(size_t vip, size_t number) {
    const Service& service = services_.vips[vip].services[number];
    const auto at = [&](std::string_view key) {
      return Path{"vips", vip, "services", number, key};
    };
    if (service.protocol == 0 && service.port != 0 && !reader_.broken(at("protocol")) &&
        !reader_.broken(at("port"))) {
      problem(at("port"),
              fmt::format("is {}, expected 0: protocol any has no ports", service.port));
    }
    if (service.tracking == Tracking::exceptions && service.scheduler != Scheduler::maglev) {
      problem(at("tracking"), fmt::format("is \"exceptions\" with scheduler {}, expected \"all\": "
                                          "only maglev says where a flow is without a record",
                                          config::name_of(scheduler_names, service.scheduler)));
    }
    const auto weighs = [](const Branch& branch) { return branch.weight > 0; };
    if (!service.split.empty() && !reader_.broken(at("split")) &&
        std::ranges::none_of(service.split, weighs)) {
      problem(at("split"), "has only branches of weight 0, expected one that takes flows");
    }
    for (const Use& use : uses_of(service, vip, number)) known_pool(use.path, *use.pool);
  }

  void known_pool(const Path& path, const std::string& id) {
    if (pools_.find(id) != PoolIndex::none || reader_.broken(path)) return;
    const std::string hint =
        reader_.full() ? "" : suggestion(id, pool_ids_, "expected the id of a pool");
    problem(path, fmt::format("there is no pool {}, {}", in_quotes(id), hint));
  }

  // Pools, each by itself.

  void pool(size_t i) {
    const Pool& pool = services_.pools[i];
    for (size_t j = 0; j < pool.include.size(); j++)
      known_pool({"pools", i, "include", j}, pool.include[j]);
    if (pool.snat && pool.method != Method::nat && !reader_.broken({"pools", i, "method"})) {
      problem({"pools", i, "snat"}, fmt::format("is true with method {}, expected method nat",
                                                config::name_of(method_names, pool.method)));
    }
  }

  bool no_cycles() {
    const std::vector<std::vector<uint32_t>> cycles = pools_.cycles();
    for (const std::vector<uint32_t>& cycle : cycles) {
      const size_t last = cycle[cycle.size() - 2];
      const std::string& closing = services_.pools[cycle.back()].id;
      const std::vector<std::string>& names = services_.pools[last].include;
      const auto place = static_cast<size_t>(std::ranges::find(names, closing) - names.begin());
      problem({"pools", last, "include", place},
              fmt::format("closes a cycle: {}, expected pools that do not include themselves",
                          in_words(cycle)));
    }
    return cycles.empty();
  }

  std::string in_words(const std::vector<uint32_t>& cycle) const {
    constexpr size_t most = 16;
    std::string text = services_.pools[cycle.front()].id;
    for (size_t i = 1; i < cycle.size(); i++) {
      if (i >= most && i + 1 < cycle.size()) continue;
      text += (i > most ? " -> ... -> " : " -> ") + services_.pools[cycle[i]].id;
    }
    return text;
  }

  // Pools with what they include.

  bool few_backends() {
    size_t count = 0;
    for (size_t i = 0; i < services_.pools.size(); i++) {
      for (const uint32_t part : pools_.with_included(static_cast<uint32_t>(i))) {
        count += services_.pools[part].backends.size();
      }
      if (count <= core::limits::backends) continue;
      problem({"pools", i}, fmt::format("makes {} backends of pools, expected at most {} in all, "
                                        "those of included pools counted each time",
                                        count, core::limits::backends));
      return false;
    }
    return true;
  }

  // Calls function(backend, its path) for every backend of a pool whose address is right.
  template <class F>
  void each_backend(size_t pool, F function) const {
    for (const uint32_t part : pools_.with_included(static_cast<uint32_t>(pool))) {
      const std::vector<Backend>& backends = services_.pools[part].backends;
      for (size_t j = 0; j < backends.size(); j++) {
        if (backends[j].ip.family == Family::none) continue;
        function(backends[j], Path{"pools", size_t{part}, "backends", j});
      }
    }
  }

  void whole_pool(size_t i) {
    const Pool& pool = services_.pools[i];
    if (reader_.broken({"pools", i, "method"}) || reader_.broken({"pools", i})) return;
    std::set<std::pair<Family, bool>> told;
    size_t count = 0;
    for (const uint32_t part : pools_.with_included(static_cast<uint32_t>(i))) {
      count += services_.pools[part].backends.size();
    }
    each_backend(i, [&](const Backend& backend, Path path) {
      const std::string via =
          path[1].index == i ? "" : fmt::format(" of pool {}", in_quotes(pool.id));
      const bool v6 = backend.ip.family == Family::v6;
      if (pool.method == Method::nat && backend.port == 0) {
        path.push_back("port");
        if (!reader_.broken(path)) problem(path, "missing, expected the port for method nat" + via);
        path.pop_back();
      }
      const bool needs_source = is_tunnel(pool.method) || pool.snat;
      const bool has_source = v6 ? node_.node.address6.has_value() : node_.node.address.has_value();
      if (!needs_source || has_source) return;
      if (!told.insert({backend.ip.family, true}).second) return;
      path.push_back("ip");
      problem(path,
              fmt::format("is an {} backend{} but this node has no {} address, expected {} in "
                          "node.toml: the source of packets to it",
                          name_of(backend.ip.family), via, name_of(backend.ip.family),
                          v6 ? "node.address6" : "node.address"));
    });
    if (count == 0 && !reader_.broken({"pools", i, "backends"}) &&
        !reader_.broken({"pools", i, "include"})) {
      problem({"pools", i, "backends"},
              "no backends here nor in an included pool, expected at least one");
    }
    if (count > pool.table_size && !reader_.broken({"pools", i, "table_size"})) {
      problem({"pools", i, "table_size"},
              fmt::format("is {}, less than the {} backends, expected a slot for each, better 100",
                          pool.table_size, count));
    }
  }

  // What a service demands of its pools.

  void reachable_pools(size_t vip, size_t number) {
    if (reader_.broken({"vips", vip, "address"})) return;
    const Family family = services_.vips[vip].address.address.family;
    for (const Use& use : uses_of(services_.vips[vip].services[number], vip, number)) {
      const uint32_t pool = pools_.find(*use.pool);
      if (pool == PoolIndex::none || reader_.broken({"pools", size_t{pool}, "method"})) continue;
      const auto [known, fresh] = families_.try_emplace(pool);
      if (fresh) {
        each_backend(pool, [&](const Backend& backend, const Path& path) {
          known->second.try_emplace(backend.ip.family, path);
        });
      }
      for (const auto& [outer, path] : known->second) {
        same_family(use, services_.pools[pool], family, outer, path);
        large_enough(use, services_.pools[pool].method, family, outer);
      }
    }
  }

  void same_family(const Use& use, const Pool& pool, Family vip, Family backend, const Path& path) {
    if (pool.method != Method::nat || vip == backend) return;
    problem(use.path,
            fmt::format("pool {} is of method nat and has an {} backend in line {}, "
                        "expected only {} ones like the VIP",
                        in_quotes(pool.id), name_of(backend), line_of(path), name_of(vip)));
  }

  void large_enough(const Use& use, Method method, Family inner, Family outer) {
    const uint32_t mtu = node_.forwarder.network_mtu;
    const uint32_t left = mtu - overhead(method, outer);
    const uint32_t least =
        inner == Family::v6 ? limits::ipv6_mtu : limits::smallest_mss + ip_tcp_bytes(Family::v4);
    if (left >= least || !told_mtu_.insert({method, inner, outer}).second) return;
    const std::string why = inner == Family::v6
                                ? fmt::format("IPv6 needs {}", limits::ipv6_mtu)
                                : fmt::format("an MSS of {}", left - ip_tcp_bytes(Family::v4));
    problem(use.path,
            fmt::format("network_mtu = {} leaves {} packets of {} bytes by {} to {} backends ({}), "
                        "expected at least {} in node.toml",
                        mtu, name_of(inner), left, config::name_of(method_names, method),
                        name_of(outer), why, least + overhead(method, outer)));
  }

  Reader& reader_;
  const Value& root_;
  const NodeConfig& node_;
  const Services& services_;
  PoolIndex pools_;
  std::vector<std::string_view> pool_ids_;
  // Of each pool that was asked for: the families of its backends, and one of each.
  std::unordered_map<uint32_t, std::map<Family, Path>> families_;
  std::set<std::tuple<Method, Family, Family>> told_mtu_;
};

}  // namespace

void check_services(Reader& reader, const Value& root, const NodeConfig& node,
                    const Services& services) {
  Rules(reader, root, node, services).run();
}

}  // namespace fairlead::config
