// SPDX-License-Identifier: MIT
#include "control/path_mtu/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/limits.h"
#include "control/path_mtu/test_message.h"

namespace fairlead::path_mtu {
namespace {

using namespace std::chrono_literals;
using core::Method;
using testing::IsEmpty;
using testing::SizeIs;
using Result = Table::Result;

TooBig about(const char* backend, uint32_t mtu, uint32_t length = 1500) {
  const bool v6 = std::string_view(backend).find(':') != std::string_view::npos;
  return {.told_by = ip(v6 ? "2001:db8:f::1" : "10.2.0.1"),
          .source = ip(v6 ? "2001:db8::11" : "192.0.2.11"),
          .destination = ip(backend),
          .method = Method::gre,
          .length = length,
          .mtu = mtu};
}

class PathMtus : public testing::Test {
 protected:
  PathMtus() {
    table.want({{ip("10.0.0.1"), bit_of(Method::gre)},
                {ip("10.0.0.2"), bit_of(Method::gre)},
                {ip("2001:db8:1::1"), bit_of(Method::gre)}});
  }

  Changes hear(const TooBig& message) { return table.step(now, message); }

  // What is in force a good while later.
  uint32_t after(const TooBig& message) {
    hear(message);
    now += 1s;
    table.step(now);
    const Table::Known* known = table.find(message.destination);
    return known ? known->mtu : 0;
  }

  uint64_t count(Result result) const { return table.counts()[static_cast<size_t>(result)]; }

  void expect_ignored(const TooBig& message, const char* why) {
    const uint64_t before = count(Result::ignored);
    EXPECT_THAT(hear(message), IsEmpty()) << why;
    EXPECT_EQ(count(Result::ignored), before + 1) << why;
  }

  Time now{1h};
  Table table{{ip("192.0.2.11"), ip("2001:db8::11")}, 1500};
};

TEST_F(PathMtus, AreNetworkMtuUntilARouterSaysLess) {
  EXPECT_EQ(table.find(ip("10.0.0.1")), nullptr);
  EXPECT_FALSE(table.deadline());
  const Changes changes = hear(about("10.0.0.1", 1400));
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].backend, ip("10.0.0.1"));
  EXPECT_EQ(changes[0].before, 1500u);
  EXPECT_EQ(changes[0].mtu, 1400u);
  EXPECT_EQ(changes[0].told_by, ip("10.2.0.1"));
  ASSERT_NE(table.find(ip("10.0.0.1")), nullptr);
  EXPECT_EQ(table.find(ip("10.0.0.1"))->mtu, 1400u);
  EXPECT_EQ(table.find(ip("10.0.0.2")), nullptr) << "another way";
}

TEST_F(PathMtus, AreLoweredButNeverRaisedByAMessage) {
  EXPECT_EQ(after(about("10.0.0.1", 1400)), 1400u);
  EXPECT_EQ(after(about("10.0.0.1", 1300)), 1300u);
  expect_ignored(about("10.0.0.1", 1400), "larger than what is known");
  EXPECT_EQ(table.find(ip("10.0.0.1"))->mtu, 1300u);
}

TEST_F(PathMtus, AreForgottenTenMinutesAfterTheLastWord) {
  EXPECT_EQ(after(about("10.0.0.1", 1400)), 1400u);
  now += 5min;
  EXPECT_THAT(hear(about("10.0.0.1", 1400)), IsEmpty()) << "known already";
  EXPECT_EQ(count(Result::known), 1u);
  now += limits::lifetime - 1s;
  EXPECT_THAT(table.step(now), IsEmpty());
  now += 1s + limits::sweep;
  ASSERT_TRUE(table.deadline());
  EXPECT_LE(*table.deadline(), now);
  const Changes changes = table.step(now);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].before, 1400u);
  EXPECT_EQ(changes[0].mtu, 1500u);
  EXPECT_EQ(changes[0].told_by.family, core::Family::none);
  EXPECT_EQ(table.find(ip("10.0.0.1")), nullptr);
  EXPECT_FALSE(table.deadline());
}

