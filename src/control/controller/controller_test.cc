// SPDX-License-Identifier: MIT
// The controller with a clock of the test's, an engine that only remembers, and checks and next
// hops that are what the test says.
#include "control/controller/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "control/config/address.h"
#include "control/config/parse.h"

namespace fairlead::controller {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
namespace backend_flag = core::backend_flag;

constexpr const char* node_text = R"(
[node]
id = "n1"
address = "192.0.2.11"
[forwarder]
interface = "eth0"
)";

config::NodeConfig node_of(const std::string& more = "") {
  auto node = config::parse_node(node_text + more, "node.toml");
  EXPECT_TRUE(node) << node.error().front().format();
  return *node;
}

// One VIP whose services each have a pool of these backends.
config::Services services_of(const std::string& pools, const std::string& services) {
  const std::string text = R"({"vips":[{"id":"v","address":"198.51.100.10","services":[)" +
                           services + R"(]}],"pools":[)" + pools + "]}";
  auto parsed = config::parse_services(text, "services.json", node_of());
  EXPECT_TRUE(parsed) << parsed.error().front().format();
  return parsed ? *parsed : config::Services{};
}

std::string pool_of(const std::string& id, std::vector<int> hosts, const std::string& more = "") {
  std::string backends;
  for (const int host : hosts) {
    if (!backends.empty()) backends += ",";
    backends += R"({"ip":"10.0.0.)" + std::to_string(host) + R"(","port":80})";
  }
  return R"({"id":")" + id + R"(","table_size":251)" + more + R"(,"backends":[)" + backends + "]}";
}

std::string service_of(int port, const std::string& pool) {
  return R"({"protocol":"tcp","port":)" + std::to_string(port) + R"(,"backend_pool":")" + pool +
         R"("})";
}

config::Services one_pool(std::vector<int> hosts, const std::string& more = "") {
  return services_of(pool_of("web", std::move(hosts), more), service_of(80, "web"));
}

config::IpAddress host(int number) {
  return *config::parse_address("10.0.0." + std::to_string(number));
}

health::Check check_of(int number) { return {.target = endpoint_of(host(number), 80)}; }

constexpr config::MacAddress mac{2, 0, 0, 0, 0, 1};

// Does what the controller asks for, and drives its clock.
class ControllerTest : public testing::Test {
 protected:
  void step(Event event) { take(controller.step(now, std::move(event))); }

  void take(Actions actions) {
    for (Action& action : actions) {
      if (auto* publish = std::get_if<Publish>(&action)) {
        published.push_back(*publish);
        Published answer;
        if (!refusal.empty()) answer.refused = Error{refusal};
        if (refusal.empty()) read_flags(*publish->snapshot);
        take(controller.step(now, std::move(answer)));
      } else if (auto* set = std::get_if<SetFlags>(&action)) {
        set_flags++;
        flags.at(set->pool).at(set->member) = set->flags;
      } else if (auto* watch = std::get_if<Watch>(&action)) {
        watched = std::move(watch->checks);
      } else if (auto* resolve = std::get_if<Resolve>(&action)) {
        asked = std::move(resolve->backends);
      } else if (auto* tell = std::get_if<Tell>(&action)) {
        told.push_back(std::move(tell->message));
      }
    }
  }

  void read_flags(const tables::Snapshot& snapshot) {
    flags.clear();
    for (const tables::Pool& pool : snapshot.pools) {
      flags.emplace_back();
      for (const tables::Member& member : pool.members) flags.back().push_back(member.line.flags);
    }
  }

  void run(Duration duration) {
    const Time end = now + duration;
    while (const auto deadline = controller.deadline()) {
      if (*deadline > end) break;
      now = std::max(now, *deadline);
      step(Tick{});
    }
    now = end;
  }

  void configure(config::Services services) { step(Configure{std::move(services)}); }

  void hops(std::vector<int> hosts, std::string missing = "") {
    HopsSeen seen;
    for (const int number : hosts) {
      HopsSeen::Hop hop{host(number), mac, missing};
      if (!missing.empty()) hop.mac.reset();
      seen.hops.push_back(hop);
    }
    step(std::move(seen));
  }

  void flip(const health::Check& check, health::State state, std::string reason = "refused") {
    const auto known = states.find(check);
    const auto before = known == states.end() ? health::State::unknown : known->second;
    states[check] = state;
    step(HealthSeen{{check, before, state, std::move(reason)}});
  }
  void up(int number) { flip(check_of(number), health::State::up, "connected"); }
  void down(int number) { flip(check_of(number), health::State::down); }

