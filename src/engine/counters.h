// SPDX-License-Identifier: MIT
// Sums of what the workers of an engine have counted, with names: the same for both engines, since
// both keep their records in a tables::Memory.
#pragma once

#include <span>

#include "engine/engine.h"
#include "tables/publisher.h"

namespace fairlead::engine {

// Workers write on while this reads: each number is right for some moment of the call. All memories
// are of one capacity: an engine whose slow path counts for itself has two.
Counters read_counters(std::span<const tables::Memory* const> memories,
                       const tables::Publisher& publisher);
Counters read_counters(const tables::Memory& memory, const tables::Publisher& publisher);

}  // namespace fairlead::engine
