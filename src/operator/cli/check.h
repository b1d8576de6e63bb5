// SPDX-License-Identifier: MIT
// `fairlead check`: are these files right? Every problem at once on stderr, exit 1; or one line on
// stdout, exit 0. What this version does not do yet is a problem too. Needs no root, no network and
// no running daemon.
#pragma once

#include <CLI/CLI.hpp>

namespace fairlead::cli {

void add_check_command(CLI::App& app);

}  // namespace fairlead::cli
