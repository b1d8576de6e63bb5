// SPDX-License-Identifier: MIT
// The tunnel in front of a packet, byte for byte against an encoder of the test's own, in all four
// pairs of families; and that a frame without room is left as it was.
#include "core/path/rewrite.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/test_tunnel.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

const Tunnel over_v4{}, over_v6{.node = "2001:db8:2::11", .backend = "2001:db8:b::1"};
const IpSpec v4{}, v6{.source = "2001:db8::7", .destination = "2001:db8:1::10"};
constexpr u64 some_hash = 0x1122334455667788;
constexpr u32 some_label = 0x67788;  // its low 20 bits

// What rewrite() makes of a frame with so much room in front of it.
struct Rewritten {
  bool done;
  Bytes bytes;
};
Rewritten rewritten(const Bytes& bytes, const Tunnel& tunnel, u32 room, u64 hash = some_hash) {
  const HeapFrame block(bytes, room);
  TestFrame frame = block.frame();
  Packet packet;
  packet.shape = admit(frame, packet);
  packet.hash = hash;
  const Backend line = tunnel.line(usable);
  const bool done = rewrite(frame, line, packet);
  return {done, Bytes(frame.bytes().begin(), frame.bytes().end())};
}

struct Pair {
  Tunnel outer;
  IpSpec inner;
};
const Pair pairs[] = {{over_v4, v4}, {over_v4, v6}, {over_v6, v4}, {over_v6, v6}};

class Gre : public testing::TestWithParam<Pair> {
 protected:
  const Tunnel& outer() const { return GetParam().outer; }
  IpSpec inner() const { return GetParam().inner; }
};
INSTANTIATE_TEST_SUITE_P(Pairs, Gre, testing::ValuesIn(pairs), [](const auto& test) {
  const bool inner_v6 = family_of(test.param.inner.destination) == Family::v6;
  return std::string(inner_v6 ? "v6" : "v4") + (test.param.outer.is_v6() ? "_in_v6" : "_in_v4");
});

TEST_P(Gre, EveryTosAndTrafficClassIsCopiedEcnIncluded) {
  for (u32 tos = 0; tos < 256; tos++) {
    IpSpec spec = inner();
    spec.tos = static_cast<u8>(tos);
    const Bytes packet = ip(spec, tcp());
    const Rewritten result = rewritten(ethernet(packet), outer(), outer().overhead());
    ASSERT_TRUE(result.done);
    ASSERT_EQ(result.bytes, outer().around(packet, {}, some_label)) << "tos " << tos;
  }
}

TEST_P(Gre, TagsMoveToTheFrontAsTheyAre) {
  const std::vector<std::vector<u32>> tags{
      {}, {0x8100a02a}, {0x88a80001}, {0x88a8f00f, 0x81000fff}, {0x81000001, 0x81000002}};
  const Bytes packet = ip(inner(), tcp());
  for (const std::vector<u32>& some : tags) {
    const Rewritten result = rewritten(ethernet(packet, some), outer(), outer().overhead());
    ASSERT_TRUE(result.done);
    ASSERT_EQ(result.bytes, outer().around(packet, some, some_label)) << some.size() << " tags";
  }
}

TEST_P(Gre, PaddingStaysBehindAndCountsForNothing) {
  const Bytes packet = ip(inner(), udp());
  for (size_t size = 0; size < 48; size++) {
    const Bytes padding(size, 0xa5);
    for (const std::vector<u32>& tags : {std::vector<u32>{}, {0x81000007}}) {
      Bytes bytes = ethernet(packet, tags);
      put(bytes, padding);
      const Rewritten result = rewritten(bytes, outer(), outer().overhead());
      ASSERT_TRUE(result.done);
      ASSERT_EQ(result.bytes, outer().around(packet, tags, some_label, padding));
    }
  }
}

TEST_P(Gre, EveryLengthIsRightAndTheChecksumWithIt) {
  for (u32 size = 0; size <= 1480; size++) {
    const Bytes packet = ip(inner(), tcp({.payload = Bytes(size, 0x5a)}));
    const Rewritten result = rewritten(ethernet(packet), outer(), outer().overhead());
    ASSERT_EQ(result.bytes, outer().around(packet, {}, some_label)) << size;
  }
}

TEST_P(Gre, OptionsAndExtensionHeadersAreKept) {
  IpSpec spec = inner();
  spec.options = {7, 7, 4, 0, 0, 0, 0, 0};
  spec.extensions = {hop_by_hop(), routing(), destination_options(1)};
  const Bytes packet = ip(spec, tcp({.options = {2, 4, 0x05, 0xb4}}));
  const Rewritten result = rewritten(ethernet(packet), outer(), outer().overhead());
  EXPECT_EQ(result.bytes, outer().around(packet, {}, some_label));
}

TEST_P(Gre, RandomAddressesGiveValidHeaders) {
  // The checksum is folded from a partial one: carries of every kind must come out right.
  std::mt19937_64 random(1);
  for (u32 n = 0; n < 20'000; n++) {
    auto text = [&random](bool is_v6) {
      char out[64];
      u8 bytes[16];
      for (u8& byte : bytes) byte = random() % 3 ? static_cast<u8>(random()) : u8{0xff};
      inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes, out, sizeof out);
      return std::string(out);
    };
    Tunnel tunnel = outer();
    tunnel.node = text(tunnel.is_v6());
    tunnel.backend = text(tunnel.is_v6());
    IpSpec spec = inner();
    spec.tos = static_cast<u8>(random());
    const Bytes packet = ip(spec, udp(1, 2, Bytes(random() % 1400)));
    const u64 hash = random();
    const Rewritten result = rewritten(ethernet(packet), tunnel, tunnel.overhead(), hash);
    ASSERT_EQ(result.bytes, tunnel.around(packet, {}, hash & 0xfffff));
  }
}

TEST_P(Gre, AFrameWithoutRoomIsLeftAsItWas) {
  const Bytes bytes = ethernet(ip(inner(), tcp()), {0x81000001});
  for (u32 room = 0; room < outer().overhead(); room++) {
    const Rewritten result = rewritten(bytes, outer(), room);
    ASSERT_FALSE(result.done) << room;
    ASSERT_EQ(result.bytes, bytes) << room;
  }
  EXPECT_TRUE(rewritten(bytes, outer(), outer().overhead() + 7).done);
}

TEST(GreOverIpv6, TheFlowLabelIsTheLow20BitsOfTheHash) {
  const Bytes packet = ip(v4, tcp());
  for (u32 bit = 0; bit < 64; bit++) {
    const u64 hash = 1ull << bit;
    const Rewritten result = rewritten(ethernet(packet), over_v6, 44, hash);
    ASSERT_EQ(result.bytes, over_v6.around(packet, {}, bit < 20 ? 1u << bit : 0));
  }
}

TEST(GreOverIpv4, TheHeaderSumsToNothingAsRfc1071Wants) {
  for (u32 tos = 0; tos < 256; tos += 5) {
    IpSpec spec = v4;
    spec.tos = static_cast<u8>(tos);
    const Rewritten result = rewritten(frame(spec, tcp()), over_v4, 24);
    EXPECT_EQ(internet_checksum(result.bytes, 14, 34), 0);
  }
}

}  // namespace
}  // namespace fairlead::core::test
