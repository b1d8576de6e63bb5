// SPDX-License-Identifier: MIT
// MemoryQueue: see memory_queue.h.
#include "engine/io/memory_queue.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace fairlead::engine {

MemoryQueue::MemoryQueue(uint32_t chunks, After after)
    : after_(after), memory_(size_t{chunks} * chunk_size), originals_(chunks), waiting_(chunks) {
  check(std::has_single_bit(chunks) && memory_.data() != nullptr, "{} chunks", chunks);
  for (uint32_t chunk = chunks; chunk != 0; chunk--) {
    free_.push_back(chunk - 1);
  }
}

void MemoryQueue::offer(std::span<const uint8_t> frame) {
  check(!free_.empty() && frame.size() <= largest_frame, "a frame of {} bytes, {} chunks free",
        frame.size(), free_.size());
  const uint32_t chunk = free_.back();
  free_.pop_back();
  std::ranges::copy(frame, place_of(chunk));
  Original& original = originals_[chunk];
  original.length = static_cast<uint32_t>(frame.size());
  std::ranges::copy(frame.first(std::min(frame.size(), overwritten)), original.front.begin());
  push(chunk);
}

size_t MemoryQueue::receive(std::span<HeldFrame> frames) {
  const size_t count = std::min(frames.size(), waiting());
  for (size_t i = 0; i < count; i++) {
    const uint32_t chunk = waiting_[front_++ & (waiting_.size() - 1)];
    frames[i] = {place_of(chunk), originals_[chunk].length, frame_offset, chunk};
  }
  held_ += count;
  return count;
}

void MemoryQueue::transmit(const HeldFrame& frame) {
  if (after_ == After::keep) {
    sent_.emplace_back(frame.data, frame.data + frame.length);
  }
  put_back(frame);
}

void MemoryQueue::release(const HeldFrame& frame) {
  released_++;
  put_back(frame);
}

bool MemoryQueue::lend(HeldFrame& frame, uint32_t length) {
  if (free_.empty() || length > largest_frame) return false;
  const uint32_t chunk = free_.back();
  free_.pop_back();
  frame = {place_of(chunk), length, frame_offset, chunk};
  held_++;
  return true;
}

void MemoryQueue::put_back(const HeldFrame& frame) {
  held_--;
  if (after_ == After::keep) {
    free_.push_back(frame.chunk);
    return;
  }
  const Original& original = originals_[frame.chunk];
  std::memcpy(place_of(frame.chunk), original.front.data(), overwritten);
  push(frame.chunk);
}

}  // namespace fairlead::engine