  // A pool whose backends are all known to be up, and published so.
  void start(std::vector<int> all, const std::string& more = "") {
    configure(one_pool(all, more));
    hops(all);
    for (const int number : all) up(number);
    run(1s);
  }

  const tables::Pool& last_pool(size_t index = 0) const {
    return published.back().snapshot->pools.at(index);
  }
  std::set<uint16_t> owners(size_t index = 0) const {
    const auto& table = *last_pool(index).table;
    return {table.begin(), table.end()};
  }

  Time now{100s};
  Controller controller{node_of(), {2, 0, 0, 0, 0, 9}};
  std::string refusal;  // of the engine
  std::deque<Publish> published;
  std::vector<std::vector<uint8_t>> flags;
  int set_flags = 0;
  std::map<health::Check, health::Timing> watched;
  std::vector<config::IpAddress> asked;
  std::vector<std::string> told;
  std::map<health::Check, health::State> states;
};

constexpr uint8_t usable = backend_flag::takes_new | backend_flag::keeps_known;

TEST_F(ControllerTest, PublishesAsSoonAsAllNextHopsAreKnown) {
  configure(one_pool({1, 2}));
  EXPECT_TRUE(published.empty());
  EXPECT_THAT(asked, ElementsAre(host(1), host(2)));
  hops({1});
  EXPECT_TRUE(published.empty());
  hops({2});
  ASSERT_EQ(published.size(), 1u);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable)) << "unknown counts as up";
}

TEST_F(ControllerTest, DoesNotWaitForANextHopThatNeverComes) {
  configure(one_pool({1, 2}));
  hops({1});
  hops({2}, "no route to 10.0.0.2");
  run(299ms);
  EXPECT_TRUE(published.empty());
  run(2ms);
  ASSERT_EQ(published.size(), 1u);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, 0));
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(1).missing, "no route to 10.0.0.2");
}

TEST_F(ControllerTest, ANextHopThatComesLateMakesItsBackendUsable) {
  configure(one_pool({1, 2}));
  hops({1});
  run(400ms);
  hops({2});
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable)) << "at once";
  run(50ms);
  EXPECT_EQ(owners().size(), 2u);
}

path_mtu::TooBig too_big(int number, uint32_t mtu) {
  return {.told_by = *config::parse_address("10.2.0.1"),
          .source = *config::parse_address("192.0.2.11"),
          .destination = host(number),
          .method = core::Method::gre,
          .length = 1500,
          .mtu = mtu};
}

TEST_F(ControllerTest, ATunnelPacketThatWasTooBigIsFollowedByALineForThatPathAtOnce) {
  start({1, 2});
  const size_t before = published.size();
  const auto table = last_pool().table;
  step(TooBigSeen{too_big(2, 1400)});
  ASSERT_EQ(published.size(), before + 1);
  EXPECT_EQ(last_pool().table, table) << "not built again";
  EXPECT_EQ(last_pool().members[0].line.inner_mtu, 1476);
  EXPECT_EQ(last_pool().members[1].line.inner_mtu, 1376);
  EXPECT_EQ(last_pool().members[1].line.mss, 1336);
  EXPECT_EQ(told.back(), "path MTU to 10.0.0.2 is 1400 (told by 10.2.0.1)");
  const PoolView pool = controller.view(now).pools.at(0);
  EXPECT_EQ(pool.backends.at(0).path_mtu, 1500u);
  EXPECT_EQ(pool.backends.at(0).path_mtu_told_by, "");
  EXPECT_EQ(pool.backends.at(1).path_mtu, 1400u);
  EXPECT_EQ(pool.backends.at(1).path_mtu_told_by, "10.2.0.1");
  EXPECT_EQ(controller.view(now).path_mtu_messages[0], 1u);
}

TEST_F(ControllerTest, APathMtuOutlivesAReloadAndIsForgottenAfterTenMinutes) {
  start({1, 2});
  step(TooBigSeen{too_big(2, 1400)});
  configure(one_pool({2, 3}));
  hops({2, 3});
  EXPECT_EQ(last_pool().members[0].line.inner_mtu, 1376);
  run(9min);
  EXPECT_EQ(last_pool().members[0].line.inner_mtu, 1376);
  run(2min);
  EXPECT_EQ(last_pool().members[0].line.inner_mtu, 1476);
  EXPECT_THAT(told.back(), HasSubstr("path MTU to 10.0.0.2 is 1500 again"));
}

