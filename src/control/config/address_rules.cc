// SPDX-License-Identifier: MIT
// Addresses that cannot be a VIP or a backend, whatever else is right: those that no other host has
// or can reach, and those that would bring the packets back to this node, which would forward them
// again, and again.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "control/config/address.h"
#include "control/config/rules.h"

namespace fairlead::config {
namespace {

// Finds the VIP that an address belongs to.
class VipIndex {
 public:
  explicit VipIndex(const Rules& rules) {
    for (size_t i = 0; i < rules.services.vips.size(); i++) {
      if (rules.broken({"vips", i, "address"})) continue;
      const Prefix& prefix = rules.services.vips[i].address;
      by_length_[{prefix.address.family, prefix.length}].emplace(prefix.address, i);
    }
  }

  std::optional<size_t> find(const IpAddress& address) const {
    for (const auto& [kind, vips] : by_length_) {
      if (kind.first != address.family) continue;
      const auto found = vips.find(masked({address, kind.second}).address);
      if (found != vips.end()) return found->second;
    }
    return std::nullopt;
  }

 private:
  std::map<std::pair<core::Family, uint8_t>, std::map<IpAddress, size_t>> by_length_;
};

void reachable_vip(const Rules& rules, size_t i) {
  const Path path{"vips", i, "address"};
  if (rules.broken(path)) return;
  const Prefix& prefix = rules.services.vips[i].address;
  const std::string_view kind = special_kind(prefix);
  if (kind.empty()) return;
  rules.problem(
      path, fmt::format("is \"{}\", {} {}, expected what clients on other hosts can reach",
                        to_text(prefix), is_single(prefix) ? "of the kind" : "which has", kind));
}

void another_host(const Rules& rules, const VipIndex& vips, const Backend& backend, Path path) {
  path.emplace_back("ip");
  const std::string text = to_text(backend.ip);
  const Prefix single{backend.ip, bits_of(backend.ip.family)};
  if (const std::string_view kind = special_kind(single); !kind.empty()) {
    rules.problem(path, fmt::format("is \"{}\", of the kind {}, expected what this node can reach "
                                    "on another host",
                                    text, kind));
    return;
  }
  for (const auto& own : {rules.node.node.address, rules.node.node.address6}) {
    if (!own || backend.ip != *own) continue;
    rules.problem(path,
                  fmt::format("is \"{}\", the node's own address, expected another host's", text));
    return;
  }
  if (const auto vip = vips.find(backend.ip)) {
    rules.problem(path,
                  fmt::format("is \"{}\", an address of the VIP in line {}: its packets would come "
                              "back to the nodes, expected an address of the backend's own",
                              text, rules.line_of({"vips", *vip, "address"})));
  }
}

}  // namespace

void check_addresses(const Rules& rules) {
  const VipIndex vips(rules);
  for (size_t i = 0; i < rules.services.vips.size(); i++) reachable_vip(rules, i);
  for (size_t i = 0; i < rules.services.pools.size(); i++) {
    const std::vector<Backend>& backends = rules.services.pools[i].backends;
    for (size_t j = 0; j < backends.size(); j++) {
      if (backends[j].ip.family == core::Family::none) continue;
      another_host(rules, vips, backends[j], {"pools", i, "backends", j});
    }
  }
}

}  // namespace fairlead::config
