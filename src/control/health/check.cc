// SPDX-License-Identifier: MIT
#include "control/health/check.h"

#include <algorithm>
#include <tuple>

namespace fairlead::health {

std::strong_ordering operator<=>(const Check& a, const Check& b) {
  return std::tie(a.target, a.kind, a.path, a.host, a.expect_status) <=>
         std::tie(b.target, b.kind, b.path, b.host, b.expect_status);
}

bool operator==(const Check& a, const Check& b) { return (a <=> b) == 0; }

Timing most_demanding(const Timing& a, const Timing& b) {
  return {std::min(a.interval, b.interval), std::min(a.timeout, b.timeout),
          std::min(a.healthy, b.healthy), std::min(a.unhealthy, b.unhealthy)};
}

}  // namespace fairlead::health
