// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the BPF programs of a backend and those who load them share: keys and values of their maps.
#pragma once

#include "core/types.h"

namespace fairlead::backend {

constexpr core::u32 max_vips = 4096;

// The key of map `vips`. No padding: the kernel compares all 20 bytes.
struct VipKey {
  core::u32 family;  // 4 or 6: ::ffff:a.b.c.d in an IPv6 packet is not a.b.c.d
  core::Address address;

  friend constexpr bool operator==(const VipKey&, const VipKey&) = default;
};
static_assert(sizeof(VipKey) == 20);

// What happened to a tunnel packet; the index into map `packets`, which counts per CPU.
enum class Outcome : core::u32 {
  gre = 0,    // decapsulated, by kind of tunnel
  ipip,       // 4in4, 6in4, 4in6, 6in6
  gue,        // UDP, port 6080
  other_vip,  // untouched: the inner destination is no VIP of this host
  malformed,  // untouched: inner header broken or longer than the outer packet
  congested,  // dropped: the outer header says CE, the inner one cannot (RFC 6040, section 4.2)
};
constexpr core::u32 outcome_count = 6;

// The only value of map `settings` of clamp.bpf.cc: the largest MSS that a SYN of a VIP announces,
// by the family of its packet. 0: any.
struct MssLimits {
  core::u32 v4, v6;

  friend constexpr bool operator==(const MssLimits&, const MssLimits&) = default;
};

constexpr const char* name_of(Outcome outcome) {
  constexpr const char* names[] = {"gre", "ipip", "gue", "other_vip", "malformed", "congested"};
  return names[static_cast<core::u32>(outcome)];
}

}  // namespace fairlead::backend
