// SPDX-License-Identifier: MIT
// The sockets on a loop, in a network namespace of the test's own, where another raw socket plays
// the router.
#include "control/path_mtu/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "control/limits.h"
#include "control/path_mtu/test_message.h"
#include "engine/bpf/veth_pair.h"

namespace fairlead::path_mtu {
namespace {

using namespace std::chrono_literals;
using core::Family;
using engine::VethPair;

const Bytes outer4 = ipv4("192.0.2.11", "10.0.0.1", 47, 1500) + gre4;
const Bytes outer6 = ipv6("2001:db8::11", "2001:db8:1::1", 47, 1500) + gre6;

class Ears : public testing::Test {
 protected:
  void SetUp() override {
    FAIRLEAD_NEEDS_NETWORK();
    veth.emplace(VethPair::Options{});
    ASSERT_TRUE(VethPair::run("ip link set lo up"));
  }

  void listen(Family family) {
    auto made =
        Listener::open(loop, family, [this](const TooBig& message) { heard.push_back(message); });
    ASSERT_TRUE(made) << made.error().message;
    listener = std::move(*made);
  }

  // An ICMP message to this host, from itself; the kernel writes the IP header.
  static void say(Family family, const Bytes& message) {
    const bool v6 = family == Family::v6;
    const Fd socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC,
                             v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP}));
    sockaddr_in to4{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    sockaddr_in6 to6{.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const ssize_t sent = v6 ? ::sendto(socket.get(), message.data(), message.size(), 0,
                                       reinterpret_cast<sockaddr*>(&to6), sizeof to6)
                            : ::sendto(socket.get(), message.data(), message.size(), 0,
                                       reinterpret_cast<sockaddr*>(&to4), sizeof to4);
    ASSERT_EQ(sent, static_cast<ssize_t>(message.size()));
  }

  bool wait_for(size_t count) {
    const Time end = now() + 5s;
    while (heard.size() < count && now() < end) {
      loop.restart();
      loop.run_for(5ms);
    }
    return heard.size() == count;
  }

  std::optional<VethPair> veth;
  boost::asio::io_context loop{1};
  std::unique_ptr<Listener> listener;
  std::vector<TooBig> heard;
};

TEST_F(Ears, HearIcmpThatSaysTooBigAndNothingElse) {
  listen(Family::v4);
  const auto message = [](uint32_t mtu, uint8_t code) {
    return needs_fragmentation("127.0.0.1", mtu, outer4, code).substr(20);
  };
  say(Family::v4, message(1300, 1));
  say(Family::v4, with_sum(Bytes{8, 0, 0, 0} + be32(0), 2));  // a ping
  say(Family::v4, message(1400, 4));
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(heard[0].mtu, 1400u);
  EXPECT_EQ(heard[0].destination, ip("10.0.0.1"));
  EXPECT_EQ(heard[0].told_by, ip("127.0.0.1"));
}

TEST_F(Ears, HearIcmpv6ThatSaysTooBigAndNothingElse) {
  listen(Family::v6);
  say(Family::v6, Bytes{1} + packet_too_big(1300, outer6).substr(1));
  say(Family::v6, packet_too_big(1400, outer6));
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(heard[0].mtu, 1400u);
  EXPECT_EQ(heard[0].destination, ip("2001:db8:1::1"));
  EXPECT_EQ(heard[0].told_by, ip("::1"));
}

TEST_F(Ears, RestInAFlood) {
  listen(Family::v4);
  const Bytes message = needs_fragmentation("127.0.0.1", 1400, outer4).substr(20);
  for (uint32_t i = 0; i < 2 * limits::at_once; i++) say(Family::v4, message);
  loop.run_one();
  EXPECT_EQ(heard.size(), limits::at_once);
  const Time begin = now();
  loop.run_one();
  EXPECT_GE(now() - begin, limits::rest / 2) << "the loop has time for others";
  ASSERT_TRUE(wait_for(2 * limits::at_once));
}

}  // namespace
}  // namespace fairlead::path_mtu
