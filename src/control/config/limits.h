// SPDX-License-Identifier: MIT
// Bounds of the configuration that the packet path does not already set (core/limits.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "control/config/model.h"

namespace fairlead::config::limits {

constexpr size_t file_bytes = 32u << 20;  // either file; 65,535 backends, well indented, are 12 MiB
constexpr size_t toml_bytes = 1u << 20;   // node.toml
constexpr size_t depth = 32;              // values inside values
constexpr size_t key_parts = 16;          // a.b.c is 3 (TOML)
constexpr size_t problems = 1'000;        // reported one by one; the others are counted
constexpr size_t name_length = 128;       // ids
constexpr size_t text_length = 4'096;     // any other string
constexpr size_t vips = 65'535;           // ids 1..65535 in core::Row
constexpr size_t pools = 16'384;          // include lists are walked once for each
constexpr uint64_t slots = 1u << 26;      // of all Maglev tables together: 128 MiB
constexpr uint32_t weight = 65'535;       // of a backend or a branch
constexpr uint32_t smallest_mtu = 576;    // RFC 791: what every host must take
constexpr uint32_t ipv6_mtu = 1'280;      // RFC 8200, section 5
constexpr uint32_t smallest_mss = 536;    // RFC 9293, section 3.7.1
constexpr Milliseconds shortest_ttl{100};  // one tick of the packet path's clock
constexpr Milliseconds longest_ttl{86'400'000};

}  // namespace fairlead::config::limits
