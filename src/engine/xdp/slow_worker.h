// SPDX-License-Identifier: MIT
// The slow path of the in-kernel engine: a thread with an AF_XDP socket for each receive queue. The
// program redirects to it what it cannot do itself; connections and fragments are those of the
// program, in the arrays that both have mapped, and what is counted is counted apart, since a
// counter has one writer.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"
#include "engine/bpf/interface.h"
#include "engine/host/queue_sink.h"
#include "engine/host/turns.h"
#include "engine/io/afxdp.h"
#include "tables/memory.h"

namespace fairlead::xdp {

class SlowWorker {
 public:
  // `memory` outlives this, `sockets` is the program's map of them. Error: AF_XDP is not to be had
  // for this interface, and why.
  static Result<std::unique_ptr<SlowWorker>> start(const engine::Interface& interface,
                                                   const tables::Memory& memory, int sockets,
                                                   uint32_t icmp_rate_limit);
  ~SlowWorker();

  // See host::Turns::wait().
  void wait_for_batch() { turns_.wait(); }

  // The program's memory, with counters of this thread's own.
  const tables::Memory& memory() const { return memory_; }

 private:
  struct Port {
    Port(std::unique_ptr<engine::AfXdpQueue> opened, uint32_t rate, host::IcmpLimits& limits)
        : queue(std::move(opened)), slow(rate, limits), sink(*queue) {}
    std::unique_ptr<engine::AfXdpQueue> queue;
    host::SlowPath slow;
    host::QueueSink<engine::AfXdpQueue> sink;
  };

  SlowWorker(const tables::Memory& memory);
  void run();
  bool turn(uint32_t worker, Port& port);
  void wait();

  tables::Memory memory_;
  std::vector<core::WorkerCounters> workers_;
  std::vector<core::BackendCounters> backends_;
  std::vector<core::ServiceCounters> services_;
  host::IcmpLimits limits_;
  std::deque<Port> ports_;  // by worker
  host::Turns turns_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace fairlead::xdp
