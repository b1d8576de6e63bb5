// SPDX-License-Identifier: MIT
// The View as metrics in Prometheus' text format. What verdicts and reasons are called comes from
// core/verdict.h. A name stands here only if it is really measured.
#pragma once

#include <string>

#include "control/controller/view.h"

namespace fairlead::metrics {

std::string text_of(const controller::View& view);

}  // namespace fairlead::metrics
