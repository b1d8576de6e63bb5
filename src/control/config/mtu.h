// SPDX-License-Identifier: MIT
// What is left of network_mtu inside a tunnel. CONTRACT section 7.
#pragma once

#include <cstdint>

#include "core/records.h"

namespace fairlead::config {

// Bytes that `method` puts in front of an IP packet on the way to a backend of `outer`.
constexpr uint32_t overhead(core::Method method, core::Family outer) {
  const uint32_t ip = outer == core::Family::v6 ? 40 : 20;
  switch (method) {
    case core::Method::gre: return ip + 4;
    case core::Method::ipip: return ip;
    case core::Method::gue: return ip + 12;
    case core::Method::l2:
    case core::Method::nat: return 0;
  }
  return 0;
}

constexpr bool is_tunnel(core::Method method) {
  return method != core::Method::l2 && method != core::Method::nat;
}

// IP and TCP header without options: mss = inner MTU - this.
constexpr uint32_t ip_tcp_bytes(core::Family inner) { return inner == core::Family::v6 ? 60 : 40; }

}  // namespace fairlead::config
