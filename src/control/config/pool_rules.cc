// SPDX-License-Identifier: MIT
// Pools: each by itself, then, if their includes are sound, together with what they include.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "control/config/limits.h"
#include "control/config/mtu.h"
#include "control/config/names.h"
#include "control/config/rules.h"

namespace fairlead::config {
namespace {

using core::Family;
using core::Method;

void sound_pool(const Rules& rules, size_t i) {
  const Pool& pool = rules.services.pools[i];
  for (size_t j = 0; j < pool.include.size(); j++) {
    rules.known_pool({"pools", i, "include", j}, pool.include[j]);
  }
  if (pool.snat && pool.method != Method::nat && !rules.broken({"pools", i, "method"})) {
    rules.problem({"pools", i, "snat"}, fmt::format("is true with method {}, expected method nat",
                                                    name_of(method_names, pool.method)));
  }
}

void few_slots(const Rules& rules) {
  uint64_t count = 0;
  for (size_t i = 0; i < rules.services.pools.size(); i++) {
    count += rules.services.pools[i].table_size;
    if (count <= limits::slots) continue;
    rules.problem({"pools", i, "table_size"},
                  fmt::format("makes {} slots, expected at most {} in all pools; 100 for each "
                              "backend are plenty",
                              count, limits::slots));
    return;
  }
}

// "a -> b -> a", with a gap where it is long.
std::string in_words(const Rules& rules, const std::vector<uint32_t>& cycle) {
  constexpr size_t most = 16;
  std::string text = rules.services.pools[cycle.front()].id;
  for (size_t i = 1; i < cycle.size(); i++) {
    if (i >= most && i + 1 < cycle.size()) continue;
    text += (i > most ? " -> ... -> " : " -> ") + rules.services.pools[cycle[i]].id;
  }
  return text;
}

bool no_cycles(const Rules& rules) {
  const std::vector<std::vector<uint32_t>> cycles = rules.pools.cycles();
  for (const std::vector<uint32_t>& cycle : cycles) {
    const size_t last = cycle[cycle.size() - 2];
    const std::string& closing = rules.services.pools[cycle.back()].id;
    const std::vector<std::string>& names = rules.services.pools[last].include;
    const auto place = static_cast<size_t>(std::ranges::find(names, closing) - names.begin());
    rules.problem({"pools", last, "include", place},
                  fmt::format("closes a cycle: {}, expected pools that do not include themselves",
                              in_words(rules, cycle)));
  }
  return cycles.empty();
}

size_t backends_of(const Rules& rules, size_t pool) {
  size_t count = 0;
  for (const uint32_t part : rules.pools.with_included(static_cast<uint32_t>(pool))) {
    count += rules.services.pools[part].backends.size();
  }
  return count;
}

bool few_backends(const Rules& rules) {
  size_t count = 0;
  for (size_t i = 0; i < rules.services.pools.size(); i++) {
    count += backends_of(rules, i);
    if (count <= core::limits::backends) continue;
    rules.problem({"pools", i},
                  fmt::format("makes {} backends of pools, expected at most {} in all, those of "
                              "included pools counted each time",
                              count, core::limits::backends));
    return false;
  }
  return true;
}

void enough_backends(const Rules& rules, size_t i) {
  const Pool& pool = rules.services.pools[i];
  const size_t count = backends_of(rules, i);
  const bool unknown_include = std::ranges::any_of(
      pool.include, [&](const std::string& id) { return rules.pools.find(id) == PoolIndex::none; });
  if (count == 0 && !unknown_include && !rules.broken({"pools", i, "backends"}) &&
      !rules.broken({"pools", i, "include"})) {
    rules.problem({"pools", i, "backends"},
                  "no backends here nor in an included pool, expected at least one");
  }
  if (count > pool.table_size && !rules.broken({"pools", i, "table_size"})) {
    rules.problem({"pools", i, "table_size"},
                  fmt::format("is {}, less than the {} backends, expected a slot for each, better "
                              "100",
                              pool.table_size, count));
  }
}

void sound_backends(const Rules& rules, size_t i, std::set<Family>& without_source) {
  const Pool& pool = rules.services.pools[i];
  const bool needs_source = is_tunnel(pool.method) || pool.snat;
  rules.each_backend(i, [&](const Backend& backend, Path path) {
    const std::string via = path[1].index == i ? "" : fmt::format(" of pool \"{}\"", pool.id);
    path.emplace_back("port");
    if (pool.method == Method::nat && backend.port == 0 && !rules.broken(path)) {
      rules.problem(path, "missing, expected the port for method nat" + via);
    }
    path.back() = "ip";
    const Family family = backend.ip.family;
    const bool v6 = family == Family::v6;
    const auto& source = v6 ? rules.node.node.address6 : rules.node.node.address;
    if (!needs_source || source || !without_source.insert(family).second) return;
    rules.problem(path, fmt::format("is an {} backend{} but this node has no {} address, expected "
                                    "{} in node.toml: the source of packets to it",
                                    name_of(family), via, name_of(family),
                                    v6 ? "node.address6" : "node.address"));
  });
}

}  // namespace

bool check_pools(const Rules& rules) {
  const size_t count = rules.services.pools.size();
  rules.unique_ids("pools", rules.services.pools);
  for (size_t i = 0; i < count; i++) sound_pool(rules, i);
  few_slots(rules);
  if (!no_cycles(rules) || !few_backends(rules)) return false;
  std::set<Family> without_source;  // reported once: it is mended once, in node.toml
  for (size_t i = 0; i < count; i++) {
    if (rules.broken({"pools", i})) continue;
    enough_backends(rules, i);
    if (!rules.broken({"pools", i, "method"})) sound_backends(rules, i, without_source);
  }
  return true;
}

}  // namespace fairlead::config
