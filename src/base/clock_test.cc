// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <gmock/gmock.h>

#include <random>

namespace fairlead {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Duration, IsReadWithItsUnit) {
  EXPECT_EQ(parse_duration("5s"), 5s);
  EXPECT_EQ(parse_duration("100ms"), 100ms);
  EXPECT_EQ(parse_duration("1m30s"), 90s);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("1h2m3s4ms5us6ns"), 1h + 2min + 3s + 4ms + 5us + 6ns);
  EXPECT_EQ(parse_duration("90s"), 90s);
}

TEST(Duration, IsRefusedWithTheReasonAndAnExample) {
  const auto why = [](std::string_view text) {
    const Result<Duration> result = parse_duration(text);
    return result ? "accepted: " + to_text(*result) : result.error().message;
  };
  EXPECT_THAT(why(""), HasSubstr("it is empty"));
  EXPECT_THAT(why("5"), HasSubstr("a unit is missing"));
  EXPECT_THAT(why("s"), HasSubstr("a whole number is missing"));
  EXPECT_THAT(why("-5s"), HasSubstr("a whole number is missing"));
  EXPECT_THAT(why(" 5s"), HasSubstr("a whole number is missing"));
  EXPECT_THAT(why("5s "), HasSubstr("a whole number is missing"));
  EXPECT_THAT(why("1.5s"), HasSubstr("only whole numbers have a unit"));
  EXPECT_THAT(why("5 s"), HasSubstr("only whole numbers have a unit"));
  EXPECT_THAT(why("5sec"), HasSubstr(R"(the unit "sec" is none of h, m, s, ms, us, ns)"));
  EXPECT_THAT(why("30s1m"), HasSubstr("larger units come first"));
  EXPECT_THAT(why("1s1s"), HasSubstr("larger units come first, each once"));
  EXPECT_THAT(why("99999999999999999999s"), HasSubstr("it is too long"));
  EXPECT_THAT(why("3000000h"), HasSubstr("it is too long"));
  EXPECT_THAT(why("2562047h2562047m"), HasSubstr("it is too long"));
  EXPECT_THAT(why("5"), HasSubstr(R"(expected something like "5s", "100ms" or "1m30s")"));
}

TEST(Duration, IsWrittenInItsLargestUnits) {
  EXPECT_EQ(to_text(90s), "1m30s");
  EXPECT_EQ(to_text(100ms), "100ms");
  EXPECT_EQ(to_text(0s), "0s");
  EXPECT_EQ(to_text(-1500ms), "-1s500ms");
  EXPECT_EQ(to_text(Duration::min()), "-2562047h47m16s854ms775us808ns");
}

TEST(Duration, ComesBackFromItsText) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 10'000; ++round) {
    const Duration duration(static_cast<std::int64_t>(random() >> (1 + random() % 62)));
    EXPECT_EQ(parse_duration(to_text(duration)), duration) << duration.count();
  }
  EXPECT_EQ(parse_duration(to_text(Duration::max())), Duration::max());
}

TEST(Clock, NeverGoesBack) {
  const Time before = now();
  EXPECT_GE(now(), before);
}

}  // namespace
}  // namespace fairlead
