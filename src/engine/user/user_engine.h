// SPDX-License-Identifier: MIT
// The user-space engine: an XDP stub sends VIP traffic to one AF_XDP socket per receive queue, and
// a worker thread per socket runs the core's path on it. Everything else stays with the host's
// stack.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace fairlead::user {

// Attaches the stub, opens the sockets and starts the workers. Since nothing is published yet, all
// packets reach the host. Error: one line with the remedy. Destroying the engine gives the
// interface back to the host first, then stops the workers.
Result<std::unique_ptr<engine::Engine>> make(const engine::Options& options);

}  // namespace fairlead::user
