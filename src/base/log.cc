// SPDX-License-Identifier: MIT
// spdlog does the locking, the colours and the level; what it lacks is JSON with escapes, which is
// the formatter below.
#include "base/log.h"

#include <spdlog/common.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>

namespace fairlead::log {
namespace {

constexpr std::array<std::string_view, 4> names{"debug", "info", "warning", "error"};

spdlog::level::level_enum level_of(Level level) {
  constexpr std::array levels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                              spdlog::level::err};
  return levels[static_cast<std::size_t>(level)];
}

std::string_view name_of(spdlog::level::level_enum level) {
  return level <= spdlog::level::debug  ? names[0]
         : level == spdlog::level::info ? names[1]
         : level == spdlog::level::warn ? names[2]
                                        : names[3];
}

void append_escaped(spdlog::memory_buf_t& out, std::string_view text) {
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

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    using namespace std::chrono;
    const auto since = duration_cast<microseconds>(message.time.time_since_epoch()).count();
    const std::time_t seconds = static_cast<std::time_t>(since / 1'000'000);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    fmt::format_to(
        std::back_inserter(out),
        R"({{"time":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z","level":"{}","message":")",
        utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
        since % 1'000'000, name_of(message.level));
    append_escaped(out, {message.payload.data(), message.payload.size()});
    out.append(std::string_view("\"}\n"));
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

std::shared_ptr<spdlog::logger> made(Form form) {
  const bool human =
      form == Form::human || (form == Form::automatic && ::isatty(STDERR_FILENO) == 1);
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (human) {
    sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%H:%M:%S.%e %^%-7l%$ %v"));
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_formatter(std::make_unique<JsonFormatter>());
  }
  return std::make_shared<spdlog::logger>("fairlead", std::move(sink));
}

// Never destroyed, so that threads may still log while the program ends.
struct State {
  std::atomic<Level> level{Level::info};
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;  // guarded by mutex
};

State& state() {
  static State& state = *new State;
  return state;
}

}  // namespace

void start(Form form) {
  auto logger = made(form);
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  const std::scoped_lock lock(state().mutex);
  state().logger = std::move(logger);
}

void set_level(Level level) { state().level.store(level, std::memory_order_relaxed); }

Level level() { return state().level.load(std::memory_order_relaxed); }

bool enabled(Level level) { return level >= log::level(); }

Result<Level> parse_level(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
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
  std::shared_ptr<spdlog::logger> logger;
  {
    const std::scoped_lock lock(shared.mutex);
    if (!shared.logger) {
      shared.logger = made(Form::automatic);
      shared.logger->set_level(spdlog::level::trace);
      shared.logger->flush_on(spdlog::level::trace);
    }
    logger = shared.logger;
  }
  logger->log(level_of(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace fairlead::log
