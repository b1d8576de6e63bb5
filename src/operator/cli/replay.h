// SPDX-License-Identifier: MIT
// `fairlead replay`: a capture through the packet path, without a network.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// Ends like the commands of backend.h: not 0 by CLI::RuntimeError, problems on stderr by then.
void add_replay_command(CLI::App& app);

}  // namespace fairlead::cli
