// SPDX-License-Identifier: MIT
#include "control/controller/backend_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "control/config/suggest.h"

namespace fairlead::controller {
namespace {

constexpr double most_seconds = 1e9;  // some thirty years

std::string text_of(const config::Backend& backend, bool with_port) {
  return config::to_text(config::Endpoint{backend.ip, with_port ? backend.port : uint16_t{0}});
}

}  // namespace

Result<Timed> parse_timed(std::string_view text) {
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos) return Timed{text, 0};
  const std::string_view number = text.substr(at + 1);
  double seconds = -1;
  const auto [end, error] =
      std::from_chars(number.begin(), number.end(), seconds, std::chars_format::fixed);
  if (error != std::errc() || end != number.end() || !(seconds >= 0 && seconds <= most_seconds)) {
    return failure(
        fmt::format("{}: \"{}\" is no number of seconds after the first frame; expected "
                    "something like {}@2.5",
                    text, number, text.substr(0, at)));
  }
  return Timed{text.substr(0, at), static_cast<uint64_t>(std::llround(seconds * 1e9))};
}

Result<BackendChange> parse_backend_change(Word word, std::string_view text) {
  const auto timed = parse_timed(text);
  if (!timed) return std::unexpected(timed.error());
  const auto backend = config::parse_backend(timed->what);
  if (!backend) {
    return failure(
        fmt::format("{}: \"{}\" is no backend; expected IP or IP:PORT, with IPv6 in "
                    "brackets before a port",
                    text, timed->what));
  }
  return BackendChange{word, *backend, timed->at_ns};
}

bool is_meant(const config::Endpoint& said, const config::Backend& backend) {
  return said.address == backend.ip && (said.port == 0 || said.port == backend.port);
}

Result<void> check_known(const config::Endpoint& said,
                         std::span<const config::Services* const> configurations) {
  std::vector<std::string> others;
  for (const config::Services* services : configurations) {
    for (const config::Pool& pool : services->pools) {
      for (const config::Backend& backend : pool.backends) {
        if (is_meant(said, backend)) return {};
        others.push_back(text_of(backend, said.port != 0));
      }
    }
  }
  std::ranges::sort(others);
  const auto repeated = std::ranges::unique(others);
  others.erase(repeated.begin(), repeated.end());
  const std::vector<std::string_view> candidates(others.begin(), others.end());
  return failure(fmt::format(
      "{}: no pool has this backend; {}", config::to_text(said),
      config::suggestion(config::to_text(said), candidates, "expected one from services.json")));
}

}  // namespace fairlead::controller
