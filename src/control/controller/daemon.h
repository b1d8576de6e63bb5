// SPDX-License-Identifier: MIT
// The controller at work: does what it decides (control/controller/controller.h) with the engine,
// the checker, the watcher of next hops and timers, all on one Asio loop. One thread, that of the
// loop; nothing here waits for packets, and packets wait for nothing here.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/config/parse.h"
#include "control/controller/controller.h"
#include "control/controller/link.h"
#include "control/controller/view.h"
#include "control/health/checker.h"
#include "control/neighbours/watcher.h"
#include "control/path_mtu/listener.h"
#include "engine/engine.h"

namespace fairlead::controller {

class Daemon {
 public:
  struct Options {
    config::Configuration configuration;
    uint64_t seed = 0;  // of the jitter of checks
    // Once: packets are forwarded, or the engine refused the first configuration.
    std::function<void(Result<void>)> started;
    // After reload(), when what it read is in force or refused. Both are called from the loop or
    // from within start() and reload().
    std::function<void()> reloaded;
  };

  // Makes the engine that node.toml asks for. Error: one line with the remedy.
  static Result<std::unique_ptr<Daemon>> start(boost::asio::io_context& loop, Options options);

  // Reads services.json again, as node.toml names it. What is wrong is told in the log, and the old
  // one stays.
  void reload();

  View view() const;

 private:
  Daemon(boost::asio::io_context& loop, std::unique_ptr<engine::Engine> engine, Options options,
         engine::Interface interface);

  void step(Event event);
  void perform(Actions actions);
  void publish(const Publish& action);
  void reload_refused(std::string why);
  void count_reload(const Publish& action, const Result<void>& done, bool first);
  void listen(boost::asio::io_context& loop);
  void answered(const health::Check& check, const health::Outcome& outcome);
  void changed(const neighbours::Watcher::Change& change);
  Result<void> watch(const engine::Interface& interface);
  void look_at_link();
  void tell_link(const Link& link);
  Result<void> attach_again();

  boost::asio::io_context& loop_;
  std::unique_ptr<engine::Engine> engine_;
  engine::Interface interface_;  // that the engine forwards on
  Link link_;                    // how it was last
  std::string not_attached_;     // why it was not possible to forward on one that came again
  boost::asio::steady_timer link_timer_;
  Options options_;
  Controller controller_;
  health::Checker checker_;
  std::unique_ptr<neighbours::Watcher> watcher_;
  std::vector<std::unique_ptr<path_mtu::Listener>> listeners_;  // one a family
  boost::asio::steady_timer timer_;
  std::deque<Event> events_;  // those that came while one was being dealt with
  bool busy_ = false;
  Time begin_ = now(), begin_step_{};
  uint64_t applied_ = 0, refused_ = 0;
  double last_reload_ = 0;
  std::string last_refusal_;
  Histogram rebuild_, check_latency_;
  std::map<std::string, std::array<uint64_t, health::probe_results>> checks_;
};

}  // namespace fairlead::controller
