// SPDX-License-Identifier: MIT
#include "engine/replay/steering.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "engine/samples.h"

namespace fairlead::replay {
namespace {

namespace samples = engine::samples;
using Bytes = std::vector<uint8_t>;

uint32_t worker(Bytes frame, uint32_t workers) {
  return worker_of(std::as_writable_bytes(std::span(frame)), workers);
}

Bytes with_port(samples::Sample sample, uint32_t port) {
  sample.frame[sample.port_offset] = static_cast<uint8_t>(port >> 8);
  sample.frame[sample.port_offset + 1] = static_cast<uint8_t>(port);
  return sample.frame;
}

Bytes fragment(const Bytes& frame, uint8_t flags_and_offset, uint8_t offset) {
  Bytes piece = frame;
  piece[20] = flags_and_offset;
  piece[21] = offset;
  return piece;
}

TEST(Steering, AllPacketsOfAFlowComeToOneWorker) {
  for (uint32_t port = 1; port < 200; port++) {
    const Bytes syn = with_port(samples::tcp_v4(samples::Flags::syn), port);
    EXPECT_EQ(worker(syn, 7), worker(with_port(samples::tcp_v4(samples::Flags::ack), port), 7));
    EXPECT_EQ(worker(syn, 7), worker(fragment(syn, 0x20, 0), 7)) << "its first fragment";
  }
}

TEST(Steering, FlowsSpreadOverAllWorkersEvenly) {
  for (const auto& sample : {samples::udp_v4(), samples::tcp_v6(samples::Flags::ack)}) {
    std::vector<uint32_t> counts(5);
    for (uint32_t port = 0; port < 10'000; port++) counts[worker(with_port(sample, port), 5)]++;
    for (const uint32_t count : counts) EXPECT_NEAR(count, 2'000, 5 * 40);
  }
}

TEST(Steering, LaterFragmentsOfAHostMeetWhateverTheirFirstBytes) {
  std::set<uint32_t> workers;
  for (uint32_t port = 0; port < 100; port++) {
    workers.insert(worker(fragment(with_port(samples::udp_v4(), port), 0, 100), 8));
  }
  EXPECT_EQ(workers.size(), 1u);
}

TEST(Steering, WhatIsNoIpPacketComesToTheFirstWorker) {
  Bytes arp = samples::udp_v4().frame;
  arp[13] = 0x06;
  EXPECT_EQ(worker(arp, 64), 0u);
  EXPECT_EQ(worker({1, 2, 3}, 64), 0u);
  EXPECT_EQ(worker({}, 64), 0u);
}

}  // namespace
}  // namespace fairlead::replay
