// SPDX-License-Identifier: MIT
// `fairlead backend setup | check | remove`: the commands for a backend host.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

// A command ends by throwing CLI::RuntimeError with its exit code when that is not 0; its message,
// one line, is on stderr by then. App::exit() gives the code back and prints nothing more.
void add_backend_commands(CLI::App& app);

}  // namespace fairlead::cli
