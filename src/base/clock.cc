// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>

namespace fairlead {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array<Unit, 6> units{{{"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

constexpr std::uint64_t longest = std::numeric_limits<std::int64_t>::max();

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return failure(
      fmt::format(R"("{}" is not a duration: {}; expected something like "5s", "100ms" or "1m30s")",
                  text, why));
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) {
    return bad(text, "it is empty");
  }
  std::uint64_t total = 0;
  std::size_t next_unit = 0;  // units come in order, each at most once
  std::string_view rest = text;
  while (!rest.empty()) {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (error == std::errc::result_out_of_range) {
      return bad(text, "it is too long");
    }
    if (error != std::errc{}) {
      return bad(text, "a whole number is missing");
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::string_view name =
        rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
    if (name.empty()) {
      return bad(text, rest.empty() ? "a unit is missing" : "only whole numbers have a unit");
    }
    rest.remove_prefix(name.size());
    std::size_t unit = 0;
    while (unit < units.size() && units[unit].name != name) {
      ++unit;
    }
    if (unit == units.size()) {
      return bad(text, fmt::format("the unit \"{}\" is none of h, m, s, ms, us, ns", name));
    }
    if (unit < next_unit) {
      return bad(text, "larger units come first, each once");
    }
    next_unit = unit + 1;
    if (count > (longest - total) / units[unit].nanoseconds) {
      return bad(text, "it is too long");
    }
    total += count * units[unit].nanoseconds;
  }
  return Duration(static_cast<std::int64_t>(total));
}

std::string to_text(Duration duration) {
  if (duration.count() == 0) {
    return "0s";
  }
  std::string text = duration.count() < 0 ? "-" : "";
  // The magnitude of the most negative value fits only in the unsigned type.
  auto rest = static_cast<std::uint64_t>(duration.count());
  rest = duration.count() < 0 ? 0 - rest : rest;
  for (const Unit& unit : units) {
    if (const std::uint64_t count = rest / unit.nanoseconds; count != 0) {
      fmt::format_to(std::back_inserter(text), "{}{}", count, unit.name);
      rest %= unit.nanoseconds;
    }
  }
  return text;
}

}  // namespace fairlead
