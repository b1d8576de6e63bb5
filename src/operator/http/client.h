// SPDX-License-Identifier: MIT
// Asks the daemon on this machine, for the commands that show what it does.
#pragma once

#include <string>

#include "base/result.h"
#include "operator/http/server.h"

namespace fairlead::http {

// GET `path` from `where`; waits at most 2 s. Error: no daemon answers there.
Result<Response> get(const std::string& where, const std::string& path);

}  // namespace fairlead::http
