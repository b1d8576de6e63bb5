// SPDX-License-Identifier: MIT
// A queue of frames in memory, for tests and benchmarks: the same interface as a socket, and
// nothing behind it. What is offered is received in order; what is transmitted is kept for
// inspection, or, to measure, restored and received again without end.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/io/frame_memory.h"
#include "engine/io/frame_queue.h"

namespace fairlead::engine {

class MemoryQueue {
 public:
  enum class After { keep, repeat };  // what becomes of a frame that was transmitted or released

  // `chunks`: the most frames that can be there at once; a power of two.
  explicit MemoryQueue(uint32_t chunks, After after = After::keep);

  // Puts a frame of at most largest_frame bytes behind those that wait.
  void offer(std::span<const uint8_t> frame);

  size_t receive(std::span<HeldFrame> frames);
  void transmit(const HeldFrame& frame);
  void release(const HeldFrame& frame);
  bool lend(HeldFrame& frame, uint32_t length);
  void flush() {}
  void wait(std::chrono::milliseconds) {}

  const std::vector<std::vector<uint8_t>>& sent() const { return sent_; }  // with After::keep
  size_t released() const { return released_; }
  size_t held() const { return held_; }
  size_t waiting() const { return back_ - front_; }

  static constexpr size_t chunk_size = 2048;
  static constexpr size_t largest_frame = chunk_size - frame_offset;

 private:
  // What a tunnel overwrites of a frame: the Ethernet header with two tags.
  static constexpr size_t overwritten = 24;
  struct Original {
    std::array<uint8_t, overwritten> front;
    uint32_t length;
  };

  uint8_t* place_of(uint32_t chunk) const {
    return memory_.data() + size_t{chunk} * chunk_size + frame_offset;
  }
  void push(uint32_t chunk) { waiting_[back_++ & (waiting_.size() - 1)] = chunk; }
  void put_back(const HeldFrame& frame);

  After after_;
  FrameMemory memory_;
  std::vector<Original> originals_;
  std::vector<uint32_t> waiting_;  // a ring: front_ to back_
  size_t front_ = 0;
  size_t back_ = 0;
  std::vector<uint32_t> free_;
  std::vector<std::vector<uint8_t>> sent_;
  size_t released_ = 0;
  size_t held_ = 0;
};
static_assert(FrameQueue<MemoryQueue>);

}  // namespace fairlead::engine
