// SPDX-License-Identifier: MIT
// The order of things: configuration, HTTP port, engine and controller; READY once packets are
// forwarded. SIGTERM and SIGINT end the loop, and with it everything, the engine last of all.
#include "operator/cli/run.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "control/config/parse.h"
#include "control/controller/daemon.h"
#include "operator/http/api.h"
#include "operator/http/server.h"

namespace fairlead::cli {
namespace {

namespace asio = boost::asio;
using controller::Daemon;

struct Options {
  std::string node_file = "/etc/fairlead/node.toml";
  std::string log_level = "info";
};

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "fairlead run: {}\n", error.message);
  throw CLI::RuntimeError(1);
}

config::Configuration load(const std::string& node_file) {
  auto configuration = config::load(node_file);
  if (configuration) return std::move(*configuration);
  for (const config::Problem& problem : configuration.error()) {
    fmt::print(stderr, "{}\n", problem.format());
  }
  throw CLI::RuntimeError(1);
}

// A health check needs a descriptor for each backend at a time.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// This thread decides while others move packets: it goes before them, and not onto their cores as
// long as there are others. Where that is not permitted it takes its turn like everyone.
void go_before_packets(const std::vector<uint32_t>& workers) {
  constexpr int before_ksoftirqd = -10;
  ::setpriority(PRIO_PROCESS, 0, before_ksoftirqd);
  cpu_set_t cores;
  if (workers.empty() || ::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (const uint32_t core : workers) {
    if (core < CPU_SETSIZE) CPU_CLR(core, &cores);
  }
  if (CPU_COUNT(&cores) != 0) ::sched_setaffinity(0, sizeof cores, &cores);
}

// sd_notify(3); nothing happens when systemd, or whoever set NOTIFY_SOCKET, is not there.
void notify(const std::string& state) { ::sd_notify(0, state.c_str()); }

// Tells systemd that a reload begins, which wants the time of CLOCK_MONOTONIC, in which Clock
// counts.
void notify_reloading() {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch());
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", at.count()));
}

class Run {
 public:
  explicit Run(const Options& options) : configuration_(load(options.node_file)) {}

  void run() {
    raise_descriptors();
    const std::string& where = configuration_.node.node.http;
    auto server = http::Server::listen(loop_, where, http::make_api([this] { return view(); }));
    if (!server) fail(server.error());
    server_ = std::move(*server);

    Daemon::Options options{.configuration = configuration_,
                            .services_file = configuration_.node.control_plane.services,
                            .seed = std::random_device()(),
                            .started = [this](Result<void> done) { started(std::move(done)); }};
    auto daemon = Daemon::start(loop_, std::move(options));
    if (!daemon) fail(daemon.error());
    daemon_ = std::move(*daemon);
    go_before_packets(configuration_.node.forwarder.cpu_affinity);  // after workers were started
    wait_for_signal();
    loop_.run();
    daemon_.reset();
    if (!failed_.message.empty()) fail(failed_);
    log::info("stopped");
  }

 private:
  controller::View view() const { return daemon_ ? daemon_->view() : controller::View{}; }

  void started(Result<void> done) {
    if (!done) {
      failed_ = done.error();
      loop_.stop();
      return;
    }
    log::info("fairlead {} forwards; http on {}", version, configuration_.node.node.http);
    notify(
        fmt::format("READY=1\nSTATUS=forwarding on {}", configuration_.node.forwarder.interface));
  }

  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      if (signal == SIGHUP) {
        notify_reloading();
        daemon_->reload();
        notify("READY=1");
        return wait_for_signal();
      }
      // A second one kills: whoever sends it does not want to wait any longer.
      signals_.clear();
      log::info("{}: stopping", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      notify("STOPPING=1");
      loop_.stop();
    });
  }

  config::Configuration configuration_;
  Error failed_;
  asio::io_context loop_{1};
  asio::signal_set signals_{loop_, SIGTERM, SIGINT, SIGHUP};
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<Daemon> daemon_;
};

void run(const Options& options) {
  const auto level = log::parse_level(options.log_level);
  if (!level) fail(level.error());
  log::set_level(*level);
  try {
    Run(options).run();
  } catch (const boost::system::system_error& error) {  // of Asio, when descriptors run out
    fail({error.what()});
  }
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "The daemon: forwards until SIGTERM; SIGHUP reloads");
  command->add_option("-c,--config", options->node_file, "node.toml of this machine")
      ->capture_default_str();
  command->add_option("--log-level", options->log_level, "debug, info, warning or error")
      ->capture_default_str();
  command->callback([options] { run(*options); });
}

}  // namespace fairlead::cli
