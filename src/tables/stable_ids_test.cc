// SPDX-License-Identifier: MIT
#include "tables/stable_ids.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

using Ids = StableIds<std::string>;
using Keys = std::vector<std::string>;
using Numbers = std::vector<uint32_t>;

constexpr uint64_t quarantine = 100;

Numbers give(Ids& ids, const Keys& keys, uint64_t now) {
  const auto assigned = ids.propose(keys, now);
  EXPECT_TRUE(assigned.valid());
  ids.commit(now, quarantine);
  return assigned.ids;
}

TEST(StableIds, count_from_one) {
  Ids ids(10);
  EXPECT_EQ(give(ids, {"a", "b", "c"}, 0), (Numbers{1, 2, 3}));
}

TEST(StableIds, stay_while_the_thing_exists) {
  Ids ids(10);
  give(ids, {"a", "b", "c"}, 0);
  EXPECT_EQ(give(ids, {"x", "c", "a"}, 1), (Numbers{4, 3, 1}));
  EXPECT_EQ(give(ids, {"a", "c"}, 2000), (Numbers{1, 3}));
}

TEST(StableIds, say_which_are_given_out_anew) {
  Ids ids(10);
  give(ids, {"a"}, 0);
  const auto assigned = ids.propose(Keys{"b", "a", "c"}, 1);
  EXPECT_EQ(assigned.fresh, (Numbers{2, 3}));
}

TEST(StableIds, come_back_only_after_the_quarantine) {
  Ids ids(3);
  give(ids, {"a", "b"}, 0);
  give(ids, {"a"}, 50);
  const auto early = ids.propose(Keys{"a", "c"}, 149);
  EXPECT_FALSE(early.valid());
  EXPECT_EQ(early.missing, 1u);
  EXPECT_EQ(give(ids, {"a", "c"}, 150), (Numbers{1, 2}));
}

TEST(StableIds, return_to_the_thing_that_had_them) {
  Ids ids(10);
  give(ids, {"a", "b"}, 0);
  give(ids, {"a"}, 10);
  EXPECT_EQ(give(ids, {"a", "b"}, 20), (Numbers{1, 2}));
  give(ids, {"a"}, 30);
  EXPECT_EQ(give(ids, {"a", "b"}, 5000), (Numbers{1, 2})) << "nobody wanted it meanwhile";
}

TEST(StableIds, that_returned_are_not_free_when_their_first_quarantine_ends) {
  Ids ids(3);
  give(ids, {"a", "b"}, 0);
  give(ids, {"a"}, 10);
  give(ids, {"a", "b"}, 20);
  EXPECT_FALSE(ids.propose(Keys{"a", "b", "c"}, 1000).valid());
}

TEST(StableIds, are_as_before_after_an_aborted_proposal) {
  Ids ids(4);
  give(ids, {"a", "b"}, 0);
  EXPECT_FALSE(ids.propose(Keys{"c", "d", "e"}, 1).valid());
  const auto fine = ids.propose(Keys{"c"}, 1);
  ASSERT_TRUE(fine.valid());
  ids.abort();
  EXPECT_EQ(give(ids, {"a", "b", "x"}, 2), (Numbers{1, 2, 3}));
}

TEST(StableIds, of_returning_things_rest_on_when_the_proposal_is_aborted) {
  Ids ids(3);
  give(ids, {"a", "b"}, 0);
  give(ids, {}, 10);
  // Both return, and the third finds nothing free while it looks at their expired ids.
  EXPECT_FALSE(ids.propose(Keys{"a", "b", "c"}, 1000).valid());
  EXPECT_EQ(give(ids, {"c", "d"}, 1001).size(), 2u);
}

TEST(StableIds, refuse_a_thing_named_twice) {
  Ids ids(10);
  EXPECT_EQ(ids.propose(Keys{"a", "b", "a"}, 0).repeated, 2u);
  give(ids, {"a"}, 0);
  EXPECT_EQ(ids.propose(Keys{"a", "a"}, 0).repeated, 1u);
  EXPECT_EQ(give(ids, {"a", "b"}, 0)[0], 1u);
}

// A model with the rules written down one by one, against thousands of random changes.
TEST(StableIds, never_name_two_things_within_the_quarantine) {
  Random random(7);
  Ids ids(24);
  std::map<std::string, uint32_t> current;
  std::map<uint32_t, std::pair<std::string, uint64_t>> last;  // who had it, and until when
  uint64_t now = 0;
  int refused = 0;
  for (int round = 0; round < 5000; round++) {
    now += random.below(40);
    Keys keys;
    for (int k = 0; k < 40; k++) {
      if (random.one_in(3)) keys.push_back("k" + std::to_string(k));
    }
    const auto assigned = ids.propose(keys, now);
    ASSERT_FALSE(assigned.repeated);
    if (!assigned.valid()) {
      refused++;
      continue;
    }
    if (random.one_in(8)) {
      ids.abort();
      continue;
    }
    ids.commit(now, quarantine);
    std::map<std::string, uint32_t> next;
    std::set<uint32_t> seen;
    for (size_t i = 0; i < keys.size(); i++) {
      const uint32_t id = assigned.ids[i];
      ASSERT_TRUE(id >= 1 && id < 24);
      ASSERT_TRUE(seen.insert(id).second) << "two things share " << id;
      if (const auto had = current.find(keys[i]); had != current.end()) {
        ASSERT_EQ(had->second, id);
      }
      if (const auto before = last.find(id); before != last.end()) {
        ASSERT_TRUE(before->second.first == keys[i] || before->second.second + quarantine <= now);
      }
      next[keys[i]] = id;
    }
    for (const auto& [key, id] : current) {
      if (!next.contains(key)) last[id] = {key, now};
    }
    for (const auto& [key, id] : next) last.erase(id);
    current = std::move(next);
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 4500);
}

}  // namespace
}  // namespace fairlead::tables
