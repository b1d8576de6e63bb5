// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(Counted, HasAnSUnlessThereIsOne) {
  EXPECT_EQ(counted(0, "VIP"), "0 VIPs");
  EXPECT_EQ(counted(1, "VIP"), "1 VIP");
  EXPECT_EQ(counted(2, "VIP"), "2 VIPs");
}

}  // namespace
}  // namespace fairlead
