// SPDX-License-Identifier: MIT
#include "control/controller/unsupported.h"

#include <fmt/format.h>

namespace fairlead::controller {

std::vector<std::string> unsupported(const config::NodeConfig& node,
                                     const config::Services& services) {
  std::vector<std::string> found;
  const auto without = [&](const std::string& what, const char* instead) {
    found.push_back(what + ": this version does not do that; " + instead);
  };
  if (node.forwarder.layout == config::Layout::pipeline) {
    without("forwarder.layout: \"pipeline\"", "it runs as \"run_to_completion\"");
  }
  if (node.bgp) without("bgp", "no VIP is announced");
  for (size_t i = 0; i < services.vips.size(); i++) {
    const std::vector<config::Service>& list = services.vips[i].services;
    for (size_t j = 0; j < list.size(); j++) {
      if (list[j].tracking != config::Tracking::exceptions) continue;
      without(fmt::format("vips[{}].services[{}].tracking: \"exceptions\"", i, j),
              "all flows are remembered");
      return found;  // once is enough
    }
  }
  return found;
}

}  // namespace fairlead::controller
