// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <mutex>
#include <optional>

#include "base/line_writer.h"
#include "base/text.h"

namespace fairlead::log {
namespace {

struct Look {
  std::string_view name, colour;
};
constexpr std::array<Look, 4> looks{
    {{"debug", "\033[36m"}, {"info", "\033[32m"}, {"warning", "\033[33m"}, {"error", "\033[31m"}}};

const Look& look_of(Level level) { return looks[static_cast<std::size_t>(level)]; }

void append_escaped(fmt::memory_buffer& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '"': out.append(std::string_view("\\\"")); break;
      case '\\': out.append(std::string_view("\\\\")); break;
      case '\n': out.append(std::string_view("\\n")); break;
      case '\t': out.append(std::string_view("\\t")); break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out.push_back(c);
        }
    }
  }
}

void append_json(fmt::memory_buffer& out, Level level, std::string_view message) {
  using namespace std::chrono;
  const auto since = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  fmt::format_to(std::back_inserter(out),
                 R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:06}Z","level":"{}","message":")",
                 fmt::gmtime(static_cast<std::time_t>(since / 1'000'000)), since % 1'000'000,
                 look_of(level).name);
  append_escaped(out, message);
  out.append(std::string_view("\"}\n"));
}

void append_human(fmt::memory_buffer& out, Level level, std::string_view message, bool colours) {
  using namespace std::chrono;
  const auto since = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  const Look& look = look_of(level);
  fmt::format_to(std::back_inserter(out), "{:%H:%M:%S}.{:03} {}{:<7}{} {}\n",
                 fmt::localtime(static_cast<std::time_t>(since / 1'000)), since % 1'000,
                 colours ? look.colour : "", look.name, colours ? "\033[m" : "", message);
}

class Log {
 public:
  explicit Log(Form form) : terminal_(::isatty(STDERR_FILENO) == 1), writer_(STDERR_FILENO) {
    human_ = form == Form::human || (form == Form::automatic && terminal_);
  }

  // False if nobody takes it. `left_out`: how many lines before it were not taken.
  bool write(Level level, std::string_view message, std::uint64_t left_out) {
    fmt::memory_buffer out;
    if (left_out != 0) {
      append(out, Level::warning,
             fmt::format("{} of this log could not be written: whoever reads it did not keep up, "
                         "or was away",
                         counted(left_out, "line")));
    }
    append(out, level, message);
    return writer_.write({out.data(), out.size()});
  }

 private:
  void append(fmt::memory_buffer& out, Level level, std::string_view message) const {
    human_ ? append_human(out, level, message, terminal_) : append_json(out, level, message);
  }

  bool terminal_, human_;
  LineWriter writer_;
};

// Never destroyed, so that threads may still log while the program ends.
struct State {
  std::atomic<Level> level{Level::info};
  std::atomic<std::uint64_t> left_out{0};
  std::mutex mutex;                // guards the rest
  std::optional<Log> log;          // made for the first line
  std::uint64_t left_out_now = 0;  // since a line could be written
};

State& state() {
  static State& state = *new State;
  return state;
}

}  // namespace

void start(Form form) {
  const std::scoped_lock lock(state().mutex);
  state().log.emplace(form);
}

void set_level(Level level) { state().level.store(level, std::memory_order_relaxed); }

Level level() { return state().level.load(std::memory_order_relaxed); }

bool enabled(Level level) { return level >= log::level(); }

std::uint64_t left_out() { return state().left_out.load(std::memory_order_relaxed); }

Result<Level> parse_level(std::string_view name) {
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (looks[i].name == name) {
      return static_cast<Level>(i);
    }
  }
  return failure(
      fmt::format(R"("{}" is not a log level; expected debug, info, warning or error)", name));
}

void write(Level level, std::string_view message) {
  if (!enabled(level)) {
    return;
  }
  State& shared = state();
  const std::scoped_lock lock(shared.mutex);
  if (!shared.log) {
    shared.log.emplace(Form::automatic);
  }
  if (shared.log->write(level, message, shared.left_out_now)) {
    shared.left_out_now = 0;
  } else {
    shared.left_out_now++;
    shared.left_out.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace fairlead::log
