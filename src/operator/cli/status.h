// SPDX-License-Identifier: MIT
// `fairlead status`: what the daemon on this machine does.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// Ends with CLI::RuntimeError: 3 when no daemon answers, or something else does; 1 when node.toml
// is missing or wrong, or the daemon is of another version. What is wrong is on stderr by then.
void add_status_command(CLI::App& app);

}  // namespace fairlead::cli
