// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "fairlead/maglev.h"

namespace fairlead {
namespace {

std::vector<Maglev::Backend> numbered(int n) {
  std::vector<Maglev::Backend> out;
  out.reserve(static_cast<size_t>(n));
  for (int i = 0; i < n; i++) out.emplace_back("backend-" + std::to_string(i));
  return out;
}

uint64_t key(int i) { return Maglev::hash("key-" + std::to_string(i)); }

TEST(MaglevLibrary, spreads_keys_by_weight) {
  Maglev maglev({{"a", 1}, {"b", 3}, {"c", 0}});
  std::vector<int> counts(3);
  for (int i = 0; i < 40'000; i++) counts[maglev.lookup(key(i)).value()]++;
  EXPECT_NEAR(counts[0], 10'000, 500);
  EXPECT_NEAR(counts[1], 30'000, 500);
  EXPECT_EQ(counts[2], 0);
}

TEST(MaglevLibrary, moves_only_the_keys_of_a_backend_that_fails) {
  for (const auto fill : {Maglev::Fill::paper, Maglev::Fill::lines}) {
    Maglev maglev(numbered(10), {.size = 4093, .seed = 1, .fill = fill});
    std::vector<std::size_t> before;
    before.reserve(2000);
    for (int i = 0; i < 2000; i++) before.push_back(maglev.lookup(key(i)).value());
    maglev.set_usable(3, false);
    for (int i = 0; i < 2000; i++) {
      const std::size_t now = maglev.lookup(key(i)).value();
      EXPECT_NE(now, 3u);
      if (before[size_t(i)] != 3) {
        EXPECT_EQ(now, before[size_t(i)]);
      }
    }
    maglev.rebuild();
    int moved = 0;
    for (int i = 0; i < 2000; i++) {
      const std::size_t now = maglev.lookup(key(i)).value();
      EXPECT_NE(now, 3u);
      moved += before[size_t(i)] != 3 && now != before[size_t(i)];
    }
    EXPECT_LT(moved, 100);
    maglev.set_usable(3, true);
    maglev.rebuild();
    for (int i = 0; i < 2000; i++) EXPECT_EQ(maglev.lookup(key(i)), before[size_t(i)]);
  }
}

TEST(MaglevLibrary, finds_nothing_when_nobody_is_usable) {
  EXPECT_FALSE(Maglev({}).lookup(1));
  EXPECT_FALSE(Maglev({{"a", 0}}).lookup(1));
  Maglev maglev({{"a"}, {"b"}}, {.size = 31});
  maglev.set_usable(0, false);
  maglev.set_usable(1, false);
  EXPECT_FALSE(maglev.lookup(~uint64_t{0}));
  maglev.rebuild();
  EXPECT_TRUE(maglev.table().empty());
  EXPECT_FALSE(maglev.lookup(~uint64_t{0}));
}

TEST(MaglevLibrary, agrees_with_everybody_who_has_the_same_names_weights_and_seed) {
  const Maglev one({{"a", 2}, {"b", 1}, {"c", 5}}, {.size = 1021, .seed = 7});
  const Maglev two({{"c", 5}, {"a", 2}, {"b", 1}}, {.size = 1021, .seed = 7});
  const Maglev other({{"a", 2}, {"b", 1}, {"c", 5}}, {.size = 1021, .seed = 8});
  int differ = 0;
  for (int i = 0; i < 1000; i++) {
    const auto& name = one.backends()[one.lookup(key(i)).value()].name;
    EXPECT_EQ(two.backends()[two.lookup(key(i)).value()].name, name);
    differ += other.backends()[other.lookup(key(i)).value()].name != name;
  }
  EXPECT_GT(differ, 300);
}

TEST(MaglevLibrary, follows_changed_weights_after_a_rebuild) {
  Maglev maglev({{"a"}, {"b"}}, {.size = 1021});
  maglev.set_weight(1, 0);
  maglev.rebuild();
  EXPECT_EQ(maglev.table(), std::vector<uint16_t>(1021, 0));
}

TEST(MaglevLibrary, refuses_what_cannot_be) {
  EXPECT_THROW(Maglev(numbered(2), {.size = 100}), std::invalid_argument);
  EXPECT_THROW(Maglev(numbered(2), {.size = 1}), std::invalid_argument);
  EXPECT_THROW(Maglev(numbered(2), {.size = 1'048'583}), std::invalid_argument);
  EXPECT_THROW(Maglev({{"a"}, {"b"}, {"a"}}), std::invalid_argument);
  EXPECT_THROW(Maglev(numbered(65'536)), std::invalid_argument);
  Maglev maglev(numbered(2));
  EXPECT_THROW(maglev.set_usable(2, true), std::out_of_range);
}

TEST(MaglevLibrary, hashes_keys_as_it_always_did) {
  EXPECT_EQ(Maglev::hash(""), 17665956581633026203u);
  EXPECT_EQ(Maglev::hash("fairlead", 42), 11247688555004124070u);
}

}  // namespace
}  // namespace fairlead
