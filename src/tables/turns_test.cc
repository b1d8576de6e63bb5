// SPDX-License-Identifier: MIT
#include "tables/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/limits.h"

namespace fairlead::tables {
namespace {

using Turns = std::vector<uint16_t>;

TEST(Turns, AreAsManyAsTheWeightsSayInSmallNumbers) {
  EXPECT_EQ(build_turns(std::vector<uint32_t>{1, 1, 1}), (Turns{0, 1, 2}));
  EXPECT_EQ(build_turns(std::vector<uint32_t>{100, 100, 200}), (Turns{2, 0, 1, 2}));
  EXPECT_EQ(build_turns(std::vector<uint32_t>{0, 7, 0}), (Turns{1}));
  EXPECT_EQ(build_turns(std::vector<uint32_t>{0, 0}), Turns{});
  EXPECT_EQ(build_turns(std::vector<uint32_t>{}), Turns{});
}

TEST(Turns, GiveEveryBackendItsShareToWithinTwoTurnsFromAnywhereOnForAnyStretch) {
  const std::vector<uint32_t> weights{1, 2, 3, 5, 8, 13, 21, 1, 1};
  const Turns list = build_turns(weights);
  const double total = std::reduce(weights.begin(), weights.end());
  ASSERT_EQ(list.size(), static_cast<size_t>(total));
  for (size_t backend = 0; backend < weights.size(); backend++) {
    const double share = weights[backend] / total;
    for (size_t begin = 0; begin < list.size(); begin++) {
      int got = 0;
      for (size_t length = 1; length <= list.size(); length++) {
        got += list[(begin + length - 1) % list.size()] == backend;
        ASSERT_LE(std::abs(got - share * static_cast<double>(length)), 2.0)
            << "backend " << backend << ", from " << begin << ", " << length << " turns";
      }
    }
  }
}

TEST(Turns, OfWeightsWithoutACommonDivisorAreRoundedAndNobodyLosesAllOfHis) {
  const std::vector<uint32_t> weights{65'535, 65'521, 1};
  const Turns list = build_turns(weights);
  EXPECT_LE(list.size(), most_turns(weights));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(list, 0)), core::limits::longest_turns / 2.,
              2);
  EXPECT_EQ(std::ranges::count(list, 2), 1);
}

TEST(Turns, OfManyBackendsTakeNoMoreRoomThanAnnounced) {
  std::vector<uint32_t> weights(60'000, 3);
  weights[0] = 4;
  EXPECT_LE(build_turns(weights).size(), most_turns(weights));
}

}  // namespace
}  // namespace fairlead::tables
