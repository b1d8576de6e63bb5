// SPDX-License-Identifier: MIT
// VIPs and their services.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "control/config/address.h"
#include "control/config/names.h"
#include "control/config/rules.h"

namespace fairlead::config {
namespace {

void unique_addresses(const Rules& rules) {
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < rules.services.vips.size(); i++) {
    const Path path{"vips", i, "address"};
    if (rules.broken(path)) continue;
    const std::string address = to_text(rules.services.vips[i].address);
    const auto [found, fresh] = first.try_emplace(address, i);
    if (fresh) continue;
    rules.problem(path, fmt::format("is \"{}\" like that of vips[{}] in line {}, expected one VIP "
                                    "for each address, with all its services",
                                    address, found->second,
                                    rules.line_of({"vips", found->second, "address"})));
  }
}

void few_prefix_lengths(const Rules& rules) {
  std::map<core::Family, std::set<uint8_t>> lengths;
  for (size_t i = 0; i < rules.services.vips.size(); i++) {
    const Path path{"vips", i, "address"};
    const Prefix& prefix = rules.services.vips[i].address;
    if (is_single(prefix) || rules.broken(path)) continue;
    std::set<uint8_t>& known = lengths[prefix.address.family];
    if (!known.insert(prefix.length).second) continue;
    if (known.size() <= core::limits::prefix_lengths) continue;
    rules.problem(path, fmt::format("is \"{}\", prefix length {} of {}, expected at most {} "
                                    "different ones",
                                    to_text(prefix), known.size(), name_of(prefix.address.family),
                                    core::limits::prefix_lengths));
  }
}

void few_services(const Rules& rules) {
  size_t count = 0;
  for (size_t i = 0; i < rules.services.vips.size(); i++) {
    count += rules.services.vips[i].services.size();
    if (count <= core::limits::services) continue;
    rules.problem({"vips", i}, fmt::format("makes {} services, expected at most {} in all", count,
                                           core::limits::services));
    return;
  }
}

void not_the_node(const Rules& rules, size_t vip) {
  const Prefix& prefix = rules.services.vips[vip].address;
  for (const auto& own : {rules.node.node.address, rules.node.node.address6}) {
    if (!own || !is_single(prefix) || prefix.address != *own) continue;
    rules.problem({"vips", vip, "address"},
                  fmt::format("is \"{}\", the node's own address, expected one that only clients "
                              "use",
                              to_text(prefix)));
  }
}

void unique_services(const Rules& rules, size_t vip) {
  const std::vector<Service>& services = rules.services.vips[vip].services;
  std::map<std::pair<uint8_t, uint16_t>, size_t> first;
  for (size_t j = 0; j < services.size(); j++) {
    const Path path{"vips", vip, "services", j};
    if (rules.broken({"vips", vip, "services", j, "protocol"}) ||
        rules.broken({"vips", vip, "services", j, "port"})) {
      continue;
    }
    const Service& service = services[j];
    const auto [found, fresh] = first.try_emplace({service.protocol, service.port}, j);
    if (fresh) continue;
    rules.problem(
        path, fmt::format("is {}/{} like services[{}] in line {}, expected one service for "
                          "each protocol and port",
                          name_of(protocol_names, service.protocol), service.port, found->second,
                          rules.line_of({"vips", vip, "services", found->second})));
  }
}

void sound_service(const Rules& rules, size_t vip, size_t number) {
  const Service& service = rules.services.vips[vip].services[number];
  const auto at = [&](std::string_view key) { return Path{"vips", vip, "services", number, key}; };
  if (service.protocol == 0 && service.port != 0 && !rules.broken(at("protocol")) &&
      !rules.broken(at("port"))) {
    rules.problem(at("port"),
                  fmt::format("is {}, expected 0: protocol any has no ports", service.port));
  }
  if (service.tracking == Tracking::exceptions && service.scheduler != Scheduler::maglev) {
    rules.problem(at("tracking"),
                  fmt::format("is \"exceptions\" with scheduler {}, expected \"all\": only maglev "
                              "says where a flow is without a record",
                              name_of(scheduler_names, service.scheduler)));
  }
  if (service.affinity == Affinity::client_ip && service.scheduler != Scheduler::maglev) {
    rules.problem(at("affinity"),
                  fmt::format("is \"client_ip\" with scheduler {}, expected \"flow\": only maglev "
                              "gives all flows of a client to one backend",
                              name_of(scheduler_names, service.scheduler)));
  }
  const size_t branches = service.routes.size() + service.split.size();
  if (branches >= core::limits::branches) {
    rules.problem(at(service.routes.empty() ? "split" : "routes"),
                  fmt::format("makes {} branches of the service together with its {}, expected at "
                              "most {}",
                              branches, service.routes.empty() ? "routes" : "split",
                              core::limits::branches - 1));
  }
  const auto weighs = [](const Branch& branch) { return branch.weight > 0; };
  if (!service.split.empty() && !rules.broken(at("split")) &&
      std::ranges::none_of(service.split, weighs)) {
    rules.problem(at("split"), "has only branches of weight 0, expected one that takes flows");
  }
  for (const Use& use : uses_of(service, vip, number)) rules.known_pool(use.path, *use.pool);
}

}  // namespace

void check_vips(const Rules& rules) {
  rules.unique_ids("vips", rules.services.vips);
  unique_addresses(rules);
  few_prefix_lengths(rules);
  few_services(rules);
  for (size_t i = 0; i < rules.services.vips.size(); i++) {
    not_the_node(rules, i);
    unique_services(rules, i);
    for (size_t j = 0; j < rules.services.vips[i].services.size(); j++) sound_service(rules, i, j);
  }
}

}  // namespace fairlead::config
