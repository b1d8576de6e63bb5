// SPDX-License-Identifier: MIT
#include "operator/cli/command.h"

#include <fmt/format.h>

#include <cstdio>

#include "control/config/suggest.h"

namespace fairlead::cli {

std::string no_such_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fmt::format("there is no command {}; {}", word,
                     config::suggestion(word, known, "expected one of them"));
}

void add_config_option(CLI::App& command, std::string& node_file) {
  node_file = "/etc/fairlead/node.toml";
  command.add_option("-c,--config", node_file, "node.toml of this machine")
      ->capture_default_str()
      ->type_name("FILE");
}

void say(std::string_view what) { fmt::print(stderr, "fairlead: {}\n", what); }

void fail(const Error& error, int exit_code) {
  say(error.message);
  throw CLI::RuntimeError(exit_code);
}

void fail(const config::Problems& problems) {
  for (const config::Problem& problem : problems) {
    if (problem.file.empty()) {
      say(problem.message);
    } else {
      fmt::print(stderr, "{}\n", problem.format());
    }
  }
  throw CLI::RuntimeError(1);
}

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string name = app->get_name();
  const CLI::App* command = app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    name += " " + command->get_name();
  }
  const std::vector<std::string> rest = command->remaining();
  const bool unknown = error.get_name() == "RequiredError" && !rest.empty() &&
                       !command->get_subcommands({}).empty() && !rest.front().starts_with('-');
  return fmt::format("{}: {}; see `{} --help`\n", app->get_name(),
                     unknown ? no_such_command(*command, rest.front()) : error.what(), name);
}

}  // namespace fairlead::cli
