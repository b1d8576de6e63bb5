// SPDX-License-Identifier: MIT
#include "control/health/check.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace fairlead::health {
namespace {

auto key_of(const Check& check) {
  const core::Address& a = check.target.address;
  return std::tuple(std::array{a.word[0], a.word[1], a.word[2], a.word[3]}, check.target.family,
                    check.target.port, check.kind);
}

}  // namespace

std::strong_ordering operator<=>(const Check& a, const Check& b) {
  if (const auto order = key_of(a) <=> key_of(b); order != 0) return order;
  return std::tie(a.path, a.host, a.expect_status) <=> std::tie(b.path, b.host, b.expect_status);
}

bool operator==(const Check& a, const Check& b) { return (a <=> b) == 0; }

Timing most_demanding(const Timing& a, const Timing& b) {
  return {std::min(a.interval, b.interval), std::min(a.timeout, b.timeout),
          std::min(a.healthy, b.healthy), std::min(a.unhealthy, b.unhealthy)};
}

}  // namespace fairlead::health
