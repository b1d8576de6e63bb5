// SPDX-License-Identifier: MIT
// What the parts of services.json demand of each other, of the packet path's limits and of the
// node.
#pragma once

#include "control/config/reader.h"

namespace fairlead::config {

// `services` was read from `root` by the schema; broken values hold defaults, and each rule leaves
// alone what is broken already.
void check_services(Reader& reader, const Value& root, const NodeConfig& node,
                    const Services& services);

}  // namespace fairlead::config
