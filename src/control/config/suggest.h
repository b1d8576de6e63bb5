// SPDX-License-Identifier: MIT
// "Did you mean ...?": the nearest of the words that would have been right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fairlead::config {

// The candidate that takes the fewest typing mistakes (a letter more, less, another, or two
// swapped) to become `word`; empty if even that is nothing like it.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// `did you mean "web"?`, or else `expected one of "web", "api"` (few candidates), or `otherwise`.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view otherwise);

}  // namespace fairlead::config
