// SPDX-License-Identifier: MIT
#include "control/controller/backend_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace fairlead::controller {
namespace {

using testing::HasSubstr;

config::Services services(std::initializer_list<std::pair<const char*, uint16_t>> backends) {
  config::Services made;
  made.pools.emplace_back();
  for (const auto& [address, port] : backends) {
    config::Backend backend;
    backend.ip = *config::parse_address(address);
    backend.port = port;
    made.pools[0].backends.push_back(backend);
  }
  return made;
}

std::string problem(std::string_view text) {
  const auto change = parse_backend_change(Word::down, text);
  return change ? "fine" : change.error().message;
}

std::string unknown(std::string_view text, const config::Services& services) {
  const std::array all = {&services};
  const auto known = check_known(*config::parse_backend(text), all);
  return known ? "known" : known.error().message;
}

TEST(BackendChange, SaysWhoAndWhen) {
  const auto change = parse_backend_change(Word::draining, "10.0.0.1:443@2.5");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->word, Word::draining);
  EXPECT_EQ(config::to_text(change->backend), "10.0.0.1:443");
  EXPECT_EQ(change->at_ns, 2'500'000'000u);
}

TEST(BackendChange, NeedsNeitherPortNorTime) {
  for (const char* text : {"10.0.0.1", "2001:db8::1"}) {
    const auto change = parse_backend_change(Word::up, text);
    ASSERT_TRUE(change) << text;
    EXPECT_EQ(change->backend.port, 0);
    EXPECT_EQ(change->at_ns, 0u);
  }
  EXPECT_EQ(parse_backend_change(Word::up, "[2001:db8::1]:80@3")->backend.port, 80);
}

TEST(BackendChange, TimesAreTakenToTheNanosecond) {
  EXPECT_EQ(parse_timed("f@0.000000001")->at_ns, 1u);
  EXPECT_EQ(parse_timed("f@86400.1")->at_ns, 86'400'100'000'000u);
  EXPECT_EQ(parse_timed("dir@home/f@7")->what, "dir@home/f");
}

TEST(BackendChange, ATimeThatIsNoneIsRefusedWithAnExample) {
  for (const char* text : {"10.0.0.1@", "10.0.0.1@soon", "10.0.0.1@-1", "10.0.0.1@1e3",
                           "10.0.0.1@2s", "10.0.0.1@nan", "10.0.0.1@inf", "10.0.0.1@2000000000"}) {
    EXPECT_THAT(problem(text), HasSubstr("10.0.0.1@2.5")) << text;
  }
}

TEST(BackendChange, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", "web-1", "10.0.0", "10.0.0.1:0", "10.0.0.1:70000", "@2"}) {
    EXPECT_THAT(problem(text), HasSubstr("expected IP or IP:PORT")) << text;
  }
}

TEST(BackendChange, WithoutAPortEveryPortIsMeant) {
  const config::Services pools = services({{"10.0.0.1", 443}});
  const config::Backend& backend = pools.pools[0].backends[0];
  EXPECT_TRUE(is_meant(*config::parse_backend("10.0.0.1"), backend));
  EXPECT_TRUE(is_meant(*config::parse_backend("10.0.0.1:443"), backend));
  EXPECT_FALSE(is_meant(*config::parse_backend("10.0.0.1:80"), backend));
  EXPECT_FALSE(is_meant(*config::parse_backend("10.0.0.2"), backend));
}

TEST(BackendChange, AnUnknownBackendIsAnswerdWithTheNearest) {
  const config::Services pools = services({{"10.0.0.1", 443}, {"10.1.0.23", 443}, {"::1", 80}});
  EXPECT_EQ(unknown("10.0.0.1", pools), "known");
  EXPECT_THAT(unknown("10.1.0.32", pools), HasSubstr("did you mean \"10.1.0.23\"?"));
  EXPECT_THAT(unknown("10.0.0.1:444", pools), HasSubstr("did you mean \"10.0.0.1:443\"?"));
  EXPECT_THAT(unknown("192.0.2.200", pools), HasSubstr("no pool has this backend"));
}

}  // namespace
}  // namespace fairlead::controller
