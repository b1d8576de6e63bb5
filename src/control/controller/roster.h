// SPDX-License-Identifier: MIT
// Which members of a plan's pools a check or an address concerns: what a health flip or a changed
// next hop has to touch. Made once for each configuration, read only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "control/config/model.h"
#include "control/controller/checks.h"
#include "control/controller/plan.h"

namespace fairlead::controller {

struct MemberId {
  uint32_t pool = 0, member = 0;  // indices into the plan and its snapshot
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

class Roster {
 public:
  struct Checked {
    std::vector<MemberId> members;
    std::vector<std::string> pools;  // where the entries stand that are checked so; sorted
  };

  Roster(const std::vector<Plan::Pool>& pools, const Checks& checks);

  const Checked& of(const health::Check& check) const;
  const std::vector<MemberId>& of(const config::IpAddress& address) const;

 private:
  std::map<health::Check, Checked> by_check_;
  std::map<config::IpAddress, std::vector<MemberId>> by_address_;
};

}  // namespace fairlead::controller
