// SPDX-License-Identifier: MIT
// Which pool of a service a flow takes: routes, then the split, then its own pool.
#include "core/path/branch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u32 first = 5;

class BranchOf : public testing::Test {
 protected:
  void set(const std::vector<Branch>& branches) {
    for (u32 i = 0; i < branches.size(); i++) tables.set_branches().at(first + i) = branches[i];
  }
  void set_split(const std::vector<u32>& weights) {
    std::vector<Branch> branches;
    for (u32 i = 0; i < weights.size(); i++) {
      branches.push_back({.kind = BranchKind::share,
                          .position = static_cast<u8>(i),
                          .weight = weights[i],
                          .pool = i + 1});
    }
    branches.push_back({.pool = 99});
    set(branches);
  }
  u32 of(const std::string& source, u64 hash = 1) const {
    return branch_of(tables, first, family_of(source), address(source), hash);
  }
  std::vector<u32> of_flows(u32 flows) const {
    std::vector<u32> pools;
    for (u32 flow = 0; flow < flows; flow++) pools.push_back(of("192.0.2.1", hash_of(flow)));
    return pools;
  }

  TestTables tables;
};

Branch route(const std::string& source, u8 length, u32 pool) {
  return {.source = address(source),
          .kind = BranchKind::route,
          .prefix_length = length,
          .family = family_of(source),
          .pool = pool};
}

TEST_F(BranchOf, IsTheFirstRouteThatCoversTheSourceElseThePoolOfTheService) {
  set({route("203.0.113.0", 24, 4),
       route("203.0.0.0", 16, 8),
       route("2001:db8:c::", 48, 12),
       route("::", 0, 16),
       {.pool = 20}});
  EXPECT_EQ(of("203.0.113.7"), 4u);
  EXPECT_EQ(of("203.0.5.7"), 8u);
  EXPECT_EQ(of("198.51.100.1"), 20u) << "a route of the other family covers nothing, ::/0 either";
  EXPECT_EQ(of("2001:db8:c:ffff::1"), 12u);
  EXPECT_EQ(of("2001:db8:d::1"), 16u);
}

TEST_F(BranchOf, IsASplitWhereNoRouteIs) {
  set({route("203.0.113.0", 24, 4),
       {.kind = BranchKind::share, .weight = 1, .pool = 8},
       {.pool = 20}});
  EXPECT_EQ(of("203.0.113.7"), 4u);
  EXPECT_EQ(of("198.51.100.1"), 8u);
}

TEST_F(BranchOf, FollowsTheWeightsOfASplitAndNothingElse) {
  constexpr u32 flows = 200'000;
  for (const std::vector<u32>& weights :
       {std::vector<u32>{95, 5}, {1, 1, 1}, {999, 1}, {3, 0, 7}, {65'535, 65'535, 1, 13'107}}) {
    set_split(weights);
    std::map<u32, double> got;
    for (const u32 pool : of_flows(flows)) got[pool] += 1.0 / flows;
    double sum = 0;
    for (const u32 weight : weights) sum += weight;
    for (u32 i = 0; i < weights.size(); i++) {
      const double share = weights[i] / sum;
      EXPECT_NEAR(got[i + 1], share, 4.5 * std::sqrt(share * (1 - share) / flows)) << i;
    }
    EXPECT_EQ(got[99], 0) << "the split leaves nothing to the service's own pool";
  }
}

TEST_F(BranchOf, MovesFlowsOnlyToABranchThatGrowsAndOnlyFromOneThatShrinks) {
  constexpr u32 flows = 50'000;
  std::vector<u32> weights{90, 5, 5};
  set_split(weights);
  std::vector<u32> before = of_flows(flows);
  for (u32 step = 0; step < 12; step++) {
    const bool grows = step % 2 == 0;
    const u32 which = step % 3;
    weights[which] = grows ? weights[which] * 3 : weights[which] / 2;
    set_split(weights);
    const std::vector<u32> after = of_flows(flows);
    u32 moved = 0;
    for (u32 flow = 0; flow < flows; flow++) {
      if (before[flow] == after[flow]) continue;
      moved++;
      EXPECT_EQ(grows ? after[flow] : before[flow], which + 1);
    }
    EXPECT_GT(moved, 0u);
    before = after;
  }
}

TEST_F(BranchOf, DoesNotDependOnRoutesInFrontOfTheSplit) {
  set_split({60, 40});
  const std::vector<u32> before = of_flows(1'000);
  set({route("10.0.0.0", 8, 9),
       {.kind = BranchKind::share, .weight = 60, .pool = 1},
       {.kind = BranchKind::share, .position = 1, .weight = 40, .pool = 2},
       {.pool = 99}});
  EXPECT_EQ(of_flows(1'000), before);
}

TEST(MinusLog2, IsTheLogarithmToWithinItsUnit) {
  for (u64 number = 0; number < 100'000; number++) {
    const u32 u = static_cast<u32>(hash_of(number) >> (number % 32)) | 1;
    const double exact = 32 - std::log2(static_cast<double>(u));
    EXPECT_NEAR(std::ldexp(static_cast<double>(branch_detail::minus_log2(u)), -26), exact, 1e-7);
  }
  EXPECT_EQ(branch_detail::minus_log2(1), u64{32} << 26);
  EXPECT_EQ(branch_detail::minus_log2(0xffff'ffff), 1u) << "never 0";
}

}  // namespace
}  // namespace fairlead::core::test
