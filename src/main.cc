// SPDX-License-Identifier: MIT
// A table of contents: each line of main() adds a command, each command lives in a file of its own
// in operator/cli. Exit codes: 0 done, 1 the input or the state is wrong, 2 wrong usage, 3 no
// daemon answers.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "operator/cli/backend.h"
#include "operator/cli/check.h"
#include "operator/cli/command.h"
#include "operator/cli/help.h"
#include "operator/cli/replay.h"
#include "operator/cli/run.h"
#include "operator/cli/status.h"

namespace {

constexpr int wrong_usage = 2;

// What commands print goes through a buffer: whether it arrived is known at the end.
int ended(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  fairlead::cli::say(fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
  return 1;
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& end) {
    return end.get_exit_code();  // of a command, which has said why
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : wrong_usage;  // 0: --help or --version
  } catch (const std::system_error&) {              // of fmt::print(): what ended() looks for
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A layer-4 load balancer", "fairlead");
  app.require_subcommand(1);
  app.failure_message(fairlead::cli::usage_error);

  fairlead::cli::add_run_command(app);
  fairlead::cli::add_check_command(app);
  fairlead::cli::add_replay_command(app);
  fairlead::cli::add_status_command(app);
  fairlead::cli::add_backend_commands(app);
  fairlead::cli::add_help_commands(app);

  return ended(run(app, argc, argv));
}