TEST_F(PathMtus, ChangeInBatchesThatArePaced) {
  EXPECT_THAT(hear(about("10.0.0.1", 1400)), SizeIs(1)) << "the first at once";
  now += 1ms;
  EXPECT_THAT(hear(about("10.0.0.2", 1400)), IsEmpty());
  EXPECT_THAT(hear(about("10.0.0.1", 1350)), IsEmpty());
  EXPECT_EQ(table.find(ip("10.0.0.1"))->mtu, 1400u) << "what was given out is in force";
  EXPECT_EQ(table.find(ip("10.0.0.2")), nullptr);
  EXPECT_EQ(table.deadline(), now - 1ms + limits::pace);
  now = *table.deadline();
  EXPECT_THAT(table.step(now), SizeIs(2));
  EXPECT_EQ(table.find(ip("10.0.0.1"))->mtu, 1350u);
  EXPECT_EQ(table.find(ip("10.0.0.2"))->mtu, 1400u);
}

TEST_F(PathMtus, DoNotBelieveWhatCannotBeTrue) {
  TooBig message = about("10.0.0.1", 1400);
  message.source = ip("192.0.2.12");
  expect_ignored(message, "a packet of another node");
  expect_ignored(about("10.0.0.3", 1400), "no backend");
  message = about("10.0.0.1", 1400);
  message.method = Method::ipip;
  expect_ignored(message, "a tunnel that is not used towards it");
  expect_ignored(about("10.0.0.1", 1400, 1501), "longer than any that was sent");
  expect_ignored(about("10.0.0.1", 1400, 1400), "it would have passed");
  expect_ignored(about("10.0.0.1", 1500), "no less than is known");
  expect_ignored(about("10.0.0.1", 575), "less than any link has to take");
  expect_ignored(about("2001:db8:1::1", 1279), "less than any IPv6 link may take");
  expect_ignored(about("2001:db8:1::1", 0), "no IPv6 router leaves it out");
  EXPECT_EQ(after(about("10.0.0.1", 576)), 576u);
  EXPECT_EQ(after(about("2001:db8:1::1", 1280)), 1280u);
}

TEST_F(PathMtus, FollowThePlateausWhenARouterGivesNoNumber) {
  EXPECT_EQ(after(about("10.0.0.1", 0, 1500)), 1492u);
  EXPECT_EQ(after(about("10.0.0.1", 0, 1492)), 1006u);
  EXPECT_EQ(after(about("10.0.0.1", 0, 1006)), 576u);
  expect_ignored(about("10.0.0.1", 0, 576), "there is none below");
}

TEST_F(PathMtus, OfBackendsThatAreNoLongerConfiguredAreForgotten) {
  EXPECT_EQ(after(about("10.0.0.1", 1400)), 1400u);
  EXPECT_EQ(after(about("10.0.0.2", 1400)), 1400u);
  hear(about("10.0.0.1", 1300));
  hear(about("10.0.0.1", 1299));  // waits for its batch
  table.want({{ip("10.0.0.2"), bit_of(Method::gre)}});
  EXPECT_EQ(table.find(ip("10.0.0.1")), nullptr);
  EXPECT_EQ(table.find(ip("10.0.0.2"))->mtu, 1400u);
  now += 1s;
  EXPECT_THAT(table.step(now), IsEmpty());
}

TEST(PathMtuTargets, AreTheBackendsOfTunnelsEachWithTheMethodsOfItsPools) {
  const auto member = [](const char* address) {
    const IpAddress at = ip(address);
    tables::Member made;
    made.identity = {at.bytes, at.family};
    return made;
  };
  tables::Snapshot snapshot;
  snapshot.pools = {{"a", Method::gre, {member("10.0.0.1"), member("2001:db8:1::1")}, {}},
                    {"b", Method::gue, {member("10.0.0.1")}, {}},
                    {"c", Method::nat, {member("10.0.0.2")}, {}}};
  const Targets targets = targets_of(snapshot);
  EXPECT_THAT(targets, SizeIs(2));
  EXPECT_EQ(targets.at(ip("10.0.0.1")), bit_of(Method::gre) | bit_of(Method::gue));
  EXPECT_EQ(targets.at(ip("2001:db8:1::1")), bit_of(Method::gre));
}

}  // namespace
}  // namespace fairlead::path_mtu
