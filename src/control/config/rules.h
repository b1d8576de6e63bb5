// SPDX-License-Identifier: MIT
// What the parts of services.json demand of each other, of the packet path's limits and of the
// node, in three files: the VIPs and their services, the pools, and what services demand of the
// pools that their flows can reach. A rule looks at one thing and words its own problem; what is
// broken already it leaves alone, since broken values hold defaults.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/config/includes.h"
#include "control/config/reader.h"

namespace fairlead::config {

struct Rules {
  Reader& reader;
  const Value& root;
  const NodeConfig& node;
  const Services& services;
  const PoolIndex& pools;
  std::vector<std::string_view> pool_ids;

  void problem(const Path& path, std::string message) const {
    reader.problem(root, path, std::move(message));
  }
  bool broken(const Path& path) const { return reader.broken(path); }
  uint32_t line_of(const Path& path) const { return find(root, path).line; }

  void known_pool(const Path& path, const std::string& id) const;
  template <class T>
  void unique_ids(std::string_view list, const std::vector<T>& things) const;

  // Calls function(backend, its path) for every backend of a pool, those of included pools too,
  // whose address is right.
  template <class Function>
  void each_backend(size_t pool, Function function) const;
};

// A pool that a service names, and the key that does.
struct Use {
  Path path;
  const std::string* pool;
};

std::vector<Use> uses_of(const Service& service, size_t vip, size_t number);

std::string_view name_of(core::Family family);

void check_addresses(const Rules& rules);
void check_vips(const Rules& rules);
bool check_pools(const Rules& rules);  // false: includes are not sound, or too many backends
void check_reach(const Rules& rules);  // only if they are

// All of them.
void check_services(Reader& reader, const Value& root, const NodeConfig& node,
                    const Services& services);

template <class T>
void Rules::unique_ids(std::string_view list, const std::vector<T>& things) const {
  std::unordered_map<std::string_view, size_t> first;
  for (size_t i = 0; i < things.size(); i++) {
    const Path path{list, i, "id"};
    if (broken(path)) continue;
    const auto [found, fresh] = first.try_emplace(things[i].id, i);
    if (fresh) continue;
    problem(path,
            fmt::format("is \"{}\" like {}[{}] in line {}, expected an id of its own", things[i].id,
                        list, found->second, line_of({list, found->second, "id"})));
  }
}

template <class Function>
void Rules::each_backend(size_t pool, Function function) const {
  for (const uint32_t part : pools.with_included(static_cast<uint32_t>(pool))) {
    const std::vector<Backend>& backends = services.pools[part].backends;
    for (size_t j = 0; j < backends.size(); j++) {
      if (backends[j].ip.family == core::Family::none) continue;
      function(backends[j], Path{"pools", size_t{part}, "backends", j});
    }
  }
}

}  // namespace fairlead::config
