// SPDX-License-Identifier: MIT
// `fairlead status`: what the daemon on this machine does.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// Ends with CLI::RuntimeError(3) when no daemon answers.
void add_status_command(CLI::App& app);

}  // namespace fairlead::cli
