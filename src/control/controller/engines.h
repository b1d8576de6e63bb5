// SPDX-License-Identifier: MIT
// The engine that node.toml asks for, with room for the configuration and for what may come.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/config/model.h"
#include "engine/engine.h"

namespace fairlead::controller {

// From here on packets pass through the engine; all of them reach the host until it is given a
// snapshot. Error: one line with the remedy.
Result<std::unique_ptr<engine::Engine>> make_engine(const config::Forwarder& forwarder,
                                                    const config::Services& services);

}  // namespace fairlead::controller
