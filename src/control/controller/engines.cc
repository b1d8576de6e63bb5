// SPDX-License-Identifier: MIT
#include "control/controller/engines.h"

#include <array>

#include "control/controller/capacity.h"
#include "engine/user/user_engine.h"
#include "engine/xdp/xdp_engine.h"

namespace fairlead::controller {
namespace {

engine::Mode mode_of(config::XdpMode mode) {
  switch (mode) {
    case config::XdpMode::native: return engine::Mode::native;
    case config::XdpMode::generic: return engine::Mode::generic;
    case config::XdpMode::automatic: break;
  }
  return engine::Mode::automatic;
}

}  // namespace

Result<std::unique_ptr<engine::Engine>> make_engine(const config::Configuration& configuration) {
  const config::Forwarder& forwarder = configuration.node.forwarder;
  // Arrays do not grow while an engine runs, so there is room for the configuration several times:
  // for its reloads and for its growth.
  const config::Services* services = &configuration.services;
  const std::array room{services, services, services, services};
  const engine::Options options{
      .interface = forwarder.interface,
      .mode = mode_of(forwarder.xdp_mode),
      .workers = forwarder.num_threads,
      .cpus = forwarder.cpu_affinity,
      .batch = forwarder.batch_size,
      .icmp_rate_limit = forwarder.icmp_rate_limit,
      .capacity = capacity_for(forwarder, forwarder.num_threads, room),
  };
  return forwarder.engine == config::EngineKind::xdp ? xdp::make(options) : user::make(options);
}

}  // namespace fairlead::controller
