// SPDX-License-Identifier: MIT
#include "control/config/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Pool> pools(const std::vector<std::pair<std::string, std::vector<std::string>>>& from) {
  std::vector<Pool> result;
  for (const auto& [id, include] : from) {
    Pool pool;
    pool.id = id;
    pool.include = include;
    result.push_back(pool);
  }
  return result;
}

TEST(PoolIndex, finds_pools_by_id) {
  const auto some = pools({{"a", {}}, {"b", {}}, {"a", {}}});
  const PoolIndex index(some);
  EXPECT_EQ(index.find("b"), 1u);
  EXPECT_EQ(index.find("a"), 0u) << "the first of two";
  EXPECT_EQ(index.find("c"), PoolIndex::none);
}

TEST(PoolIndex, follows_includes_and_names_each_pool_once) {
  const auto some = pools({{"a", {"b", "c"}}, {"b", {"d"}}, {"c", {"d", "nobody"}}, {"d", {}}});
  const PoolIndex index(some);
  EXPECT_THAT(index.with_included(0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(index.with_included(2), ElementsAre(2, 3));
  EXPECT_THAT(index.with_included(3), ElementsAre(3));
  EXPECT_THAT(index.cycles(), IsEmpty()) << "reached twice is not a cycle";
}

TEST(PoolIndex, finds_the_cycles) {
  const auto some =
      pools({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}, {"d", {"d"}}, {"e", {"nobody", "a"}}});
  const PoolIndex index(some);
  EXPECT_THAT(index.cycles(), ElementsAre(ElementsAre(1, 2, 1), ElementsAre(3, 3)));
  EXPECT_THAT(index.with_included(0), ElementsAre(0, 1, 2)) << "a cycle is stepped over";
}

TEST(PoolIndex, bears_long_chains_and_dense_cycles) {
  std::vector<std::pair<std::string, std::vector<std::string>>> chain, dense;
  for (int i = 0; i < 10'000; i++) {
    chain.push_back({std::to_string(i), {std::to_string(i + 1)}});
  }
  for (int i = 0; i < 100; i++) {
    dense.push_back({std::to_string(i), {}});
    for (int j = 0; j < 100; j++) dense.back().second.push_back(std::to_string(j));
  }
  const auto long_chain = pools(chain), many_cycles = pools(dense);
  EXPECT_THAT(PoolIndex(long_chain).with_included(0), SizeIs(10'000));
  EXPECT_THAT(PoolIndex(long_chain).cycles(), IsEmpty());
  EXPECT_THAT(PoolIndex(many_cycles).cycles(), SizeIs(32));
}

}  // namespace
}  // namespace fairlead::config
