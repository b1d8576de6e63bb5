// SPDX-License-Identifier: MIT
// For fuzzers: what every list of problems must be, whatever the text was.
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/check.h"
#include "control/config/limits.h"
#include "control/config/parse.h"

namespace fairlead::config {

inline void check_problems(const Problems& problems, std::string_view text) {
  check(!problems.empty() && problems.size() <= limits::problems + 1, "{} problems",
        problems.size());
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  std::tuple<uint32_t, uint32_t> last{0, 0};
  for (const Problem& problem : problems) {
    check(!problem.message.empty() && problem.format().find('\n') == std::string::npos,
          "\"{}\" is no line for people", problem.format());
    if (problem.line == 0) continue;
    check(problem.line <= lines && problem.column >= 1, "{} in a file of {} lines",
          problem.format(), lines);
    const std::tuple place{problem.line, problem.column};
    check(last <= place, "{} comes after a later one", problem.format());
    last = place;
  }
}

}  // namespace fairlead::config
