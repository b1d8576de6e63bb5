// SPDX-License-Identifier: MIT
// The in-kernel engine: packets are forwarded by a BPF program in the NIC's driver, this process
// only fills its tables and reads its counters.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace fairlead::xdp {

// Loads the program and attaches it to the interface: from then on packets pass through it, and
// since nothing is published yet all of them reach the host. Error: one line with the remedy.
Result<std::unique_ptr<engine::Engine>> make(const engine::Options& options);

}  // namespace fairlead::xdp