TEST_F(ControllerTest, ManyMessagesAreOnePublicationEachPaceAndAFewLines) {
  start({1, 2, 3, 4, 5});
  const size_t before = published.size(), lines = told.size();
  for (uint32_t mtu = 1499; mtu > 1400; mtu--) {
    for (int number = 1; number <= 5; number++) step(TooBigSeen{too_big(number, mtu)});
    run(1ms);
  }
  run(1s);
  EXPECT_EQ(published.size(), before + 2) << "99 ms of messages";
  EXPECT_EQ(told.size(), lines + 1 + 4) << "the first; then three and how many more";
  EXPECT_EQ(last_pool().members[4].line.inner_mtu, 1401 - 24);
}

TEST_F(ControllerTest, WithAGatewayAddressNothingIsAskedOfTheKernel) {
  controller = Controller(node_of("gateway_mac = \"02:00:00:00:00:07\"\n"), {2, 0, 0, 0, 0, 9});
  configure(one_pool({1}));
  EXPECT_TRUE(asked.empty());
  ASSERT_EQ(published.size(), 1u);
  EXPECT_THAT(last_pool().members[0].line.macs, ElementsAre(2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 9));
}

TEST_F(ControllerTest, AFlipToDownIsSeenAtOnceAndTheTableFollowsAfterTheDebounce) {
  start({1, 2, 3});
  const size_t before = published.size();
  down(2);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, 0, usable));
  EXPECT_EQ(set_flags, 1);
  run(49ms);
  EXPECT_EQ(published.size(), before);
  run(1ms);
  ASSERT_EQ(published.size(), before + 1);
  EXPECT_THAT(owners(), ElementsAre(0, 2));
  EXPECT_THAT(told.back(), HasSubstr("backend 10.0.0.2:80 of pool web is down: refused"));
  run(10s);
  EXPECT_EQ(published.size(), before + 1) << "nothing changes by itself";
}

TEST_F(ControllerTest, FlipsOfOneWindowMakeOneTable) {
  std::vector<int> all;
  for (int i = 1; i <= 20; i++) all.push_back(i);
  start(all);
  const size_t before = published.size();
  for (int i = 1; i <= 10; i++) {
    down(i);
    run(4ms);
  }
  run(1s);
  EXPECT_EQ(published.size(), before + 1);
  EXPECT_EQ(owners().size(), 10u);
}

TEST_F(ControllerTest, AFlipTouchesEveryPoolThatHasTheBackendAndNoOther) {
  configure(services_of(pool_of("a", {1, 2}) + "," + pool_of("b", {2, 3}) + "," +
                            pool_of("c", {4}) + "," + pool_of("d", {5}, R"(,"include":["a"])"),
                        service_of(80, "a")));
  hops({1, 2, 3, 4, 5});
  for (int i = 1; i <= 5; i++) up(i);
  run(1s);
  const auto untouched = last_pool(2).table;
  down(2);
  EXPECT_EQ(set_flags, 3);
  EXPECT_THAT(flags, ElementsAre(ElementsAre(usable, 0), ElementsAre(0, usable),
                                 ElementsAre(usable), ElementsAre(usable, 0, usable)));
  run(50ms);
  EXPECT_EQ(last_pool(2).table, untouched) << "its table was not built again";
}

TEST_F(ControllerTest, TheFirstBackendThatIsKnownToBeUpDoesNotGetAllFlowsForAMoment) {
  configure(one_pool({1, 2, 3}));
  hops({1, 2, 3});
  up(1);
  EXPECT_EQ(set_flags, 0);
  up(2);
  up(3);
  run(50ms);
  EXPECT_EQ(owners().size(), 3u);
}

TEST_F(ControllerTest, AnUnknownBackendGetsNothingOnceAnotherIsKnownToBeUp) {
  configure(one_pool({1, 2}));
  hops({1, 2});
  up(1);
  run(50ms);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, 0));
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(1).health, Health::unknown);
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(1).reason, "not checked yet");
}

