// SPDX-License-Identifier: MIT
// From the pools of services.json to the checks of control/health: who asks what of whom, and which
// pools share an answer.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/config/includes.h"
#include "control/config/model.h"
#include "control/health/check.h"

namespace fairlead::controller {

// How the health of one entry of a pool is found out: fixed (`none` is always up), by a check, or
// not at all. What can never be known counts as up, or it would get nothing beside those that are.
struct HealthSource {
  enum class Kind { check, always_up, never_known };
  Kind kind = Kind::always_up;
  health::Check check;
  std::string why;  // never_known: for people
};

class Checks {
 public:
  explicit Checks(const config::Services& services);  // which must stay where they are

  // Of an entry of those services, known by its place in memory.
  const HealthSource& source_of(const config::Backend& backend) const;

  // All checks of the configuration, each once.
  std::map<health::Check, health::Timing> wanted() const;

  // One line for each pool with backends that cannot be checked, for the log.
  std::vector<std::string> complaints() const;

 private:
  const config::Services& services_;
  std::unordered_map<const config::Backend*, HealthSource> sources_;
};

tables::Identity endpoint_of(const config::IpAddress& address, uint16_t port);

}  // namespace fairlead::controller
