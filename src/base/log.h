// SPDX-License-Identifier: MIT
// The log, on stderr: coloured lines for people when stderr is a terminal, else one JSON object a
// line ({"time","level","message"}, RFC 3339 in UTC) for journald and log collectors.
// Any thread may write; a line is written whole, or left out when whoever reads the log does not
// keep up or has gone: nobody waits for a log. Those that were left out are counted, and said once
// lines can be written again. The level may be changed while the program runs.
//   log::info("interface {}: {} queues", name, queues);
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace fairlead::log {

enum class Level { debug, info, warning, error };
enum class Form { automatic, human, json };  // automatic: human on a terminal, else JSON

// Chooses the form and takes what is stderr now; without it the log begins as `automatic` and
// `info` at the first line.
void start(Form form);

void set_level(Level level);
Level level();
Result<Level> parse_level(std::string_view name);  // "debug", "info", "warning", "error"

// Writes one line if `level` is enabled. Line feeds and control characters are escaped in JSON
// only.
void write(Level level, std::string_view message);
bool enabled(Level level);

// Lines that could not be written since the program began.
uint64_t left_out();

template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::debug)) {
    write(Level::debug, fmt::format(text, std::forward<Args>(args)...));
  }
}

template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::info)) {
    write(Level::info, fmt::format(text, std::forward<Args>(args)...));
  }
}

template <class... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::warning)) {
    write(Level::warning, fmt::format(text, std::forward<Args>(args)...));
  }
}

template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::error)) {
    write(Level::error, fmt::format(text, std::forward<Args>(args)...));
  }
}

}  // namespace fairlead::log
