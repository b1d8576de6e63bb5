// SPDX-License-Identifier: MIT
// Sums of what the workers of an engine have counted, with names: the same for both engines, since
// both keep their records in a tables::Memory.
#pragma once

#include "engine/engine.h"
#include "tables/publisher.h"

namespace fairlead::engine {

// Workers write on while this reads: each number is right for some moment of the call.
Counters read_counters(const tables::Memory& memory, const tables::Publisher& publisher);

}  // namespace fairlead::engine
