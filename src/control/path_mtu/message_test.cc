// SPDX-License-Identifier: MIT
#include "control/path_mtu/message.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "control/path_mtu/test_message.h"

namespace fairlead::path_mtu {
namespace {

using core::Method;

const Bytes outer4 = ipv4("192.0.2.11", "10.0.0.1", 47, 1500);
const Bytes outer6 = ipv6("2001:db8::11", "2001:db8:1::1", 47, 1500);
const IpAddress router6 = ip("2001:db8:f::1");

TEST(IcmpMessage, TellsRouterPacketAndMtu) {
  const auto message = read_icmp(needs_fragmentation("10.2.0.1", 1400, outer4 + gre4));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->told_by, ip("10.2.0.1"));
  EXPECT_EQ(message->source, ip("192.0.2.11"));
  EXPECT_EQ(message->destination, ip("10.0.0.1"));
  EXPECT_EQ(message->method, Method::gre);
  EXPECT_EQ(message->length, 1500u);
  EXPECT_EQ(message->mtu, 1400u);
}

TEST(Icmpv6Message, TellsRouterPacketAndMtu) {
  const auto message = read_icmpv6(packet_too_big(1400, outer6 + gre6), router6);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->told_by, router6);
  EXPECT_EQ(message->source, ip("2001:db8::11"));
  EXPECT_EQ(message->destination, ip("2001:db8:1::1"));
  EXPECT_EQ(message->method, Method::gre);
  EXPECT_EQ(message->length, 1500u);
  EXPECT_EQ(message->mtu, 1400u);
}

TEST(IcmpMessage, MayQuoteAsLittleAsTheIpHeaderOfThePacket) {
  const Bytes quote = outer4 + gre4 + ipv4("203.0.113.5", "198.51.100.10", 6, 1476) + Bytes(8, 1);
  for (size_t length = 0; length <= quote.size(); length++) {
    const auto message = read_icmp(needs_fragmentation("10.2.0.1", 1400, quote.substr(0, length)));
    EXPECT_EQ(message.has_value(), length >= 20) << length;
  }
  const Bytes quote6 = outer6 + gre6 + Bytes(8, 1);
  for (size_t length = 0; length <= quote6.size(); length++) {
    const auto message = read_icmpv6(packet_too_big(1400, quote6.substr(0, length)), router6);
    EXPECT_EQ(message.has_value(), length >= 40) << length;
  }
}

TEST(IcmpMessage, KnowsTheTunnelByProtocolAndByWhatFollowsIfThatIsQuoted) {
  const auto method = [](uint8_t protocol, const Bytes& quoted) -> std::optional<Method> {
    const auto message = read_icmp(needs_fragmentation(
        "10.2.0.1", 1400, ipv4("192.0.2.11", "10.0.0.1", protocol, 1500) + quoted));
    return message ? std::optional(message->method) : std::nullopt;
  };
  EXPECT_EQ(method(47, gre6), Method::gre);
  EXPECT_EQ(method(47, be16(0x2000) + be16(0x0800)), std::nullopt) << "GRE with a key";
  EXPECT_EQ(method(47, be16(0) + be16(0x6558)), std::nullopt) << "GRE with Ethernet";
  EXPECT_EQ(method(4, {}), Method::ipip);
  EXPECT_EQ(method(41, {}), Method::ipip);
  EXPECT_EQ(method(17, be16(50'000) + be16(6080) + be16(1480) + be16(0)), Method::gue);
  EXPECT_EQ(method(17, be16(50'000) + be16(53) + be16(1480) + be16(0)), std::nullopt);
  EXPECT_EQ(method(6, Bytes(8, 0)), std::nullopt);
}

TEST(IcmpMessage, OfAnotherKindIsNone) {
  EXPECT_FALSE(read_icmp(needs_fragmentation("10.2.0.1", 1400, outer4 + gre4, 1))) << "no host";
  EXPECT_FALSE(read_icmpv6(Bytes{1} + packet_too_big(1400, outer6 + gre6).substr(1), router6));
  const Bytes may_be_cut = ipv4("192.0.2.11", "10.0.0.1", 47, 1500, 0);
  EXPECT_FALSE(read_icmp(needs_fragmentation("10.2.0.1", 1400, may_be_cut + gre4)))
      << "a packet without DF is not ours";
  const Bytes options = Bytes{0x46} + outer4.substr(1) + Bytes(4, 1);
  EXPECT_FALSE(read_icmp(needs_fragmentation("10.2.0.1", 1400, options + gre4))) << "nor options";
}

TEST(IcmpMessage, WithAWrongSumOrCutShortIsNone) {
  const Bytes whole = needs_fragmentation("10.2.0.1", 1400, outer4 + gre4);
  for (size_t length = 0; length < whole.size(); length++) {
    EXPECT_FALSE(read_icmp(Bytes(whole, 0, length))) << length;
  }
  for (size_t at = 20; at < whole.size(); at++) {
    Bytes wrong = whole;
    wrong[at] ^= 0x10;
    EXPECT_FALSE(read_icmp(wrong)) << at;
  }
}

TEST(IcmpMessage, MayBeAnyBytes) {
  std::mt19937 random(1);
  const Bytes good[] = {needs_fragmentation("10.2.0.1", 1400, outer4 + gre4),
                        packet_too_big(1400, outer6 + gre6)};
  size_t read = 0;
  for (int round = 0; round < 100'000; round++) {
    Bytes bytes = good[round % 2];
    bytes.resize(random() % (bytes.size() + 1));
    for (unsigned long flips = random() % 3; flips > 0 && !bytes.empty(); flips--) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    // From memory of its own, so that a sanitizer sees a byte too many being read.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    if (read_icmp(exact) || read_icmpv6(exact, router6)) read++;
  }
  EXPECT_GT(read, 0u);
}

}  // namespace
}  // namespace fairlead::path_mtu
