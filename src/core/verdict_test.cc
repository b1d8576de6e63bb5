// SPDX-License-Identifier: MIT
// The list of reasons, as tools and people see it: names are unique, and each has the verdict that
// CONTRACT section 10 gives it.
#include "core/verdict.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/types.h"

namespace fairlead::core {
namespace {

TEST(Reasons, AreThoseOfTheContractUnderTheirVerdicts) {
  const std::map<std::string, std::set<std::string>> contract{
      {"pass", {"not_ip", "not_vip", "neighbour_discovery"}},
      {"forward", {"new", "known", "repinned", "hashed", "fragment", "icmp_error", "nat_reply"}},
      {"reply", {"echo", "fragmentation_needed", "packet_too_big"}},
      {"drop",
       {"malformed", "no_service", "no_backend", "fragment_tiny", "fragment_no_mapping",
        "icmp_unsupported", "icmp_no_flow", "echo_limited", "oversize", "oversize_limited",
        "rate_limited", "overload"}},
  };
  std::map<std::string, std::set<std::string>> here;
  for (u32 i = 0; i < reason_count; i++) {
    const Reason reason = static_cast<Reason>(i);
    EXPECT_TRUE(here[name_of(verdict_of(reason))].insert(name_of(reason)).second);
    EXPECT_FALSE(std::string(meaning_of(reason)).empty());
  }
  EXPECT_EQ(here, contract);
}

TEST(Reasons, WhatIsNoReasonIsDroppedAndHasNoName) {
  const Reason none = static_cast<Reason>(200);
  EXPECT_EQ(verdict_of(none), Verdict::drop);
  EXPECT_STREQ(name_of(none), "unknown");
  EXPECT_STREQ(name_of(static_cast<Verdict>(9)), "unknown");
}

}  // namespace
}  // namespace fairlead::core
