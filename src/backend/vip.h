// SPDX-License-Identifier: MIT
// A VIP of this host as text and as the key of the BPF map.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "backend/records.h"
#include "base/result.h"

namespace fairlead::backend {

// "198.51.100.10" or "2001:db8:1::10", also with /32 or /128. Refused: prefixes, and addresses that
// no client can reach (unspecified, loopback, multicast, broadcast, IPv6 link-local and
// IPv4-mapped).
Result<VipKey> parse_vip(std::string_view text);

std::string to_text(const VipKey& vip);

inline bool contains(const std::vector<VipKey>& all, const VipKey& vip) {
  return std::ranges::find(all, vip) != all.end();
}

inline bool any_ipv4(const std::vector<VipKey>& all) {
  return std::ranges::find(all, core::u32{4}, &VipKey::family) != all.end();
}

}  // namespace fairlead::backend
