// SPDX-License-Identifier: MIT
// The kernel settings that a backend needs, as names of sysctl(8), whole numbers only.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fairlead::backend {

Result<int> read_sysctl(const std::string& name);
Result<void> write_sysctl(const std::string& name, int value);

// One setting: what it is now, whether that will do, and what setup would write.
struct Setting {
  std::string name;
  int value;
  bool right;
  int wanted;
  std::string why;  // "or else ..."
};

// For IPv4 VIPs on lo and tunnels that end on `interface`. IPv6 needs none of them: neighbour
// discovery answers only for addresses of the interface asked, and there is no reverse path filter.
Result<std::vector<Setting>> ipv4_settings(const std::string& interface);

}  // namespace fairlead::backend
