// SPDX-License-Identifier: MIT
#include "operator/cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/version.h"
#include "operator/cli/command.h"

namespace fairlead::cli {
namespace {

void help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> commands = command->get_subcommands({});
    const auto found = std::ranges::find(commands, word, &CLI::App::get_name);
    if (found == commands.end()) throw CLI::ValidationError(no_such_command(*command, word), 1);
    command = *found;
    name += " " + word;
  }
  fmt::print("{}", app.get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal));
}

}  // namespace

void add_help_commands(CLI::App& app) {
  const std::string version = fmt::format("fairlead {}", fairlead::version);
  app.set_version_flag("-V,--version", version, "Print the version and exit");
  app.add_subcommand("version", "Print the version")->callback([version] {
    fmt::print("{}\n", version);
  });
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  command->add_option("command", *words, "Its name, such as run or backend setup")
      ->type_name("COMMAND");
  command->callback([&app, words] { help(app, *words); });
}

}  // namespace fairlead::cli
