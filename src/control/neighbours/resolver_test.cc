// SPDX-License-Identifier: MIT
// Next hops from a real kernel, in a network namespace of the test's own.
#include "control/neighbours/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <algorithm>

#include "control/config/address.h"
#include "engine/bpf/veth_pair.h"

namespace fairlead::neighbours {
namespace {

using engine::VethPair;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr MacAddress one{2, 0, 0, 0, 0, 1}, two{2, 0, 0, 0, 0, 2};

IpAddress address(const std::string& text) { return *config::parse_address(text); }

class ResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    FAIRLEAD_NEEDS_NETWORK();
    veth.emplace(VethPair::Options{});
    ip("link set lo up");
    ip("addr add 10.9.0.254/24 dev far0");
    ip("addr add fd09::254/64 dev far0 nodad");
    ip("addr add 10.8.0.254/24 dev near0");
    ip("neigh replace 10.9.0.1 lladdr 02:00:00:00:00:01 nud permanent dev far0");
    ip("neigh replace fd09::1 lladdr 02:00:00:00:00:01 nud permanent dev far0");
    auto made = Resolver::open("far0", ::if_nametoindex("far0"));
    ASSERT_TRUE(made) << made.error().message;
    resolver.emplace(std::move(*made));
  }

  void ip(const std::string& command) { ASSERT_TRUE(VethPair::run("ip " + command)) << command; }

  std::vector<Resolver::Found> look() {
    Resolver::Looked looked = resolver->look();
    EXPECT_FALSE(looked.failed) << looked.failed->message;
    return std::move(looked.changed);
  }

  Hop hop(const std::string& backend) {
    resolver->want({address(backend)});
    resolver->want({});  // forget what is known
    resolver->want({address(backend)});
    const auto found = look();
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? Hop{} : found[0].hop;
  }

  std::optional<VethPair> veth;
  std::optional<Resolver> resolver;
};

TEST_F(ResolverTest, ABackendOnTheLinkIsItsOwnNextHop) {
  EXPECT_EQ(hop("10.9.0.1").mac, one);
  EXPECT_EQ(hop("fd09::1").mac, one);
}

TEST_F(ResolverTest, ABackendBehindARouterGoesToTheRouter) {
  ip("route add 192.0.2.0/24 via 10.9.0.1");
  ip("-6 route add 2001:db8::/32 via fd09::1");
  EXPECT_EQ(hop("192.0.2.77").mac, one);
  EXPECT_EQ(hop("2001:db8::77").mac, one);
}

TEST_F(ResolverTest, AnIpv4RouteMayHaveAnIpv6Gateway) {
  ip("route add 192.0.2.0/24 via inet6 fd09::1 dev far0");
  EXPECT_EQ(hop("192.0.2.77").mac, one);
}

TEST_F(ResolverTest, SaysThatThereIsNoRoute) {
  EXPECT_EQ(hop("203.0.113.1").missing, "no route to 203.0.113.1");
  EXPECT_EQ(hop("2001:db8::1").missing, "no route to 2001:db8::1");
  ip("route add unreachable 192.0.2.0/24");
  EXPECT_EQ(hop("192.0.2.1").missing, "no route to 192.0.2.1");
  ip("route add blackhole 198.51.100.0/24");
  EXPECT_THAT(hop("198.51.100.1").missing, HasSubstr("no route to 198.51.100.1"));
}

TEST_F(ResolverTest, SaysThatTheRouteLeavesElsewhere) {
  EXPECT_EQ(hop("10.8.0.1").missing,
            "the route to 10.8.0.1 leaves through near0, not through far0");
}

TEST_F(ResolverTest, SaysThatTheAddressIsTheNodesOwn) {
  EXPECT_EQ(hop("10.9.0.254").missing, "10.9.0.254 is an address of this node");
}

TEST_F(ResolverTest, AsksForANeighbourThatIsNotKnownAndSaysThatItWaits) {
  EXPECT_EQ(hop("10.9.0.5").missing, "waiting for 10.9.0.5 to answer on far0");
  ip("route add 192.0.2.0/24 via 10.9.0.6");
  EXPECT_EQ(hop("192.0.2.1").missing, "waiting for gateway 10.9.0.6 to answer on far0");
  // The question is on the wire: the kernel has an entry that it did not have before.
  EXPECT_TRUE(VethPair::run("ip neigh get 10.9.0.5 dev far0"));
  const auto frames = veth->receive(20, std::chrono::milliseconds(300));
  EXPECT_TRUE(std::ranges::any_of(frames, [](const VethPair::Frame& frame) {
    return frame.size() >= 42 && frame[12] == std::byte{8} && frame[13] == std::byte{6};
  })) << "an ARP request";
}

TEST_F(ResolverTest, TellsOnlyWhatHasChanged) {
  resolver->want({address("10.9.0.1"), address("203.0.113.1")});
  EXPECT_EQ(look().size(), 2u);
  EXPECT_THAT(look(), IsEmpty());
  ip("neigh replace 10.9.0.1 lladdr 02:00:00:00:00:02 nud permanent dev far0");
  const auto changed = look();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].backend, address("10.9.0.1"));
  EXPECT_EQ(changed[0].hop.mac, two);
  resolver->want({address("10.9.0.1"), address("203.0.113.1"), address("10.8.0.1")});
  EXPECT_EQ(look().size(), 1u) << "what was known stays known";
}

TEST_F(ResolverTest, ALinkThatIsDownHasNoRoutes) {
  ASSERT_EQ(hop("10.9.0.1").mac, one);
  ip("link set far0 down");
  EXPECT_THAT(hop("10.9.0.1").missing, HasSubstr("no route to 10.9.0.1"));
}

TEST_F(ResolverTest, KnowsTheAddressesOfThisHost) {
  const auto own = resolver->own();
  ASSERT_TRUE(own) << own.error().message;
  for (const char* text : {"127.0.0.1", "::1", "10.9.0.254", "fd09::254", "10.8.0.254"}) {
    EXPECT_THAT(*own, Contains(address(text))) << text;
  }
}

TEST_F(ResolverTest, TenThousandBackendsAreLookedUpWithinASecond) {
  std::vector<IpAddress> backends;
  for (int i = 0; i < 10'000; i++) {
    backends.push_back(
        address("10.9." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1)));
  }
  ip("route add 10.9.0.0/16 via 10.9.0.1");
  resolver->want(backends);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(look().size(), backends.size());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5))
      << "0.1 s on a machine that does nothing else";
}

}  // namespace
}  // namespace fairlead::neighbours
