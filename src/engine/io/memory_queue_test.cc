// SPDX-License-Identifier: MIT
#include "engine/io/memory_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace fairlead::engine {
namespace {

std::vector<uint8_t> frame_of(size_t length, uint8_t first) {
  std::vector<uint8_t> frame(length);
  std::iota(frame.begin(), frame.end(), first);
  return frame;
}

TEST(memory_queue, frames_come_in_order_and_what_is_sent_is_kept) {
  MemoryQueue queue(8);
  for (uint8_t i = 0; i < 5; i++) {
    queue.offer(frame_of(60 + i, i));
  }
  std::array<HeldFrame, 3> held{};
  ASSERT_EQ(queue.receive(held), 3u);
  EXPECT_EQ(queue.held(), 3u);
  queue.transmit(held[2]);
  queue.release(held[0]);
  queue.transmit(held[1]);
  ASSERT_EQ(queue.receive(held), 2u);
  queue.transmit(held[0]);
  queue.transmit(held[1]);
  EXPECT_EQ(queue.receive(held), 0u);
  EXPECT_EQ(queue.sent(),
            (std::vector{frame_of(62, 2), frame_of(61, 1), frame_of(63, 3), frame_of(64, 4)}));
  EXPECT_EQ(queue.released(), 1u);
  EXPECT_EQ(queue.held(), 0u);
}

TEST(memory_queue, a_frame_has_room_in_front_and_headers_share_cache_lines) {
  MemoryQueue queue(1);
  queue.offer(frame_of(MemoryQueue::largest_frame, 7));
  std::array<HeldFrame, 1> held{};
  ASSERT_EQ(queue.receive(held), 1u);
  EXPECT_EQ(std::bit_cast<uintptr_t>(held[0].data) % 64, 24u);
  EXPECT_GE(held[0].room, 64u);
  held[0].data -= 24;
  held[0].length += 24;
  std::fill_n(held[0].data, 38, uint8_t{0xee});
  queue.transmit(held[0]);
  EXPECT_EQ(queue.sent().at(0).size(), MemoryQueue::largest_frame + 24);
  EXPECT_EQ(queue.sent().at(0)[38], frame_of(100, 7)[14]);
}

TEST(memory_queue, repeated_frames_are_received_again_as_they_were_offered) {
  MemoryQueue queue(4, MemoryQueue::After::repeat);
  for (uint8_t i = 0; i < 4; i++) {
    queue.offer(frame_of(100, i));
  }
  for (uint8_t round = 0; round < 10; round++) {
    std::array<HeldFrame, 3> held{};
    ASSERT_EQ(queue.receive(held), 3u);
    for (uint8_t i = 0; i < 3; i++) {
      HeldFrame& frame = held[i];
      const uint8_t first = static_cast<uint8_t>((round * 3 + i) % 4);
      EXPECT_TRUE(std::ranges::equal(std::span(frame.data, frame.length), frame_of(100, first)));
      frame.data -= 44;
      frame.length += 44;
      std::fill_n(frame.data, 44 + 22, uint8_t{0xee});
      queue.transmit(frame);
    }
  }
  EXPECT_TRUE(queue.sent().empty());
  EXPECT_EQ(queue.waiting(), 4u);
}

}  // namespace
}  // namespace fairlead::engine
