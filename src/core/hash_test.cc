// SPDX-License-Identifier: MIT
// What the hash owes the path: every input bit matters to every output bit, flows as they come (one
// client's ports in a row, a network's addresses in a row) spread evenly over slots and lines, and
// nobody can tell where without the seeds.
#include "core/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include "core/connections.h"
#include "core/test_packets.h"

namespace fairlead::core::test {
namespace {

struct Flow {
  Family family = Family::v4;
  Address source{}, destination{};
  be16 source_port = 0, destination_port = 0;
  u8 protocol = 6;
};

Settings seeded(u64 first, u64 second) {
  Settings settings{};
  settings.seed[0] = first;
  settings.seed[1] = second;
  return settings;
}
const Settings usual = seeded(0x0123456789abcdef, 0xfedcba9876543210);

u64 hash(const Flow& flow, const Settings& settings = usual) {
  return flow_hash(settings, flow.family, flow.source, flow.destination, flow.source_port,
                   flow.destination_port, flow.protocol);
}

Flow random_flow(Family family, std::mt19937_64& random) {
  Flow flow{.family = family};
  for (u32 i = 0; i < (family == Family::v6 ? 4u : 1u); i++) {
    flow.source.word[i] = static_cast<u32>(random());
    flow.destination.word[i] = static_cast<u32>(random());
  }
  flow.source_port = static_cast<be16>(random());
  flow.destination_port = static_cast<be16>(random());
  return flow;
}

// Flips input bit `bit` of a flow: addresses first, then ports, then the protocol.
u32 input_bits(Family family) { return (family == Family::v6 ? 256u : 64u) + 32 + 8; }
void flip(Flow& flow, u32 bit) {
  const u32 half = flow.family == Family::v6 ? 128 : 32;
  if (bit < half)
    flow.source.word[bit / 32] ^= 1u << bit % 32;
  else if (bit < 2 * half)
    flow.destination.word[(bit - half) / 32] ^= 1u << bit % 32;
  else if (bit < 2 * half + 16)
    flow.source_port ^= static_cast<be16>(1u << (bit - 2 * half));
  else if (bit < 2 * half + 32)
    flow.destination_port ^= static_cast<be16>(1u << (bit - 2 * half - 16));
  else
    flow.protocol ^= static_cast<u8>(1u << (bit - 2 * half - 32));
}

// Chi-square of counts over its degrees of freedom: near 1 for chance, far above for a pattern.
double unevenness(const std::vector<u32>& counts) {
  double total = 0, sum = 0;
  for (u32 count : counts) total += count;
  const double mean = total / static_cast<double>(counts.size());
  for (u32 count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum / static_cast<double>(counts.size() - 1);
}

class HashOf : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Families, HashOf, testing::Values(Family::v4, Family::v6),
                         [](const auto& test) { return test.param == Family::v4 ? "v4" : "v6"; });

TEST_P(HashOf, EveryInputBitChangesAboutHalfOfTheOutputBits) {
  std::mt19937_64 random(1);
  constexpr u32 rounds = 2000;
  for (u32 bit = 0; bit < input_bits(GetParam()); bit++) {
    std::array<u32, 64> changed{};
    for (u32 n = 0; n < rounds; n++) {
      Flow flow = random_flow(GetParam(), random);
      const u64 before = hash(flow);
      flip(flow, bit);
      const u64 difference = before ^ hash(flow);
      for (u32 out = 0; out < 64; out++) changed[out] += static_cast<u32>(difference >> out & 1);
    }
    double all = 0;
    for (u32 out = 0; out < 64; out++) {
      const double share = changed[out] / static_cast<double>(rounds);
      all += share / 64;
      EXPECT_GT(share, 0.42) << "input bit " << bit << ", output bit " << out;
      EXPECT_LT(share, 0.58) << "input bit " << bit << ", output bit " << out;
    }
    EXPECT_NEAR(all, 0.5, 0.02) << "input bit " << bit;
  }
}

// Flows as networks make them: n counts something that goes up by one.
struct Pattern {
  const char* name;
  std::function<Flow(u32)> flow;
};
std::vector<Pattern> patterns() {
  const Address vip = address("198.51.100.10"), vip6 = address("2001:db8:1::10");
  auto v4 = [vip](u32 source, u32 port) {
    return Flow{Family::v4,   {{to_be32(source), 0, 0, 0}},
                vip,          to_be16(static_cast<u16>(port)),
                to_be16(443), 6};
  };
  auto v6 = [vip6](u32 network, u32 host) {
    Address source = address("2001:db8::");
    source.word[1] = to_be32(network);
    source.word[3] = to_be32(host);
    return Flow{Family::v6, source, vip6, to_be16(40'000), to_be16(443), 6};
  };
  return {
      {"one client's ports in a row", [v4](u32 n) { return v4(0xcb007107, n); }},
      {"two clients' even ports", [v4](u32 n) { return v4(0xcb007107 + n / 32'000, 2 * n); }},
      {"addresses in a row", [v4](u32 n) { return v4(0x0a000000 + n, 40'000); }},
      {"one address of each /24", [v4](u32 n) { return v4(0x0a000001 + (n << 8), 40'000); }},
      {"one address of each /16", [v4](u32 n) { return v4(0x00000001 + (n << 16), 40'000); }},
      {"address and port rise together", [v4](u32 n) { return v4(0x0a000000 + n, 1024 + n); }},
      {"a scan of ports at the VIP",
       [v4](u32 n) {
         Flow flow = v4(0xcb007107, 40'000);
         flow.destination_port = to_be16(static_cast<u16>(n));
         return flow;
       }},
      {"a scan of a VIP prefix",
       [v4](u32 n) {
         Flow flow = v4(0xcb007107, 40'000);
         flow.destination.word[0] = to_be32(0xc6330000 + n);
         return flow;
       }},
      {"IPv6 hosts in a row", [v6](u32 n) { return v6(1, n); }},
      {"IPv6 networks in a row", [v6](u32 n) { return v6(n, 1); }},
      {"IPv6 network and host rise together", [v6](u32 n) { return v6(n, n); }},
  };
}

TEST(Hash, SlotsGetEqualSharesWhateverPatternTheFlowsHave) {
  constexpr u32 slots = 1021, flows = 60'000;
  std::mt19937_64 random(2);
  for (u32 seeds = 0; seeds < 12; seeds++) {
    const Settings settings = seeded(random(), random());
    for (const Pattern& pattern : patterns()) {
      std::vector<u32> counts(slots);
      for (u32 n = 0; n < flows; n++) counts[slot_of(hash(pattern.flow(n), settings), slots)]++;
      EXPECT_LT(unevenness(counts), 1.25) << pattern.name;  // chance: 1.0, rarely 1.15
    }
  }
}

TEST(Hash, ConnectionLinesFillEvenlyWhateverPatternTheFlowsHave) {
  constexpr u32 lines = 1024, flows = 60'000;
  std::mt19937_64 random(3);
  for (u32 seeds = 0; seeds < 12; seeds++) {
    const Settings settings = seeded(random(), random());
    for (const Pattern& pattern : patterns()) {
      std::vector<u32> home(lines), other(lines);
      for (u32 n = 0; n < flows; n++) {
        const u64 value = hash(pattern.flow(n), settings);
        home[home_of(value) % lines]++;
        other[other_of(home_of(value), tag_of(value)) % lines]++;
      }
      EXPECT_LT(unevenness(home), 1.25) << pattern.name;
      EXPECT_LT(unevenness(other), 1.25) << pattern.name;
    }
  }
}

TEST(Hash, FlowsOfOneSlotSpreadOverTheLines) {
  // Otherwise a backend that takes few slots would crowd its flows into few lines.
  constexpr u32 slots = 64, lines = 64;
  std::vector<u32> pairs(slots * lines);
  std::mt19937_64 random(7);
  for (u32 n = 0; n < 400'000; n++) {
    const u64 value = hash(random_flow(Family::v4, random));
    pairs[slot_of(value, slots) * lines + home_of(value) % lines]++;
  }
  EXPECT_LT(unevenness(pairs), 1.15);
}

TEST(Hash, BothSeedsDecideWhereAFlowGoes) {
  std::mt19937_64 random(4);
  constexpr u32 slots = 251, flows = 20'000;
  const Settings first = seeded(random(), usual.seed[1]), second = seeded(usual.seed[0], random());
  u32 same_first = 0, same_second = 0;
  for (u32 n = 0; n < flows; n++) {
    const Flow flow = random_flow(Family::v4, random);
    const u32 slot = slot_of(hash(flow), slots);
    same_first += slot == slot_of(hash(flow, first), slots);
    same_second += slot == slot_of(hash(flow, second), slots);
  }
  // By chance one in 251 stays.
  EXPECT_LT(same_first, 2 * flows / slots);
  EXPECT_LT(same_second, 2 * flows / slots);
}

TEST(Hash, EveryPartOfTheTupleCounts) {
  Flow flow{.source = address("203.0.113.7"), .destination = address("198.51.100.10")};
  std::set<u64> seen{hash(flow)};
  for (u32 bit = 0; bit < input_bits(Family::v4); bit++) {
    Flow changed = flow;
    flip(changed, bit);
    EXPECT_TRUE(seen.insert(hash(changed)).second) << "input bit " << bit;
  }
  flow.family = Family::v6;  // the same bytes as an IPv6 packet
  EXPECT_TRUE(seen.insert(hash(flow)).second);
}

TEST(Hash, DirectionMatters) {
  std::mt19937_64 random(5);
  for (u32 n = 0; n < 1000; n++) {
    Flow flow = random_flow(Family::v4, random), back = flow;
    std::swap(back.source, back.destination);
    std::swap(back.source_port, back.destination_port);
    EXPECT_NE(hash(flow), hash(back));
  }
}

// Nodes of different versions share flows: a change of these values needs a new layout_version and
// a plan for rolling it out.
TEST(Hash, ItsValuesStayAsTheyAreFromVersionToVersion) {
  const Flow v4{Family::v4,      address("203.0.113.7"), address("198.51.100.10"),
                to_be16(40'000), to_be16(443),           6};
  const Flow v6{Family::v6,      address("2001:db8::7"), address("2001:db8:1::10"),
                to_be16(40'000), to_be16(443),           17};
  EXPECT_EQ(hash(v4), 17464360066409431824u);
  EXPECT_EQ(hash(v6), 13239708454092433847u);
  EXPECT_EQ(client_hash(usual, v4.source), 202749459501984306u);
  EXPECT_EQ(client_hash(usual, v6.source), 16038706157644140795u);
}

TEST(ClientHash, SpreadsAddressesInARowEvenly) {
  constexpr u32 slots = 251;
  for (const u32 shift : {0u, 8u, 16u}) {
    std::vector<u32> v4(slots), v6(slots);
    for (u32 n = 0; n < 20'000; n++) {
      const Address source{{to_be32(0x0a000000 + (n << shift)), 0, 0, 0}};
      v4[slot_of(client_hash(usual, source), slots)]++;
      Address wide = address("2001:db8::");
      wide.word[1 + shift / 8] = to_be32(n);
      v6[slot_of(client_hash(usual, wide), slots)]++;
    }
    EXPECT_LT(unevenness(v4), 1.4) << "shift " << shift;
    EXPECT_LT(unevenness(v6), 1.4) << "shift " << shift;
  }
}

TEST(Slot, OfAnyHashLiesInTheTable) {
  std::mt19937_64 random(6);
  for (const u32 size : {2u, 251u, 65'537u, limits::largest_table}) {
    EXPECT_EQ(slot_of(0, size), 0u);
    EXPECT_EQ(slot_of(~0ull, size), size - 1);
    for (u32 n = 0; n < 1000; n++) EXPECT_LT(slot_of(random(), size), size);
  }
}

}  // namespace
}  // namespace fairlead::core::test