TEST_F(ControllerTest, WhenTheLastIsDownAClosedPoolHasNobodyAndAnOpenOneAll) {
  start({1, 2});
  down(1);
  down(2);
  EXPECT_THAT(flags.at(0), ElementsAre(0, 0));
  run(50ms);
  EXPECT_TRUE(last_pool().table->empty());
  controller = Controller(node_of(), {});
  states.clear();
  start({1, 2}, R"(,"fail":"open")");
  down(1);
  EXPECT_THAT(flags.at(0), ElementsAre(0, usable));
  down(2);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable));
}

TEST_F(ControllerTest, ABackendThatComesBackIsUsableAtOnceAndInTheTableSoon) {
  start({1, 2});
  down(1);
  run(1s);
  up(1);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable));
  run(50ms);
  EXPECT_EQ(owners().size(), 2u);
}

TEST_F(ControllerTest, ALostNextHopTakesABackendOutAndSaysWhy) {
  start({1, 2});
  hops({2}, "gateway 10.0.0.254 does not answer on eth0");
  EXPECT_THAT(flags.at(0), ElementsAre(usable, 0));
  EXPECT_THAT(told.back(), HasSubstr("10.0.0.2 has no next hop: gateway 10.0.0.254"));
  run(50ms);
  EXPECT_THAT(owners(), ElementsAre(0));
}

TEST_F(ControllerTest, AMacAddressThatChangesIsPublishedThoughNoFlagChanges) {
  start({1});
  const size_t before = published.size();
  step(HopsSeen{{{host(1), config::MacAddress{2, 0, 0, 0, 0, 0x55}, ""}}});
  EXPECT_EQ(set_flags, 0);
  run(50ms);
  ASSERT_EQ(published.size(), before + 1);
  EXPECT_EQ(last_pool().members[0].line.macs[5], 0x55);
}

TEST_F(ControllerTest, AReloadIsPublishedWholeAndStopsChecksOnlyAfterwards) {
  start({1, 2});
  configure(one_pool({2, 3}));
  EXPECT_EQ(watched.size(), 3u) << "old and new are checked until the new one is published";
  hops({3});
  EXPECT_EQ(watched.size(), 2u);
  EXPECT_FALSE(watched.contains(check_of(1)));
  EXPECT_THAT(asked, ElementsAre(host(2), host(3)));
  EXPECT_EQ(controller.view(now).config_generation, 2u);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, 0)) << "the new one is not known to be up yet";
  up(3);
  run(50ms);
  EXPECT_EQ(owners().size(), 2u);
}

TEST_F(ControllerTest, OfABurstOfReloadsTheLastOneCounts) {
  start({1, 2});
  const size_t before = published.size();
  for (int i = 3; i < 100; i++) configure(one_pool({1, i}));
  hops({99});
  run(1s);
  EXPECT_EQ(published.size(), before + 1);
  EXPECT_EQ(last_pool().members[1].name, "10.0.0.99:80");
  EXPECT_EQ(controller.view(now).config_generation, 2u);
}

TEST_F(ControllerTest, AConfigurationThatTheEngineRefusesChangesNothing) {
  start({1, 2});
  refusal = "capacity exceeded";
  configure(one_pool({3}));
  hops({3});
  EXPECT_EQ(told.back(),
            "the engine refuses the configuration, the old one stays: capacity exceeded");
  refusal.clear();
  EXPECT_EQ(watched.size(), 2u);
  EXPECT_EQ(controller.view(now).config_generation, 1u);
  down(1);
  run(50ms);
  ASSERT_EQ(last_pool().members.size(), 2u);
  EXPECT_THAT(owners(), ElementsAre(1));
}

TEST_F(ControllerTest, ARefusedFirstConfigurationLeavesNothingThatStays) {
  refusal = "capacity exceeded";
  configure(one_pool({1}));
  hops({1});
  EXPECT_EQ(told.back(), "the engine refuses the configuration: capacity exceeded");
  EXPECT_FALSE(controller.published());
}

TEST_F(ControllerTest, AMacAddressThatChangesJustBeforeARefusedReloadIsPublishedAfterIt) {
  start({1});
  step(HopsSeen{{{host(1), config::MacAddress{2, 0, 0, 0, 0, 0x55}, ""}}});
  run(10ms);
  refusal = "capacity exceeded";
  configure(one_pool({1}));  // its next hops are known: it is published at once
  EXPECT_THAT(told.back(), HasSubstr("the old one stays: capacity exceeded"));
  refusal.clear();
  run(50ms);
  EXPECT_EQ(last_pool().members[0].line.macs[5], 0x55);
  EXPECT_EQ(controller.view(now).table_generation, published.back().snapshot->generation);
}

