// SPDX-License-Identifier: MIT
#include "tables/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tables/test_snapshot.h"

namespace fairlead::tables {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// One backend in each of these pools, all of method gre but for those named "ipip...".
class HoldersTest : public testing::Test {
 protected:
  // The turns of the backend in these pools.
  std::vector<uint32_t> hold(std::initializer_list<const char*> names) {
    std::vector<Pool> pools;
    for (const char* name : names) {
      Pool& pool = pools.emplace_back(make_pool(1, {1}));
      pool.id = name;
      if (pool.id.starts_with("ipip")) pool.members[0].line.method = core::Method::ipip;
    }
    last_ = tables::hold(last_.lines, pools);
    std::vector<uint32_t> turns;
    for (size_t i = 0; i < pools.size(); i++) turns.push_back(last_.keys[i].turn);
    return turns;
  }

  Holding last_;
};

TEST_F(HoldersTest, keep_their_line_whatever_the_order_of_the_pools) {
  EXPECT_THAT(hold({"a", "b", "c"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(hold({"c", "a", "b"}), ElementsAre(2, 0, 1));
}

TEST_F(HoldersTest, take_over_the_line_of_a_pool_that_goes_as_they_come) {
  hold({"a", "b"});
  EXPECT_THAT(hold({"new", "b"}), ElementsAre(0, 1));
  EXPECT_THAT(last_.followers, IsEmpty());
}

TEST_F(HoldersTest, leave_a_line_following_when_the_old_pool_goes_later_than_the_new_one_came) {
  hold({"a"});
  EXPECT_THAT(hold({"a", "b"}), ElementsAre(0, 1));
  EXPECT_THAT(hold({"b"}), ElementsAre(1));
  ASSERT_EQ(last_.followers.size(), 1u);
  EXPECT_EQ(last_.keys[last_.followers[0].key].turn, 0u);
  EXPECT_THAT(last_.followers[0].members, ElementsAre(0));
}

TEST_F(HoldersTest, use_no_more_lines_however_often_a_pool_is_renamed) {
  hold({"a"});
  hold({"a", "b"});
  hold({"b"});
  EXPECT_THAT(hold({"b", "c"}), ElementsAre(1, 0));
  EXPECT_THAT(hold({"c"}), ElementsAre(0));
  EXPECT_THAT(hold({"d"}), ElementsAre(0));
  EXPECT_EQ(last_.keys.size(), 2u);
}

TEST_F(HoldersTest, have_all_connections_when_several_become_one) {
  hold({"a", "b", "c"});
  EXPECT_THAT(hold({"all"}), ElementsAre(0));
  EXPECT_EQ(last_.followers.size(), 2u);
  hold({"a", "b", "c"});
  EXPECT_THAT(last_.followers, IsEmpty()) << "and have them back when it is split again";
}

TEST_F(HoldersTest, neither_take_over_nor_lead_what_is_of_another_method) {
  hold({"a"});
  EXPECT_THAT(hold({"ipip"}), ElementsAre(1));
  EXPECT_THAT(last_.followers, IsEmpty());
}

TEST_F(HoldersTest, keep_their_line_when_their_method_changes) {
  hold({"a"});
  std::vector<Pool> pools{make_pool(1, {1})};
  pools[0].id = "a";
  pools[0].members[0].line.method = core::Method::ipip;
  EXPECT_EQ(tables::hold(last_.lines, pools).keys[0].turn, 0u);
}

TEST_F(HoldersTest, forget_a_backend_that_nobody_has) {
  hold({"a", "b"});
  hold({});
  EXPECT_THAT(last_.lines, IsEmpty());
}

}  // namespace
}  // namespace fairlead::tables
