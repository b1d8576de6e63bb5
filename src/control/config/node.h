// SPDX-License-Identifier: MIT
// Inside of the library: reading that keeps what is right of a file that has problems.
#pragma once

#include <string_view>

#include "control/config/reader.h"
#include "control/config/types.h"

namespace fairlead::config {

// Types that both files use.
using CheckInterval = DurationFrom<10, 3'600'000>;
using CheckThreshold = Number<1, 100>;

NodeConfig read_node(std::string_view text, Reader& reader);

}  // namespace fairlead::config
