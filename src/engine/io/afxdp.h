// SPDX-License-Identifier: MIT
// One receive and transmit queue of an interface through an AF_XDP socket
// (Documentation/networking/af_xdp.rst) with a memory (UMEM) of its own. An XDP program on the
// interface redirects frames to it through an XSKMAP that holds descriptor().
//
// Every chunk of the memory is in exactly one place: with the kernel to be filled (fill ring or
// receive ring), held by the loop, with the kernel to be sent (transmit or completion ring), or
// free. All four rings are as large as the memory has chunks, so none is full and nothing here has
// to fail: where frames get stuck, fewer are filled, and the NIC drops.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/bpf/interface.h"
#include "engine/io/frame_memory.h"
#include "engine/io/frame_queue.h"

namespace fairlead::engine {

class AfXdpQueue {
 public:
  struct Options {
    uint32_t queue = 0;
    uint32_t chunks = 4096;   // a power of two
    uint32_t to_fill = 2048;  // chunks that wait for frames; at most half of all
    bool zero_copy = true;    // if the driver has it; false: never (generic XDP has none)
    bool audit = false;       // follow every chunk, and abort when one is given back twice
  };

  // Where the chunks are; they always add up to `chunks`.
  struct Census {
    uint32_t to_fill = 0;  // with the kernel, empty, or received and not yet asked for
    uint32_t held = 0;
    uint32_t to_send = 0;  // with the kernel, not yet reported as sent
    uint32_t free = 0;
  };

  struct Statistics {
    uint64_t dropped = 0;   // by the kernel: too large for a chunk, or no room
    uint64_t no_chunk = 0;  // the kernel found nothing to fill
    uint64_t invalid = 0;   // descriptors that the kernel refused
    uint64_t unsent = 0;    // transmit() found the ring full, which a sound kernel rules out
  };

  // Error: not permitted, MTU beyond largest_mtu, no such queue, queue taken; with the remedy.
  static Result<std::unique_ptr<AfXdpQueue>> open(const Interface& interface, Options options);
  ~AfXdpQueue();
  AfXdpQueue(const AfXdpQueue&) = delete;
  AfXdpQueue& operator=(const AfXdpQueue&) = delete;

  size_t receive(std::span<HeldFrame> frames);
  void transmit(const HeldFrame& frame);
  void release(const HeldFrame& frame);
  bool lend(HeldFrame& frame, uint32_t length);
  void flush();
  void wait(std::chrono::milliseconds timeout);

  int descriptor() const;
  bool zero_copy() const { return zero_copy_; }
  Census census() const;
  Statistics statistics() const;

  // A chunk is at most a page; its front is head room.
  static constexpr uint32_t largest_chunk = 4096;
  static constexpr uint32_t largest_mtu = largest_chunk - frame_offset - 14 - 8;  // two VLAN tags

 private:
  struct Rings;
  enum class Place : uint8_t { free, to_fill, held, to_send };

  AfXdpQueue(Options options, uint32_t chunk_shift);
  int bind(const Interface& interface);  // 0 or an errno
  void unbind();
  std::unexpected<Error> refused(const Interface& interface, int error) const;
  void refill();
  void collect_sent();
  void kick_transmit();
  uint32_t waiting_to_send() const;
  void move(uint32_t chunk, Place from, Place to);

  Options options_;
  uint32_t chunk_shift_;  // chunks have 2^this bytes
  FrameMemory memory_;
  std::unique_ptr<Rings> rings_;
  std::vector<uint32_t> free_;
  std::vector<Place> places_;  // with audit only
  uint32_t to_fill_ = 0;
  uint32_t held_ = 0;
  uint32_t to_send_ = 0;
  uint32_t unsubmitted_ = 0;  // of to_send: not yet shown to the kernel
  uint64_t unsent_ = 0;
  bool zero_copy_ = false;
};
static_assert(FrameQueue<AfXdpQueue>);

}  // namespace fairlead::engine
