// SPDX-License-Identifier: MIT
// A VIP of this host as text and as the key of the BPF map.
#pragma once

#include <string>
#include <string_view>

#include "backend/records.h"
#include "base/result.h"

namespace fairlead::backend {

// "198.51.100.10" or "2001:db8:1::10", also with /32 or /128. Refused: prefixes, and addresses that
// no client can reach (unspecified, loopback, multicast, broadcast, IPv6 link-local and IPv4-mapped).
Result<VipKey> parse_vip(std::string_view text);

std::string to_text(const VipKey& vip);

}  // namespace fairlead::backend
