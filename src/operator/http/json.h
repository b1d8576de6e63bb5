// SPDX-License-Identifier: MIT
// The View as the JSON of /v1, one function for each path.
#pragma once

#include <nlohmann/json.hpp>

#include "control/controller/view.h"

namespace fairlead::http {

using Json = nlohmann::ordered_json;

Json status_json(const controller::View& view);
Json vips_json(const controller::View& view);      // an array
Json pools_json(const controller::View& view);     // an array, with the backends of each
Json backends_json(const controller::View& view);  // an array over all pools

}  // namespace fairlead::http
