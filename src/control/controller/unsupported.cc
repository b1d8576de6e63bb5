// SPDX-License-Identifier: MIT
#include "control/controller/unsupported.h"

#include <fmt/format.h>

#include <utility>

#include "control/config/limits.h"
#include "control/config/names.h"

namespace fairlead::controller {
namespace {

class Finder {
 public:
  Unsupported found;

  void look_at(const config::NodeConfig& node) {
    if (node.forwarder.layout == config::Layout::pipeline) {
      warn("forwarder.layout: \"pipeline\"", "it runs as \"run_to_completion\"");
    }
    if (node.bgp) warn("bgp", "no VIP is announced");
  }

  void look_at(const config::Services& services) {
    for (size_t i = 0; i < services.vips.size(); i++) {
      const std::vector<config::Service>& list = services.vips[i].services;
      for (size_t j = 0; j < list.size(); j++) {
        look_at(list[j], fmt::format("vips[{}].services[{}]", i, j));
      }
    }
  }

 private:
  void look_at(const config::Service& service, const std::string& place) {
    if (service.scheduler != config::Scheduler::maglev) {
      refuse(fmt::format("{}.scheduler: \"{}\"", place,
                         config::name_of(config::scheduler_names, service.scheduler)));
    }
    if (!service.routes.empty()) refuse(place + ".routes");
    if (!service.split.empty()) refuse(place + ".split");
    if (service.tracking == config::Tracking::exceptions && !told_tracking_) {
      told_tracking_ = true;
      warn(place + ".tracking: \"exceptions\"", "all flows are remembered");
    }
  }

  void refuse(const std::string& what) {
    if (found.errors.size() == config::limits::problems) return;
    found.errors.push_back(what + ": this version does not do that");
  }
  void warn(const std::string& what, const char* instead) {
    found.warnings.push_back(what + ": this version does not do that; " + instead);
  }

  bool told_tracking_ = false;  // once is enough
};

}  // namespace

Unsupported unsupported(const config::NodeConfig& node, const config::Services& services) {
  Finder finder;
  finder.look_at(node);
  finder.look_at(services);
  return std::move(finder.found);
}

}  // namespace fairlead::controller
