// SPDX-License-Identifier: MIT
// The watcher on a loop, with a real kernel in a network namespace of the test's own.
#include "control/neighbours/watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "control/config/address.h"
#include "control/limits.h"
#include "engine/bpf/veth_pair.h"

namespace fairlead::neighbours {
namespace {

using namespace std::chrono_literals;
using engine::VethPair;
using testing::Contains;
using testing::Not;

IpAddress address(const std::string& text) { return *config::parse_address(text); }

class WatcherTest : public testing::Test {
 protected:
  void SetUp() override {
    FAIRLEAD_NEEDS_NETWORK();
    veth.emplace(VethPair::Options{});
    ip("addr add 10.9.0.254/24 dev far0");
    auto made = Watcher::open(loop, "far0", ::if_nametoindex("far0"),
                              [this](const Watcher::Change& change) { changes.push_back(change); });
    ASSERT_TRUE(made) << made.error().message;
    watcher = std::move(*made);
  }

  void ip(const std::string& command) { ASSERT_TRUE(VethPair::run("ip " + command)) << command; }

  // Runs the loop until `done`; false if that does not come.
  bool wait_for(const std::function<bool()>& done) {
    const Time end = now() + 10s;
    while (!done() && now() < end) {
      loop.restart();
      loop.run_for(5ms);
    }
    return done();
  }

  std::optional<VethPair> veth;
  boost::asio::io_context loop{1};
  std::unique_ptr<Watcher> watcher;
  std::vector<Watcher::Change> changes;
};

TEST_F(WatcherTest, TellsTheAddressesOfTheHostWheneverOneComesOrGoes) {
  EXPECT_THAT(watcher->own(), Contains(address("10.9.0.254")));
  ip("addr add 10.9.0.253/24 dev far0");
  ASSERT_TRUE(wait_for([&] { return !changes.empty(); }));
  ASSERT_TRUE(changes.back().own);
  EXPECT_THAT(*changes.back().own, Contains(address("10.9.0.253")));
  EXPECT_EQ(*changes.back().own, watcher->own());
  changes.clear();
  ip("addr del 10.9.0.253/24 dev far0");
  ASSERT_TRUE(wait_for([&] { return !changes.empty(); }));
  EXPECT_THAT(*changes.back().own, Not(Contains(address("10.9.0.253"))));
}

TEST_F(WatcherTest, TellsANextHopAtOnceAndWhenItChanges) {
  ip("neigh replace 10.9.0.1 lladdr 02:00:00:00:00:01 nud permanent dev far0");
  watcher->want({address("10.9.0.1")});
  ASSERT_EQ(changes.size(), 1u) << "without waiting for the loop";
  EXPECT_EQ(changes[0].hops.at(0).hop.mac, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_FALSE(changes[0].own);
  ip("neigh replace 10.9.0.1 lladdr 02:00:00:00:00:02 nud permanent dev far0");
  ASSERT_TRUE(wait_for([&] { return changes.size() == 2; }));
  EXPECT_EQ(changes[1].hops.at(0).hop.mac, (MacAddress{2, 0, 0, 0, 0, 2}));
}

TEST_F(WatcherTest, LooksTenTimesASecondAtMostHoweverMuchHappens) {
  std::atomic<bool> stop = false;
  const Time begin = now();
  std::thread restless([&] {  // in the same namespace
    while (!stop) {
      VethPair::run("ip addr add 10.9.0.9/24 dev far0");
      VethPair::run("ip addr del 10.9.0.9/24 dev far0");
    }
  });
  loop.run_for(700ms);
  stop = true;
  const auto most = (now() - begin) / limits::at_least + 1;
  EXPECT_LE(changes.size(), static_cast<size_t>(most));
  EXPECT_GE(changes.size(), 1u);
  restless.join();
}

}  // namespace
}  // namespace fairlead::neighbours
