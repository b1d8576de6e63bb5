// SPDX-License-Identifier: MIT
// From the pools of services.json to the checks of control/health: who asks what of whom, and which
// pools share an answer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/config/includes.h"
#include "control/config/model.h"
#include "control/health/check.h"

namespace fairlead::controller {

// How the health of one entry of a pool is found out: fixed (`none` is always up), by a check, or
// not at all, which leaves it unknown.
struct HealthSource {
  enum class Kind { check, always_up, never_known };
  Kind kind = Kind::always_up;
  health::Check check;
  std::string why;  // never_known: for people
};

class Checks {
 public:
  explicit Checks(const config::Services& services);

  HealthSource source_of(const config::Pool& pool, const config::Backend& backend) const;

  // All checks of the configuration, each once.
  std::map<health::Check, health::Timing> wanted() const;

  // One line for each pool whose check this version cannot make, for the log.
  std::vector<std::string> complaints() const;

 private:
  const config::Services& services_;
  std::map<std::string, uint16_t, std::less<>> port_of_pool_;  // of the services that use it
};

tables::Identity endpoint_of(const config::IpAddress& address, uint16_t port);

}  // namespace fairlead::controller
