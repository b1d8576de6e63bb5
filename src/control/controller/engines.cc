// SPDX-License-Identifier: MIT
#include "control/controller/engines.h"

#include <algorithm>
#include <array>

#include "control/controller/capacity.h"
#include "engine/user/user_engine.h"
#include "engine/xdp/xdp_engine.h"

namespace fairlead::controller {
namespace {

constexpr uint32_t most_spare_slots = 1u << 27;  // 256 MiB: what the in-kernel engine can map

engine::Mode mode_of(config::XdpMode mode) {
  switch (mode) {
    case config::XdpMode::native: return engine::Mode::native;
    case config::XdpMode::generic: return engine::Mode::generic;
    case config::XdpMode::automatic: break;
  }
  return engine::Mode::automatic;
}

}  // namespace

Result<std::unique_ptr<engine::Engine>> make_engine(const config::Forwarder& forwarder,
                                                    const config::Services& services) {
  // Arrays do not grow while an engine runs, so there is room for as much again: what a reload
  // replaces stays for a while beside the new.
  const std::array once{&services};
  const std::array twice{&services, &services};
  const uint32_t workers = forwarder.num_threads;
  tables::Capacity capacity = capacity_for(forwarder, workers, twice);
  const uint32_t least_slots = capacity_for(forwarder, workers, once).slots;
  capacity.slots = std::max(least_slots, std::min(capacity.slots, most_spare_slots));
  const engine::Options options{
      .interface = forwarder.interface,
      .mode = mode_of(forwarder.xdp_mode),
      .workers = workers,
      .cpus = forwarder.cpu_affinity,
      .batch = forwarder.batch_size,
      .icmp_rate_limit = forwarder.icmp_rate_limit,
      .capacity = capacity,
  };
  return forwarder.engine == config::EngineKind::xdp ? xdp::make(options) : user::make(options);
}

}  // namespace fairlead::controller
