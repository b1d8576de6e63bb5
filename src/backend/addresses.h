// SPDX-License-Identifier: MIT
// The VIP addresses on `lo`, over rtnetlink. A backend must own the VIP to accept its packets, and
// must not hold it on an interface where it would speak for it.
#pragma once

#include <vector>

#include "backend/records.h"
#include "base/result.h"

namespace fairlead::backend {

// All addresses of lo, 127.0.0.1 and ::1 included.
Result<std::vector<VipKey>> loopback_addresses();

// As /32 or /128. One that is there already: false, and nothing happens.
Result<bool> add_loopback_address(const VipKey& vip);

// One that is not there: nothing happens.
Result<void> remove_loopback_address(const VipKey& vip);

}  // namespace fairlead::backend
