// SPDX-License-Identifier: MIT
#include "engine/user/batch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "engine/samples.h"
#include "tables/publisher.h"

namespace fairlead::user {
namespace {

namespace samples = engine::samples;
using core::Reason;

tables::Capacity small() {
  return {.workers = 2,
          .rows = 64,
          .tables = 16,
          .slots = 8192,
          .backends = 64,
          .services = 16,
          .narrow_lines = 16,
          .wide_lines = 16};  // so few that connections push each other about
}

struct World {
  World() : memory(tables::OwnMemory::make(small()).value()), publisher(memory.view(), {}) {
    publisher.publish(samples::snapshot(251), 0).value();
  }
  tables::OwnMemory memory;
  tables::Publisher publisher;
};

// A frame with room in front of it.
struct Buffer {
  explicit Buffer(const std::vector<uint8_t>& frame) {
    std::memcpy(bytes.data() + engine::frame_offset, frame.data(), frame.size());
    held = {bytes.data() + engine::frame_offset, static_cast<uint32_t>(frame.size()),
            engine::frame_offset, 0};
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::vector<uint8_t> frame() const { return {held.data, held.data + held.length}; }

  std::array<uint8_t, 2048> bytes{};
  engine::HeldFrame held;
};

// Any sample with any source, sometimes damaged.
std::vector<uint8_t> random_frame(std::mt19937& random) {
  using samples::Flags;
  static const std::array all{samples::tcp_v4(Flags::syn), samples::tcp_v4(Flags::ack),
                              samples::tcp_v6(Flags::syn), samples::tcp_v6(Flags::ack),
                              samples::udp_v4(),           samples::not_a_vip()};
  const samples::Sample& sample = all[random() % all.size()];
  std::vector<uint8_t> frame = sample.frame;
  frame[sample.source_offset + 3] = static_cast<uint8_t>(random());
  frame[sample.port_offset] = static_cast<uint8_t>(random() % 4);
  if (random() % 8 == 0) frame[12 + random() % 40] = static_cast<uint8_t>(random());
  if (random() % 16 == 0) frame.resize(random() % frame.size());
  return frame;
}

TEST(process_batch, gives_the_same_as_the_path_frame_by_frame) {
  std::mt19937 random(20);
  std::map<Reason, int> seen;
  World one;
  World many;
  for (int round = 0; round < 3000; round++) {
    const core::Tick tick = static_cast<core::Tick>(round / 10);
    if (round % 100 == 99) {  // a backend goes, another comes back
      const uint32_t member = static_cast<uint32_t>(random() % 10);
      const uint8_t flags = random() % 2 == 0 ? 0 : 3;
      one.publisher.set_flags(0, member, flags);
      many.publisher.set_flags(0, member, flags);
    }
    std::deque<Buffer> first;
    for (size_t n = random() % (largest_batch + 1); n != 0; n--) {
      first.emplace_back(random_frame(random));
    }
    std::deque<Buffer> second;
    std::vector<engine::HeldFrame> held;
    for (const Buffer& buffer : first) second.emplace_back(buffer.frame());
    for (const Buffer& buffer : second) held.push_back(buffer.held);

    std::vector<core::Decided> decided(held.size());
    process_batch(held, Tables(many.memory.view(), tick, 1), decided);
    for (size_t i = 0; i < first.size(); i++) {
      Frame frame(&first[i].held);
      const core::Decided alone = core::process(frame, Tables(one.memory.view(), tick, 1));
      const core::Outcome& outcome = alone.outcome;
      ASSERT_EQ(0, std::memcmp(&outcome, &decided[i].outcome, sizeof outcome)) << "frame " << i;
      ASSERT_EQ(alone.slow, decided[i].slow) << "frame " << i;
      second[i].held = held[i];
      ASSERT_EQ(first[i].frame(), second[i].frame());
      seen[outcome.reason]++;
    }
  }
  const tables::Memory& a = one.memory.view();
  const tables::Memory& b = many.memory.view();
  EXPECT_EQ(0, std::memcmp(a.workers, b.workers, 2 * sizeof *a.workers));
  EXPECT_EQ(0, std::memcmp(a.narrow, b.narrow, 2 * 16 * sizeof *a.narrow));
  EXPECT_EQ(0, std::memcmp(a.wide, b.wide, 2 * 16 * sizeof *a.wide));
  EXPECT_EQ(0, std::memcmp(a.backend_counters, b.backend_counters, 2 * 64 * 64));
  EXPECT_EQ(0, std::memcmp(a.service_counters, b.service_counters, 2 * 16 * 64));
  for (const Reason reason : {Reason::fresh, Reason::known, Reason::repinned, Reason::hashed,
                              Reason::not_vip, Reason::not_ip, Reason::malformed}) {
    EXPECT_GT(seen[reason], 10) << core::name_of(reason);
  }
}

TEST(tables, the_generation_is_the_same_for_a_whole_batch) {
  World world;
  const Tables before(world.memory.view(), 0, 0);
  const core::Row* row = &before.row(0);
  world.publisher.publish(samples::snapshot(251), 0).value();
  const Tables after(world.memory.view(), 0, 0);
  EXPECT_EQ(&before.row(0), row);
  EXPECT_NE(&after.row(0), row);
}

TEST(tables, each_worker_has_connections_and_counters_of_its_own) {
  World world;
  const Tables first(world.memory.view(), 0, 0);
  const Tables second(world.memory.view(), 0, 1);
  EXPECT_EQ(&first.line<core::NarrowBucket>(0) + 16, &second.line<core::NarrowBucket>(0));
  EXPECT_EQ(&first.line<core::NarrowBucket>(16), &first.line<core::NarrowBucket>(0));
  EXPECT_EQ(&first.counters() + 1, &second.counters());
  EXPECT_EQ(&first.backend_counters(0) + 64, &second.backend_counters(0));
}

TEST(frame, grows_into_the_room_in_front_and_no_further) {
  Buffer buffer(std::vector<uint8_t>(60));
  Frame frame(&buffer.held);
  EXPECT_EQ(frame.at<core::wire::Ethernet>(47), nullptr);
  EXPECT_NE(frame.at<core::wire::Ethernet>(46), nullptr);
  EXPECT_TRUE(frame.grow(engine::frame_offset));
  EXPECT_EQ(frame.length(), 60 + engine::frame_offset);
  EXPECT_EQ(buffer.held.data, buffer.bytes.data());
  EXPECT_FALSE(frame.grow(1));
}

}  // namespace
}  // namespace fairlead::user
