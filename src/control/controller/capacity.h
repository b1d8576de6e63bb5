// SPDX-License-Identifier: MIT
// How large the arrays of an engine have to be for a configuration.
#pragma once

#include <cstdint>
#include <span>

#include "control/config/model.h"
#include "tables/memory.h"

namespace fairlead::controller {

// Room for all of the configurations one after the other, with what the publisher keeps for a while
// of each that was replaced: ids that connections may still name, and Maglev tables, which are
// exchanged by writing the new beside the old. Never less than the defaults of tables::Capacity.
tables::Capacity capacity_for(const config::Forwarder& forwarder, uint32_t workers,
                              std::span<const config::Services* const> configurations);

}  // namespace fairlead::controller
