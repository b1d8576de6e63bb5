// SPDX-License-Identifier: MIT
// What a running engine is to the rest of Fairlead: something that takes snapshots and forwards
// packets until it is destroyed. Two exist: engine/xdp (in the driver) and engine/user (AF_XDP).
//
// Threads: publish(), set_flags() and counters() are called by the controller's thread; packets
// flow on threads (or in the kernel) that nothing here waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "core/records.h"
#include "core/verdict.h"
#include "tables/memory.h"
#include "tables/snapshot.h"

namespace fairlead::engine {

enum class Mode {
  automatic,
  native,
  generic
};  // where the XDP program runs; automatic: native first

constexpr const char* name_of(Mode mode) {
  return mode == Mode::native ? "native" : mode == Mode::generic ? "generic" : "automatic";
}

struct Options {
  std::string interface;
  Mode mode = Mode::automatic;
  uint32_t workers = 0;        // 0: one per receive queue of the interface
  std::vector<uint32_t> cpus;  // in worker order; empty: the kernel chooses
  uint32_t batch = 64;
  uint32_t icmp_rate_limit = 100;  // errors, and answers to pings, per VIP and second
  tables::Capacity capacity;       // workers is filled in by the engine
};

// How the engine runs, for the log, `status` and a metric.
struct Status {
  std::string engine;  // "xdp" or "user"
  std::string interface;
  Mode mode = Mode::automatic;  // native or generic, what was obtained
  bool zero_copy = false;       // user engine only
  uint32_t workers = 0;
  std::string note;  // why not the better mode, in a sentence; empty if it is the best
};

// "user on eth0: generic XDP, copy mode, 2 workers"
inline std::string to_text(const Status& status) {
  std::string text =
      status.engine + " on " + status.interface + ": " + name_of(status.mode) + " XDP";
  if (status.engine == "user") text += status.zero_copy ? ", zero-copy" : ", copy mode";
  return text + ", " + counted(status.workers, "worker");
}

// Sums over workers since the engine started (xdp: since its maps were made).
struct Counters {
  core::WorkerCounters total{};
  std::vector<uint64_t> worker_packets;  // by worker
  struct Backend {
    std::string pool, name;
    core::BackendCounters count{};
  };
  std::vector<Backend> backends;  // of the published snapshot
  struct Service {
    std::string vip, name;
    core::ServiceCounters count{};
  };
  std::vector<Service> services;  // of the published snapshot
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Result<void> publish(std::shared_ptr<const tables::Snapshot> snapshot) = 0;
  virtual void set_flags(uint32_t pool, uint32_t member, uint8_t flags) = 0;
  virtual Counters counters() const = 0;
  virtual Status status() const = 0;
};

}  // namespace fairlead::engine
