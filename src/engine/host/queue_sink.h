// SPDX-License-Identifier: MIT
// Frames that the slow path makes go out by the queue that its frames came from.
#pragma once

#include <algorithm>

#include "engine/host/slow_path.h"
#include "engine/io/frame_queue.h"

namespace fairlead::host {

template <engine::FrameQueue Queue>
class QueueSink final : public SlowPath::Sink {
 public:
  explicit QueueSink(Queue& queue) : queue_(queue) {}

  void send(uint64_t, std::span<const uint8_t> bytes) override {
    engine::HeldFrame frame;
    // As with a full transmit ring, what cannot be lent is lost in the network.
    if (!queue_.lend(frame, static_cast<uint32_t>(bytes.size()))) return;
    std::ranges::copy(bytes, frame.data);
    queue_.transmit(frame);
  }
  void settle(uint64_t, const core::Outcome&) override {}

 private:
  Queue& queue_;
};

}  // namespace fairlead::host
