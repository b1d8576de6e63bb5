// SPDX-License-Identifier: MIT
// A table of contents: each line of main() adds a command, each command lives in a file of its own
// in operator/cli. Exit codes: 0 done, 1 the input or the state is wrong, 2 wrong usage, 3 no
// daemon answers.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "control/config/suggest.h"
#include "operator/cli/backend.h"
#include "operator/cli/check.h"
#include "operator/cli/replay.h"
#include "operator/cli/run.h"
#include "operator/cli/status.h"

namespace {

constexpr int wrong_usage = 2;

// "there is no command chek; did you mean "check"?"
std::string no_such_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fmt::format("there is no command {}; {}", word,
                     fairlead::config::suggestion(word, known, "expected one of them"));
}

std::string one_line(const CLI::App* app, const CLI::Error& error) {
  const std::vector<std::string> rest = app->remaining();
  const bool unknown = error.get_name() == "RequiredError" && !rest.empty();
  const std::string what = unknown ? no_such_command(*app, rest.front()) : error.what();
  return fmt::format("{}: {}; see {} --help\n", app->get_name(), what, app->get_name());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A layer-4 load balancer", "fairlead");
  app.set_version_flag("--version", fmt::format("fairlead {}", fairlead::version));
  app.require_subcommand(1);
  app.failure_message(one_line);

  fairlead::cli::add_run_command(app);
  fairlead::cli::add_check_command(app);
  fairlead::cli::add_replay_command(app);
  fairlead::cli::add_status_command(app);
  fairlead::cli::add_backend_commands(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();  // of a command, which has said why
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : wrong_usage;  // 0: --help or --version
  }
  return 0;
}
