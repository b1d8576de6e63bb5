// SPDX-License-Identifier: MIT
// Inside of the library: reading that keeps what is right of a file that has problems.
#pragma once

#include <string_view>

#include "control/config/reader.h"

namespace fairlead::config {

Services read_services(std::string_view text, const NodeConfig& node, Reader& reader);

}  // namespace fairlead::config
