// SPDX-License-Identifier: MIT
// The order of things: configuration, HTTP port, engine and controller; READY once packets are
// forwarded, and after a reload once it is in force or refused. SIGTERM and SIGINT end the loop;
// then the HTTP port closes, the controller ends and, last of its parts, the engine.
#include "operator/cli/run.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
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
#include "operator/cli/command.h"
#include "operator/cli/notifier.h"
#include "operator/http/api.h"
#include "operator/http/server.h"

namespace fairlead::cli {
namespace {

namespace asio = boost::asio;
using controller::Daemon;

struct Options {
  std::string node_file;
  std::string log_level = "info";
};

config::Configuration load(const std::string& node_file) {
  auto configuration = config::load(node_file);
  if (!configuration) fail(configuration.error());
  return std::move(*configuration);
}

// A health check needs a descriptor for each backend at a time.
void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// This thread decides while others move packets: it goes before them and, where cpu_affinity names
// the cores of the user engine's workers, not onto those as long as there are others. Workers
// without it are the kernel's to place, as is the driver's work. Where going first is not
// permitted, this thread takes its turn like everyone.
void go_before_packets(const config::Forwarder& forwarder) {
  constexpr int before_ksoftirqd = -10;
  ::setpriority(PRIO_PROCESS, 0, before_ksoftirqd);
  cpu_set_t cores;
  if (forwarder.engine != config::EngineKind::user || forwarder.cpu_affinity.empty()) return;
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (const uint32_t core : forwarder.cpu_affinity) {
    if (core < CPU_SETSIZE) CPU_CLR(core, &cores);
  }
  if (CPU_COUNT(&cores) != 0) ::sched_setaffinity(0, sizeof cores, &cores);
}

// Tells systemd that a reload begins, which wants the time of CLOCK_MONOTONIC, in which Clock
// counts.
std::string reloading() {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(now().time_since_epoch());
  return fmt::format("RELOADING=1\nMONOTONIC_USEC={}", at.count());
}

class Run {
 public:
  void run(config::Configuration configuration) {
    raise_descriptors();
    std::signal(SIGPIPE, SIG_IGN);  // whoever read the log has gone: no reason to stop
    const config::Forwarder forwarder = configuration.node.forwarder;
    http_ = configuration.node.node.http;
    interface_ = forwarder.interface;
    auto server = http::Server::listen(loop_, http_, http::make_api([this] { return view(); }));
    if (!server) fail(server.error());
    server_ = std::move(*server);

    auto daemon =
        Daemon::start(loop_, {.configuration = std::move(configuration),
                              .seed = std::random_device()(),
                              .started = [this](Result<void> done) { started(std::move(done)); },
                              .reloaded = [this] { notify_ready(); }});
    if (!daemon) fail(daemon.error());
    daemon_ = std::move(*daemon);
    go_before_packets(forwarder);  // after workers were started, which inherit it
    wait_for_signal();
    loop_.run();
    server_.reset();
    daemon_.reset();
    if (!failed_.message.empty()) fail(failed_);
    log::info("stopped");
  }

 private:
  controller::View view() const {
    controller::View view = daemon_ ? daemon_->view() : controller::View{};
    view.connections = {server_->connections(), http::limits::connections};
    return view;
  }

  void started(Result<void> done) {
    if (!done) {
      failed_ = done.error();
      loop_.stop();
      return;
    }
    log::info("fairlead {} forwards; http on {}", version, http_);
    forwards_ = true;
    notify_ready();
  }

  // A reload that comes before it forwards is a part of the start.
  void notify_ready() {
    if (forwards_) notifier_.tell(fmt::format("READY=1\nSTATUS=forwarding on {}", interface_));
  }

  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      if (signal == SIGHUP) {
        notifier_.tell(reloading());
        daemon_->reload();
        return wait_for_signal();
      }
      // A second one kills: whoever sends it does not want to wait any longer.
      signals_.clear();
      log::info("{}: stopping", signal == SIGTERM ? "SIGTERM" : "SIGINT");
      notifier_.tell("STOPPING=1");
      loop_.stop();
    });
  }

  std::string http_, interface_;  // of node.toml
  Error failed_;
  bool forwards_ = false;
  asio::io_context loop_{1};
  Notifier notifier_{loop_};
  asio::signal_set signals_{loop_, SIGTERM, SIGINT, SIGHUP};
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<Daemon> daemon_;
};

void run(const Options& options) {
  const auto level = log::parse_level(options.log_level);
  if (!level) fail(level.error());
  log::set_level(*level);
  try {
    Run().run(load(options.node_file));
  } catch (const boost::system::system_error& error) {  // of Asio, when descriptors run out
    fail(Error{error.what()});
  }
}

}  // namespace

void add_run_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("run", "The daemon: forwards until SIGTERM; SIGHUP reloads");
  add_config_option(*command, options->node_file);
  command->add_option("--log-level", options->log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str()
      ->type_name("");
  command->callback([options] { run(*options); });
}

}  // namespace fairlead::cli