TEST_F(ControllerTest, AnEngineThatRefusesATableIsAskedAgainEachSecondAndThatIsSaidOnce) {
  start({1, 2});
  const size_t before = published.size();
  refusal = "no memory";
  down(1);
  told.clear();
  run(3500ms);
  EXPECT_EQ(published.size(), before + 4);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("the engine refuses a new table"));
  refusal.clear();
  run(1s);
  EXPECT_THAT(owners(), ElementsAre(1));
  const size_t after = published.size();
  run(10s);
  EXPECT_EQ(published.size(), after);
}

TEST_F(ControllerTest, AnAddressThatTheHostGetsLaterIsTheHosts) {
  step(OwnSeen{{host(200)}});
  start({1});
  const size_t before = published.size();
  ASSERT_EQ(published.back().snapshot->own_v4.size(), 2u) << "the one of node.toml is there too";
  step(OwnSeen{{host(200), host(201)}});
  run(50ms);
  ASSERT_EQ(published.size(), before + 1);
  EXPECT_THAT(published.back().snapshot->own_v4, testing::Contains(host(201).bytes));
  step(OwnSeen{{host(200), host(201)}});
  run(1s);
  EXPECT_EQ(published.size(), before + 1) << "nothing new";
}

TEST_F(ControllerTest, AHealthThatWasKnownBeforeARemovalIsForgotten) {
  start({1, 2});
  configure(one_pool({2}));
  configure(one_pool({1, 2}));
  hops({1});
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(0).health, Health::unknown);
}

TEST_F(ControllerTest, TableGenerationsRiseWithEveryTableAndConfigurationsWithEveryConfiguration) {
  start({1, 2});
  const View first = controller.view(now);
  down(1);
  run(50ms);
  const View second = controller.view(now);
  EXPECT_EQ(second.table_generation, first.table_generation + 1);
  EXPECT_EQ(second.config_generation, first.config_generation);
  EXPECT_EQ(published.back().snapshot->generation, second.table_generation);
}

TEST_F(ControllerTest, ChecksThatAreNotImplementedAreSaidOncePerPoolAndCountAsUp) {
  configure(one_pool({1, 2}, R"(,"health_check":{"type":"https"})"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0],
            "pool web: backend 10.0.0.1:80 and 1 more are not checked, which counts as up: health "
            "checks of type https are not implemented yet");
  EXPECT_TRUE(watched.empty());
  hops({1, 2});
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable));
}

TEST_F(ControllerTest, ABackendThatCannotBeCheckedGetsFlowsBesideOneThatIsKnownToBeUp) {
  const std::string included = R"(,"include":["other"])";
  configure(services_of(pool_of("web", {1}, included) + "," +
                            pool_of("other", {2}, R"(,"health_check":{"type":"icmp"})"),
                        service_of(80, "web")));
  hops({1, 2});
  up(1);
  run(50ms);
  EXPECT_THAT(flags.at(0), ElementsAre(usable, usable));
  EXPECT_EQ(owners().size(), 2u);
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(1).health, Health::unknown);
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(1).reason,
            "not checked: health checks of type icmp are not implemented yet");
}

TEST_F(ControllerTest, TheViewTellsTheReasonOfTheLastAnswerAndSinceWhenItIsSo) {
  start({1});
  down(1);
  run(50ms);
  const health::Known known{
      health::State::down, now - 5s, {health::ProbeResult::timeout, "no answer within 2s", 2s}};
  const View view = controller.view(
      now, [&](const health::Check& check) { return check == check_of(1) ? &known : nullptr; });
  EXPECT_EQ(view.pools.at(0).backends.at(0).reason, "no answer within 2s");
  EXPECT_EQ(view.pools.at(0).backends.at(0).since, 5s);
}

TEST_F(ControllerTest, WhatWasAppliedIsCountedInWords) {
  configure(one_pool({1, 2}));
  hops({1, 2});
  EXPECT_EQ(told.back(), "configuration 1 applied: 1 VIP, 1 service, 1 pool, 2 backends");
}

TEST_F(ControllerTest, ABackendThatIsNotCheckedIsUp) {
  configure(one_pool({1}, R"(,"health_check":{"type":"none"})"));
  hops({1});
  EXPECT_TRUE(watched.empty());
  EXPECT_EQ(controller.view(now).pools.at(0).backends.at(0).health, Health::up);
}

}  // namespace
}  // namespace fairlead::controller
