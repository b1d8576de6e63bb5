// SPDX-License-Identifier: MIT
// The monitor (control/health/monitor.h) with its probes and its timer on an Asio loop. One thread,
// that of the loop; the functions are called from it: `flip` for what changed, `answer` for every
// probe, before the flip that it causes, `stuck` for a check that goes on failing on this side.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>

#include "control/health/monitor.h"

namespace fairlead::health {

class Checker {
 public:
  struct Listener {
    std::function<void(const Flip&)> flip;
    std::function<void(const Check&, const Outcome&)> answer;
    std::function<void(const Stuck&)> stuck;
  };

  Checker(boost::asio::io_context& loop, uint64_t seed, Listener listener);
  ~Checker();

  void want(std::map<Check, Timing> checks);
  const Known* find(const Check& check) const { return monitor_.find(check); }
  size_t open() const { return monitor_.open(); }  // probes on their way
  uint32_t most_open() const { return monitor_.most_open(); }

 private:
  void step(Input input);

  boost::asio::io_context& loop_;
  boost::asio::steady_timer timer_;
  Monitor monitor_;
  Listener listener_;
  std::shared_ptr<bool> alive_;  // probes that are on their way outlive the checker
};

}  // namespace fairlead::health
