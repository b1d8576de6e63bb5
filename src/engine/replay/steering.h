// SPDX-License-Identifier: MIT
// Which worker a frame comes to, in place of the receive side scaling (RSS) of a network card: a
// hash of addresses, protocol and ports, so that all packets of a flow meet in one connection
// table.
//
// Two differences from a card. The key is fixed, so that a replay is the same everywhere; it is not
// hash_seed either, as workers would then have only their share of the lines of their table. And a
// first fragment, which shows its ports, goes with its flow, while cards send it by addresses
// alone: results do not depend on the number of workers then. Later fragments go by addresses; what
// is no IP packet goes to worker 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::replay {

uint32_t worker_of(std::span<std::byte> frame, uint32_t workers);

}  // namespace fairlead::replay
