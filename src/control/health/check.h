// SPDX-License-Identifier: MIT
// What is asked of a backend, how often, and what came of it once. A check is known by all that
// decides its answer: pools that ask the same of the same backend share one check.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tables/snapshot.h"

namespace fairlead::health {

enum class Kind : uint8_t { tcp, http };

struct Check {
  tables::Identity target;  // port 1..65535
  Kind kind = Kind::tcp;
  std::string path, host;               // http; empty host: the address
  std::vector<uint16_t> expect_status;  // http
};
std::strong_ordering operator<=>(const Check& a, const Check& b);
bool operator==(const Check& a, const Check& b);

struct Timing {
  Duration interval = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(2);
  uint32_t healthy = 2, unhealthy = 3;  // answers in a row until up, until down

  friend bool operator==(const Timing&, const Timing&) = default;
};

// For a check that several share: the shortest times and the smallest thresholds of both.
Timing most_demanding(const Timing& a, const Timing& b);

// local: it failed on this side, for want of a descriptor or by a firewall of this host.
enum class ProbeResult : uint8_t {
  passed,
  refused,
  timeout,
  no_route,
  reset,
  status,
  protocol,
  local
};
constexpr uint8_t probe_results = 8;

constexpr const char* name_of(ProbeResult result) {
  constexpr const char* names[] = {"passed", "refused", "timeout",  "no_route",
                                   "reset",  "status",  "protocol", "local"};
  return static_cast<uint8_t>(result) < probe_results ? names[static_cast<uint8_t>(result)]
                                                      : "unknown";
}

struct Outcome {
  ProbeResult result = ProbeResult::passed;
  std::string reason;  // for people: "refused", "status 503"
  Duration latency{};

  bool passed() const { return result == ProbeResult::passed; }
};

enum class State : uint8_t { unknown, up, down };

}  // namespace fairlead::health
