// SPDX-License-Identifier: MIT
#include "operator/cli/replay.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "control/controller/replay.h"
#include "core/limits.h"
#include "operator/cli/command.h"

namespace fairlead::cli {
namespace {

using controller::ReplayReport;
using controller::ReplayRequest;

struct Options {
  ReplayRequest request;
  std::string engine = "user";
  std::string layout;  // accepted, and of no consequence here
};

constexpr const char* footer =
    "A change is `WHAT@S`: S seconds after the first frame, or from the start without it. A "
    "backend\n"
    "counts as up unless something else was said of it, last. Packets see it at once; the tables\n"
    "follow after 50 ms, like in the daemon. Time is that of the capture, for TTLs and limits "
    "too.\n"
    "\n"
    "A replay has no interface: the source MAC address of a frame that leaves is the one that the\n"
    "frame was sent to, and all frames go to gateway_mac or, if node.toml has none, back to the\n"
    "address that they came from. A capture that ends too early is replayed as far as it goes, "
    "with\n"
    "a warning.";

void print(const ReplayReport& report, const Options& options) {
  for (const std::string& warning : report.warnings) say("warning: " + warning);
  if (options.request.json == "-" || options.request.json == "/dev/stdout") return;
  std::string verdicts;
  for (const auto& [verdict, frames] : report.verdicts) {
    if (frames != 0)
      verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", frames, verdict);
  }
  fmt::print("{} from {:.3f} s of capture: {}; {} written to {}\n", counted(report.frames, "frame"),
             report.seconds, verdicts.empty() ? "none" : verdicts, report.left,
             options.request.out);
}

void replay(const Options& options) {
  const auto report = controller::run_replay(options.request);
  if (!report) fail(report.error());
  print(*report, options);
}

}  // namespace

void add_replay_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  ReplayRequest& request = options->request;
  CLI::App* command = app.add_subcommand("replay", "Put a capture through the packet path");
  const auto add = [command](const char* name, std::string& value, const char* what) {
    return command->add_option(name, value, what);
  };
  add_config_option(*command, request.node_file);
  add("--in", request.in, "Frames that arrive: pcap or pcapng, Ethernet")
      ->required()
      ->type_name("FILE");
  add("--out", request.out, "Frames that leave, in order: pcap")->required()->type_name("FILE");
  add("--passed", request.passed, "Frames for the host's own stack: pcap")->type_name("FILE");
  add("--json", request.json, "One line with its verdict for each frame; - is standard output")
      ->type_name("FILE");
  add("--engine", options->engine,
      "user: the path in this process; xdp: the BPF program, run by the kernel, needs root")
      ->check(CLI::IsMember({"user", "xdp"}))
      ->capture_default_str()
      ->type_name("");
  add("--layout", options->layout,
      "run_to_completion or pipeline; makes no difference: a replay has no threads")
      ->check(CLI::IsMember({"run_to_completion", "pipeline"}))
      ->type_name("");

  const auto add_list = [command](const char* name, std::vector<std::string>& values,
                                  const char* what, const char* type) {
    command->add_option(name, values, what)->type_name(type)->allow_extra_args(false);
  };
  add_list("--down", request.down, "A backend is down", "IP[:PORT][@S]");
  add_list("--up", request.up, "A backend is up again, and not draining", "IP[:PORT][@S]");
  add_list("--draining", request.draining, "A backend is up but takes no new flows",
           "IP[:PORT][@S]");
  add_list("--services", request.services, "Another services.json is in force", "FILE[@S]");
  command
      ->add_option("--workers", request.workers,
                   "Connection tables; a flow stays with one. Default: num_threads, or 1")
      ->check(CLI::Range(1u, core::limits::workers))
      ->type_name("N");
  command->footer(footer);
  command->callback([options] {
    options->request.in_kernel = options->engine == "xdp";
    replay(*options);
  });
}

}  // namespace fairlead::cli
