// SPDX-License-Identifier: MIT
// `fairlead run`: the daemon.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// Ends with CLI::RuntimeError(1) when the daemon cannot start; what is wrong is on stderr by then.
void add_run_command(CLI::App& app);

}  // namespace fairlead::cli
