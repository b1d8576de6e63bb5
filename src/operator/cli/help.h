// SPDX-License-Identifier: MIT
// `fairlead help [COMMAND...]` and `fairlead version`: what --help and --version say, for those who
// type words.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// The flags -V and --version of `app`, and both commands.
void add_help_commands(CLI::App& app);

}  // namespace fairlead::cli
