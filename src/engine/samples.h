// SPDX-License-Identifier: MIT
// A small world for tests and benchmarks of the engines: one VIP per family with TCP and UDP
// services over ten GRE backends, and packets for it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tables/snapshot.h"

namespace fairlead::engine::samples {

constexpr uint32_t source_v4 = 0xc0a80101;  // 192.168.1.1 and up; IPv6: the last word

// VIPs 10.200.1.1 and fc00:1::1, port 80 of TCP and UDP.
std::shared_ptr<const tables::Snapshot> snapshot(uint32_t table_size = 65'537);

struct Sample {
  std::vector<uint8_t> frame;
  uint32_t source_offset;  // of the word of the source address that a benchmark varies
  uint32_t port_offset;    // of the source port
};

enum class Flags : uint8_t { syn = 0x02, ack = 0x10 };

Sample tcp_v4(Flags flags);
Sample tcp_v6(Flags flags);
Sample udp_v4();
Sample not_a_vip();

}  // namespace fairlead::engine::samples
