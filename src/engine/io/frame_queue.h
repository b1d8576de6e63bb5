// SPDX-License-Identifier: MIT
// What an engine's loop sees of a network interface: a queue of frames. receive() and lend() lend
// frames, and each of them goes back by exactly one transmit() or release(). Frames lie in chunks
// of one memory; only the small HeldFrame moves. In front of each there is room for headers.
//
// The queue and its frames belong to one thread.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fairlead::engine {

// A frame that the loop holds. Whoever puts a header in front moves `data` back and takes as much
// off `room`.
struct HeldFrame {
  uint8_t* data = nullptr;  // the Ethernet header
  uint32_t length = 0;      // without checksum
  uint32_t room = 0;        // bytes before `data` that are free
  uint32_t chunk = 0;       // where it lies; the queue's business
};

// Bytes from the start of a chunk to the frame in it as it is received. At 24 mod 64, so that the
// headers of a tunnel over IPv4 and those of the packet inside share two cache lines instead of
// three: 0.62 to 0.80 of the time.
constexpr uint32_t frame_offset = 280;

template <class Q>
concept FrameQueue = requires(Q queue, std::span<HeldFrame> frames, const HeldFrame& frame) {
  // Fills the front of `frames` with what has come, and says how many. Never waits.
  { queue.receive(frames) } -> std::same_as<size_t>;
  // Sends the frame, at the latest with the next flush().
  queue.transmit(frame);
  // Has no use for the frame.
  queue.release(frame);
  // Lends a frame of so many bytes to be filled and transmitted; false: there is none, or it does
  // not fit into a chunk.
  { queue.lend(*frames.data(), uint32_t()) } -> std::same_as<bool>;
  // Makes the kernel see what was transmitted.
  queue.flush();
  // Sleeps until there may be something to receive, at most this long.
  queue.wait(std::chrono::milliseconds());
};

}  // namespace fairlead::engine
