// SPDX-License-Identifier: MIT
#include "control/config/suggest.h"

#include <gtest/gtest.h>

namespace fairlead::config {
namespace {

constexpr std::string_view words[] = {"engine", "interface", "id", "network_mtu", "xdp_mode"};

TEST(Suggestion, is_the_word_that_takes_the_fewest_mistakes) {
  EXPECT_EQ(nearest("engin", words), "engine");
  EXPECT_EQ(nearest("enginee", words), "engine");
  EXPECT_EQ(nearest("engone", words), "engine");
  EXPECT_EQ(nearest("egnine", words), "engine") << "two letters swapped are one mistake";
  EXPECT_EQ(nearest("network-mtu", words), "network_mtu");
  EXPECT_EQ(nearest("mtu", words), "") << "nothing like any of them";
  EXPECT_EQ(nearest("ip", words), "id");
  EXPECT_EQ(nearest("engine", words), "engine");
}

TEST(Suggestion, is_nothing_for_an_empty_or_endless_word) {
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 'e'), words), "");
  EXPECT_EQ(nearest("engine", {}), "");
}

TEST(Suggestion, takes_the_first_of_equals) {
  constexpr std::string_view pools[] = {"web-a", "web-b"};
  EXPECT_EQ(nearest("web-c", pools), "web-a");
}

TEST(Suggestion, lists_the_words_when_they_are_few_and_none_is_near) {
  EXPECT_EQ(suggestion("engin", words, "-"), "did you mean \"engine\"?");
  EXPECT_EQ(suggestion("quite another", words, "-"),
            "expected one of \"engine\", \"interface\", \"id\", \"network_mtu\", \"xdp_mode\"");
  EXPECT_EQ(suggestion("quite another", std::span(words).first(1), "-"), "expected \"engine\"");
  EXPECT_EQ(suggestion("engine", {}, "expected the id of a pool"), "expected the id of a pool");
  const std::vector<std::string_view> many(100, "pool");
  EXPECT_EQ(suggestion("quite another", many, "expected the id of a pool"),
            "expected the id of a pool");
}

}  // namespace
}  // namespace fairlead::config
