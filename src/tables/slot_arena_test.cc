// SPDX-License-Identifier: MIT
#include "tables/slot_arena.h"

#include <gtest/gtest.h>

#include <vector>

#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

TEST(SlotArena, gives_the_first_gap_that_fits) {
  SlotArena arena(1024);
  EXPECT_EQ(arena.take(100), 0u);
  EXPECT_EQ(arena.take(32), 128u);
  EXPECT_EQ(arena.take(1), 160u);
  arena.give_back(0);
  EXPECT_EQ(arena.take(129), 192u) << "the gap of 128 is too small";
  EXPECT_EQ(arena.take(128), 0u);
}

TEST(SlotArena, says_when_no_gap_is_large_enough) {
  SlotArena arena(256);
  EXPECT_FALSE(arena.take(257));
  EXPECT_FALSE(arena.take(0xffff'ffff));
  EXPECT_EQ(arena.take(256), 0u);
  EXPECT_FALSE(arena.take(1));
  arena.give_back(0);
  EXPECT_EQ(arena.used(), 0u);
  EXPECT_EQ(arena.take(1), 0u);
}

TEST(SlotArena, never_gives_a_slot_twice) {
  constexpr uint32_t capacity = 1u << 14;
  SlotArena arena(capacity);
  std::vector<bool> taken(capacity);
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  Random random(3);
  int full = 0;
  for (int round = 0; round < 20'000; round++) {
    if (random.one_in(2) || parts.empty()) {
      const uint32_t n = 1 + random.below(900);
      const auto begin = arena.take(n);
      if (!begin) {
        full++;
        continue;
      }
      ASSERT_LE(*begin + n, capacity);
      for (uint32_t i = *begin; i < *begin + n; i++) {
        ASSERT_FALSE(taken[i]);
        taken[i] = true;
      }
      parts.emplace_back(*begin, n);
    } else {
      std::swap(parts[random.below(static_cast<uint32_t>(parts.size()))], parts.back());
      const auto [begin, n] = parts.back();
      parts.pop_back();
      arena.give_back(begin);
      for (uint32_t i = begin; i < begin + n; i++) taken[i] = false;
    }
  }
  EXPECT_GT(full, 0);
}

}  // namespace
}  // namespace fairlead::tables
