// SPDX-License-Identifier: MIT
#include "tables/live_connections.h"

#include <gtest/gtest.h>

#include <atomic>

namespace fairlead::tables {
namespace {

using core::State;

class LiveConnections : public testing::Test {
 protected:
  LiveConnections() {
    memory.settings->ttl[static_cast<size_t>(State::handshake)] = 50;
    memory.settings->ttl[static_cast<size_t>(State::established)] = 600;
  }

  void count(core::Tick now) { count_live_connections(memory, now); }

  OwnMemory own = OwnMemory::make({.workers = 2, .narrow_lines = 64, .wide_lines = 64}).value();
  Memory memory = own.view();
};

TEST_F(LiveConnections, AreThoseOfAllWorkersAndBothKindsUntilTheyExpire) {
  memory.narrow[3].meta[1] = core::meta_of(1'000, 5, State::handshake, 7);
  memory.narrow[64 + 3].meta[0] = core::meta_of(1'000, 5, State::established, 7);
  memory.wide[64 + 9].meta[1] = core::meta_of(1'000, 5, State::established, 7);
  memory.wide[0].meta[0] = core::meta_of(1'000, 5, State::established, 8);
  for (const auto& [now, seven, eight] :
       {std::tuple{1'000u, 3u, 1u}, {1'050u, 3u, 1u}, {1'052u, 2u, 1u}, {1'602u, 0u, 0u}}) {
    count(now);
    EXPECT_EQ(memory.live[7], seven) << now;
    EXPECT_EQ(memory.live[8], eight) << now;
  }
}

TEST_F(LiveConnections, AreCountedByTheThreadOnlyWhileAServiceAsks) {
  memory.narrow[3].meta[1] = core::meta_of(1'000, 5, State::established, 7);
  std::atomic<int> asked = 0;
  const LiveCounter counter(memory, [&] { return ++asked, core::Tick{1'000}; });
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_EQ(asked, 0);
  std::atomic_ref(memory.settings->counts_live).store(1);
  while (asked < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(std::atomic_ref(memory.live[7]).load(), 1u);
}

}  // namespace
}  // namespace fairlead::tables
