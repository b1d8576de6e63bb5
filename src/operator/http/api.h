// SPDX-License-Identifier: MIT
// What is served where: /healthz, /readyz, /metrics and the read side of /v1. Every answer is made
// from one View, taken when the request comes.
#pragma once

#include <functional>

#include "control/controller/view.h"
#include "operator/http/server.h"

namespace fairlead::http {

using ViewOf = std::function<controller::View()>;

Handler make_api(ViewOf view);

}  // namespace fairlead::http
