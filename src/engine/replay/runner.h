// SPDX-License-Identifier: MIT
// One engine's way with a frame, without a network: a frame and a time go in, an outcome and the
// frame that leaves come out. Two exist: the path compiled for user space, called in this process,
// and the BPF program, run by the kernel on frames of ours (BPF_PROG_TEST_RUN). Replay drives
// either the same way, so what differs between their results is a bug in one of them.
//
// A runner owns the tables (a Publisher fills them through memory()) and has no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "core/path/packet.h"
#include "tables/memory.h"

namespace fairlead::replay {

// Ticks of the packet path's clock in replay, for every engine.
constexpr uint64_t tick_ms = 100;

// Writable bytes in front of every frame that run() gets: as much as a driver leaves for XDP.
constexpr size_t headroom = 256;

struct Processed {
  core::Outcome outcome;
  bool slow = false;  // nothing happened: the frame is for the slow path (engine/host)
  // What leaves, if the verdict is forward or reply. Lies in or around the frame that came in.
  std::span<std::byte> frame;
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const tables::Memory& memory() const = 0;
  // Error: the engine itself failed (the kernel refuses to run the program), never the frame.
  virtual Result<Processed> run(std::span<std::byte> frame, core::Tick now, uint32_t worker) = 0;
};

// `capacity` in powers of two. Errors: no memory; for xdp also not permitted, with the remedy.
Result<std::unique_ptr<Runner>> make_user_runner(const tables::Capacity& capacity);
Result<std::unique_ptr<Runner>> make_xdp_runner(const tables::Capacity& capacity);

}  // namespace fairlead::replay
