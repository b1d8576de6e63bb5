// SPDX-License-Identifier: MIT
// Which entries of services.json stand behind each member of a snapshot's pools, and which members
// a check or an address concerns: what a health flip or a changed next hop has to touch. Made once
// for each snapshot, read only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "control/config/model.h"
#include "control/controller/checks.h"
#include "control/controller/plan.h"
#include "tables/snapshot.h"

namespace fairlead::controller {

struct MemberId {
  uint32_t pool = 0, member = 0;  // indices into the snapshot
  friend auto operator<=>(const MemberId&, const MemberId&) = default;
};

class Roster {
 public:
  struct Watched {  // an entry of the file
    const config::Pool* pool;
    const config::Backend* backend;
    HealthSource source;
  };
  struct Pool {
    const config::Pool* pool;
    std::vector<std::vector<Watched>> members;  // entries of each member, never empty
  };

  // `services` is what `snapshot` was planned from.
  Roster(std::shared_ptr<const config::Services> services, const tables::Snapshot& snapshot);

  const std::vector<Pool>& pools() const { return pools_; }  // as in the snapshot
  const std::vector<MemberId>& of(const health::Check& check) const;
  const std::vector<MemberId>& of(const config::IpAddress& address) const;

 private:
  using AddressKey = std::array<uint32_t, 5>;
  static AddressKey key_of(const config::IpAddress& address);

  std::shared_ptr<const config::Services> services_;  // owns what entries point to
  std::vector<Pool> pools_;
  std::map<health::Check, std::vector<MemberId>> by_check_;
  std::map<AddressKey, std::vector<MemberId>> by_address_;
};

// Up if one entry is, else unknown if one is, else down.
Health combined(Health a, Health b);

}  // namespace fairlead::controller
