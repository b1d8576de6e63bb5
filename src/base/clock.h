// SPDX-License-Identifier: MIT
// Time. Everything that waits or ages uses the monotonic clock, which no one sets; state machines
// never read it but are told `now` (a Time), so that tests and replays own it. Durations in
// configuration files are text with units, "1m30s", read and written here.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace fairlead {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<Clock, Duration>;

inline Time now() { return Clock::now(); }

// One or more whole numbers with a unit (h, m, s, ms, us, ns), larger units first, nothing between:
// "5s", "100ms", "1m30s", "0s". At most some 292 years. Errors name the text and show examples.
Result<Duration> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back as the same duration: 90 s is "1m30s". A
// negative duration, which cannot be read back, starts with "-".
std::string to_text(Duration duration);

}  // namespace fairlead
