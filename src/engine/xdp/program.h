// SPDX-License-Identifier: MIT
// The BPF program of the in-kernel engine, loaded, with its arrays mapped into this process.
// Nothing is attached: the engine does that, and replay runs the program on frames of its own.
#pragma once

#include "base/result.h"
#include "engine/bpf/object.h"
#include "engine/xdp/outcome.h"
#include "tables/memory.h"

namespace fairlead::xdp {

class Program {
 public:
  enum class Use { packets, replay };

  // Capacities are rounded up to powers of two. Error: not permitted, too large, or refused by the
  // verifier, in one line with the remedy.
  static Result<Program> load(tables::Capacity capacity, Use use);

  const tables::Memory& memory() const { return memory_; }  // valid while this lives
  int descriptor() const { return descriptor_; }
  int sockets() const { return sockets_; }  // the map of the slow path's AF_XDP sockets
  // Length of a tick of the program's clock. In replay the clock is Settings::clock.
  uint64_t tick_ms() const { return tick_ms_; }
  core::Tick now() const;  // any thread; in replay Settings::clock
  // Replay only: what came of the last frame.
  const ReplayOutcome& outcome() const { return *outcome_; }

 private:
  explicit Program(engine::BpfObject object);

  engine::BpfObject object_;
  tables::Memory memory_;
  int descriptor_ = -1;
  int clock_ = -1;
  int sockets_ = -1;
  uint64_t tick_ms_ = 100;
  const ReplayOutcome* outcome_ = nullptr;
};

}  // namespace fairlead::xdp
