// SPDX-License-Identifier: MIT
// Every bound of the packet path and of what fills it, in one place. What an operator may choose
// (table sizes, TTLs) is bounded here and chosen in node.toml.
#pragma once

#include "core/types.h"

namespace fairlead::core::limits {

constexpr u32 vlan_tags = 2;
constexpr u32 ipv6_extension_headers = 8;
constexpr u32 service_probes = 8;   // rows looked at for one key
constexpr u32 prefix_lengths = 16;  // different prefix lengths of VIPs, per family
constexpr u32 slot_mirror = 1024;   // slots repeated behind a Maglev table: probing never wraps
constexpr u32 narrow_moves = 2;     // of entries of the connection table, to make room for one
constexpr u32 wide_moves = 3;
constexpr u32 translation_probes = 16;  // lines looked at for one key
constexpr u32 snat_tries = 16;          // ports looked at for one connection
// Below the ports that Linux gives to the node's own connections (net.ipv4.ip_local_port_range).
constexpr u32 first_snat_port = 1024;
constexpr u32 snat_ports = 32'768 - first_snat_port;
constexpr u32 branches = 64;           // routes and parts of the split of one service, and 1
constexpr u32 least_looked_at = 64;    // backends compared for one new flow
constexpr u32 longest_turns = 16'384;  // in which the weights of a pool are told
constexpr u32 workers = 64;
constexpr u32 services = 65'535;          // ids 1..65535; 0 is none
constexpr u32 backends = 65'535;          // (pool, backend) pairs; ids 1..65535; 0 is none
constexpr u32 smallest_table = 2;         // Maglev table sizes
constexpr u32 largest_table = 1'048'573;  // the largest prime below 2^20

}  // namespace fairlead::core::limits
