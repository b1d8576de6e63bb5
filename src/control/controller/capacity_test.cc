// SPDX-License-Identifier: MIT
#include "control/controller/capacity.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>

namespace fairlead::controller {
namespace {

config::Services services(size_t pools, size_t backends_each, uint32_t table_size) {
  config::Services made;
  for (size_t p = 0; p < pools; p++) {
    config::Pool pool;
    pool.id = "pool-" + std::to_string(p);
    pool.table_size = table_size;
    pool.backends.resize(backends_each);
    made.pools.push_back(std::move(pool));
    config::Vip vip;
    vip.services.resize(2);
    made.vips.push_back(std::move(vip));
  }
  return made;
}

TEST(Capacity, OfASmallConfigurationIsTheUsualOne) {
  const config::Services one = services(2, 3, 251);
  const std::array all = {&one};
  const tables::Capacity made = capacity_for({}, 1, all);
  const tables::Capacity usual;
  EXPECT_EQ(made.rows, usual.rows);
  EXPECT_EQ(made.tables, usual.tables);
  EXPECT_EQ(made.slots, usual.slots);
  EXPECT_EQ(made.backends, usual.backends);
  EXPECT_EQ(made.services, usual.services);
  EXPECT_EQ(made.narrow_lines, usual.narrow_lines) << "131,072 connections, 4 in a line";
  EXPECT_EQ(made.wide_lines, usual.wide_lines);
}

TEST(Capacity, HoldsAllConfigurationsOneAfterTheOther) {
  const config::Services one = services(3'000, 10, 4'093), other = services(1'000, 20, 251);
  const std::array all = {&one, &other};
  const tables::Capacity made = capacity_for({}, 1, all);
  EXPECT_GE(made.rows, 2 * (3 * 3'000 + 3 * 1'000));
  EXPECT_GE(made.tables, 4'000);
  EXPECT_GE(made.slots, 2 * (3'000 * (4'093 + 256) + 1'000 * (251 + 256)));
  EXPECT_GE(made.backends, 30'000 + 20'000);
  EXPECT_GE(made.services, 2 * 4'000);
  for (const uint32_t size : {made.rows, made.tables, made.slots, made.backends, made.services}) {
    EXPECT_TRUE(std::has_single_bit(size)) << size;
  }
}

TEST(Capacity, CountsTheBackendsThatAPoolIncludes) {
  config::Services made = services(100, 1'000, 251);
  for (size_t p = 1; p < 50; p++) made.pools[p].include = {"pool-0"};
  const std::array all = {&made};
  EXPECT_EQ(capacity_for({}, 1, all).backends, 1u << 16) << "149,000, cut to what ids can name";
}

TEST(Capacity, OfWorkersIsAPowerOfTwo) {
  const tables::Capacity made = capacity_for({.connection_table_size = 256}, 3, {});
  EXPECT_EQ(made.workers, 4);
  EXPECT_EQ(made.narrow_lines, 64);
  EXPECT_EQ(made.wide_lines, 128);
}

}  // namespace
}  // namespace fairlead::controller
