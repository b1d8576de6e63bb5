// SPDX-License-Identifier: MIT
// What a valid configuration may ask for that this version does not do, and does without; in one
// place: whoever builds a feature takes its lines out here. `fairlead run`, its reload, `check` and
// `replay` all ask.
#pragma once

#include <string>
#include <vector>

#include "control/config/model.h"

namespace fairlead::controller {

// One line each, with the key that is meant.
std::vector<std::string> unsupported(const config::NodeConfig& node,
                                     const config::Services& services);

}  // namespace fairlead::controller
