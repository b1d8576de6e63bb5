// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Check, SaysNothingWhenTheConditionHolds) {
  int evaluated = 0;
  check(++evaluated == 1, "evaluated {} times", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, AbortsWithTheValuesAndThePlace) {
  const unsigned slot = 17;
  const std::string_view table = "pool web";
  EXPECT_DEATH(check(slot < 16, "slot {} of {}", slot, table),
               R"(check_test\.cc:[0-9]+: check failed: slot 17 of pool web)");
}

TEST(CheckDeathTest, NeedsNoValues) { EXPECT_DEATH(check(false, "never here"), "never here"); }

}  // namespace
}  // namespace fairlead
