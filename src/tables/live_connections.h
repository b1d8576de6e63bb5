// SPDX-License-Identifier: MIT
// How many connections of each backend are alive: counted off the packet path by looking at every
// entry, since entries expire without a word. Workers add what they remember meanwhile
// (core/path/verdict.h); so a count is at most one interval behind.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

#include "tables/memory.h"

namespace fairlead::tables {

// Counts once, as of `now` in the engine's ticks, and writes Memory::live. While workers write a
// count may miss what is just coming or going. One thread at a time.
void count_live_connections(const Memory& memory, core::Tick now);

// Does so every 100 ms, on a thread of its own, while some service asks for it
// (Settings::counts_live). Rests at least 20 times as long as a count takes: 16 Mi connections are
// counted about once a second.
class LiveCounter {
 public:
  // What it gets has to outlive it. `clock`: the engine's, called by the thread.
  LiveCounter(const Memory& memory, std::function<core::Tick()> clock);

 private:
  void run(const std::stop_token& stop);

  const Memory& memory_;
  std::function<core::Tick()> clock_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace fairlead::tables
