// SPDX-License-Identifier: MIT
// What the commands have in common: where node.toml is, and how they say what is wrong. Every line
// on stderr is "fairlead: WHAT", but for problems in a file, which begin with their place in it
// ("node.toml:3:1: ...") so that editors can jump there.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

#include "base/result.h"
#include "control/config/parse.h"

namespace fairlead::cli {

// -c, --config: the same option with the same default in every command that reads node.toml.
void add_config_option(CLI::App& command, std::string& node_file);

void say(std::string_view what);
[[noreturn]] void fail(const Error& error, int exit_code = 1);  // says it, and ends the command
[[noreturn]] void fail(const config::Problems& problems);  // without a file: as what is wrong here

// "there is no command chek; did you mean "check"?"
std::string no_such_command(const CLI::App& app, const std::string& word);

// "fairlead: no such option: --frob; see `fairlead check --help`", for CLI::App::failure_message().
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace fairlead::cli
