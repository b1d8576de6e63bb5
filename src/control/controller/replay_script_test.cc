// SPDX-License-Identifier: MIT
#include "control/controller/replay_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "control/controller/capacity.h"
#include "tables/publisher.h"

namespace fairlead::controller {
namespace {

namespace backend_flag = core::backend_flag;
using testing::ElementsAre;

constexpr uint64_t second = 1'000'000'000;
constexpr uint8_t usable = backend_flag::takes_new | backend_flag::keeps_known;

config::Services services(std::initializer_list<const char*> backends) {
  config::Services made;
  config::Vip vip;
  vip.id = "web";
  vip.address = *config::parse_prefix("198.51.100.10");
  vip.services.push_back({.port = 80, .backend_pool = "web", .routes = {}, .split = {}});
  made.vips.push_back(std::move(vip));
  config::Pool pool;
  pool.id = "web";
  pool.table_size = 251;
  for (const char* address : backends) {
    config::Backend backend;
    backend.ip = *config::parse_address(address);
    backend.port = 80;
    pool.backends.push_back(backend);
  }
  made.pools.push_back(std::move(pool));
  return made;
}

BackendChange change(Word word, std::string_view text) {
  return parse_backend_change(word, text).value();
}

class Script : public testing::Test {
 protected:
  Script()
      : memory_(tables::OwnMemory::make(capacity_for({}, 1, {})).value()),
        publisher_(memory_.view(), {}) {
    node_.node.address = config::parse_address("192.0.2.11");
  }

  void start(const config::Services& services, std::vector<BackendChange> backends,
             std::vector<ServicesChange> others = {}) {
    script_.emplace(node_, services, std::move(others), std::move(backends));
    step();
  }

  // Lets the next change happen, and says when it did and whether tables were published.
  std::pair<uint64_t, bool> step() {
    const uint64_t now = script_->next_ns().value();
    const auto before = publisher_.snapshot();
    const auto done = script_->perform(publisher_, 1'000 + now / 1'000'000);
    EXPECT_TRUE(done) << done.error().message;
    return {now, publisher_.snapshot() != before};
  }

  // Flags that packets see, of all members of the pool.
  std::vector<int> flags() const {
    std::vector<int> out;
    for (uint32_t m = 0; m < publisher_.snapshot()->pools[0].members.size(); m++) {
      out.push_back(memory_.view().backends[publisher_.backend_id(0, m)].flags);
    }
    return out;
  }

  std::set<uint32_t> owners() const {
    const auto& table = publisher_.snapshot()->pools[0].table;
    return table ? std::set<uint32_t>(table->begin(), table->end()) : std::set<uint32_t>();
  }

  config::NodeConfig node_;
  tables::OwnMemory memory_;
  tables::Publisher publisher_;
  std::optional<ReplayScript> script_;
};

TEST_F(Script, PacketsSeeABackendDownAtOnceAndTheTablesFollow) {
  start(services({"10.0.0.1", "10.0.0.2", "10.0.0.3"}), {change(Word::down, "10.0.0.2@2")});
  EXPECT_THAT(flags(), ElementsAre(usable, usable, usable));
  EXPECT_EQ(step(), std::pair(2 * second, false));
  EXPECT_THAT(flags(), ElementsAre(usable, 0, usable));
  EXPECT_EQ(owners(), (std::set<uint32_t>{0, 1, 2}));
  EXPECT_EQ(step(), std::pair(2 * second + ReplayScript::debounce_ns, true));
  EXPECT_THAT(flags(), ElementsAre(usable, 0, usable));
  EXPECT_EQ(owners(), (std::set<uint32_t>{0, 2}));
  EXPECT_EQ(script_->next_ns(), std::nullopt);
}

TEST_F(Script, ChangesWithinTheWindowAreCollected) {
  start(services({"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
        {change(Word::down, "10.0.0.1@2.02"), change(Word::down, "10.0.0.2@2")});
  EXPECT_EQ(step(), std::pair(2 * second, false));
  EXPECT_EQ(step(), std::pair(2 * second + 20'000'000, false));
  EXPECT_EQ(step(), std::pair(2 * second + 50'000'000, true));
  EXPECT_EQ(owners(), std::set<uint32_t>{2});
  EXPECT_EQ(script_->next_ns(), std::nullopt);
}

TEST_F(Script, WhatIsSaidFromTheStartIsInTheFirstTables) {
  start(services({"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
        {change(Word::down, "10.0.0.1"), change(Word::draining, "10.0.0.2:80")});
  EXPECT_THAT(flags(), ElementsAre(0, backend_flag::keeps_known, usable));
  EXPECT_EQ(owners(), std::set<uint32_t>{2});
  EXPECT_EQ(script_->next_ns(), std::nullopt);
}

TEST_F(Script, UpEndsBothDownAndDraining) {
  start(services({"10.0.0.1", "10.0.0.2", "10.0.0.3"}),
        {change(Word::down, "10.0.0.1"), change(Word::draining, "10.0.0.2"),
         change(Word::up, "10.0.0.1@1"), change(Word::up, "10.0.0.2@1")});
  step();
  EXPECT_THAT(flags(), ElementsAre(usable, usable, usable));
}

TEST_F(Script, OtherServicesAreInForceAtOnceWithWhatIsStillToFollow) {
  start(services({"10.0.0.1", "10.0.0.2"}), {change(Word::down, "10.0.0.1@2")},
        {{services({"10.0.0.1", "10.0.0.2", "10.0.0.3"}), 2 * second + 10'000'000}});
  step();
  EXPECT_EQ(step(), std::pair(2 * second + 10'000'000, true));
  EXPECT_THAT(flags(), ElementsAre(0, usable, usable)) << "what was said holds in them too";
  EXPECT_EQ(owners(), (std::set<uint32_t>{1, 2}));
  EXPECT_EQ(script_->next_ns(), std::nullopt);
}

TEST_F(Script, TheLastOfTheServicesAtOneTimeCount) {
  start(services({"10.0.0.1"}), {},
        {{services({"10.0.0.7"}), second}, {services({"10.0.0.8", "10.0.0.9"}), second}});
  EXPECT_EQ(step(), std::pair(second, true));
  EXPECT_EQ(publisher_.snapshot()->pools[0].members.size(), 2u);
}

TEST_F(Script, TablesThatNothingChangedAreKept) {
  start(services({"10.0.0.1", "10.0.0.2"}), {}, {{services({"10.0.0.2", "10.0.0.1"}), second}});
  const auto before = publisher_.snapshot()->pools[0].table;
  step();
  EXPECT_EQ(publisher_.snapshot()->pools[0].table, before);
}

}  // namespace
}  // namespace fairlead::controller
