// SPDX-License-Identifier: MIT
// A worker owns one queue of frames and runs every frame of it to completion: receive a batch, the
// core's path, transmit or give back. It spins while there is work and for a moment after, then
// sleeps in the kernel until a frame comes.
//
// Threads: run() is the worker's own, the only writer of its connections and counters. A publisher
// replaces tables meanwhile and calls wait_for_batch() before it uses the old ones' room again.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>

#include "base/clock.h"
#include "core/path/path.h"
#include "engine/host/queue_sink.h"
#include "engine/host/tables.h"
#include "engine/host/turns.h"
#include "engine/io/frame_queue.h"
#include "engine/user/batch.h"

namespace fairlead::user {

using host::tick_ms;

constexpr core::Tick tick_of(Time time) {
  return static_cast<core::Tick>(time.time_since_epoch() / std::chrono::milliseconds(tick_ms));
}

// Written by the worker, read by anyone.
struct WorkerStatistics {
  std::atomic<uint64_t> batches = 0;
  std::atomic<uint64_t> frames = 0;
  std::atomic<uint64_t> busy_ns = 0;  // between receiving a batch and having sent it
  std::atomic<uint64_t> parked = 0;   // times it went to sleep
  // Frames whose verdict is pass. The stub sends no such frame here; only one that was already on
  // its way when the VIP it is for was taken out of the tables comes to this. It is given up: the
  // kernel takes no frame back from an AF_XDP socket, and the host has no use for one to an address
  // that was never its own.
  std::atomic<uint64_t> strayed = 0;
};

template <engine::FrameQueue Queue>
class Worker {
 public:
  // `batch`: 1 to largest_batch. `icmp_rate` and `limits` are those of the slow path.
  Worker(Queue& queue, const tables::Memory& memory, uint32_t index, uint32_t batch,
         uint32_t icmp_rate, host::IcmpLimits& limits)
      : queue_(queue),
        memory_(memory),
        index_(index),
        batch_(std::clamp<size_t>(batch, 1, largest_batch)),
        slow_(icmp_rate, limits),
        sink_(queue) {}

  // Until stop(), which any thread may call.
  void run() {
    uint32_t idle = 0;
    while (!stopped_.load(std::memory_order_relaxed)) {
      if (turn() != 0) {
        idle = 0;
      } else if (++idle < spins) {
        pause();
      } else {
        add(statistics_.parked, 1);
        queue_.wait(slow_.holding() ? short_nap : nap);
      }
    }
  }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  // One batch, for run(), tests and benchmarks: how many frames there were.
  size_t turn() {
    const std::span frames(frames_.data(), queue_.receive(std::span(frames_).first(batch_)));
    if (frames.empty() && !slow_.holding()) {
      return 0;
    }
    const Time begin = now();
    work(frames, begin);
    queue_.flush();
    add(statistics_.batches, 1);
    add(statistics_.frames, frames.size());
    add(statistics_.busy_ns, static_cast<uint64_t>((now() - begin).count()));
    return frames.size();
  }

  // See host::Turns::wait().
  void wait_for_batch() { turns_.wait(); }

  const WorkerStatistics& statistics() const { return statistics_; }

 private:
  // Some microseconds: longer than it takes to sleep and wake up, shorter than anybody minds.
  static constexpr uint32_t spins = 512;
  static constexpr std::chrono::milliseconds nap{100};      // how late stop() may be noticed
  static constexpr std::chrono::milliseconds short_nap{1};  // while fragments wait for their first

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
  }
  static void add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  void work(std::span<engine::HeldFrame> frames, Time begin) {
    turns_.begin();
    const Tables tables(memory_, tick_of(begin), index_);
    process_batch(frames, tables, decided_);
    finish(frames, tables,
           static_cast<uint64_t>(begin.time_since_epoch() / std::chrono::microseconds(1)));
    turns_.end();
  }

  void finish(std::span<engine::HeldFrame> frames, const Tables& tables, uint64_t now_us) {
    for (size_t i = 0; i < frames.size(); i++) {
      const engine::HeldFrame& frame = frames[i];
      if (decided_[i].slow) {
        slow_.handle({frame.data, frame.length}, 0, tables, now_us, sink_);
        queue_.release(frame);
        continue;
      }
      switch (core::verdict_of(decided_[i].outcome.reason)) {
        case core::Verdict::forward:
        case core::Verdict::reply: queue_.transmit(frame); break;
        case core::Verdict::pass: add(statistics_.strayed, 1); [[fallthrough]];
        case core::Verdict::drop: queue_.release(frame); break;
      }
    }
    if (slow_.holding()) slow_.poll(tables, now_us, sink_);
  }

  Queue& queue_;
  const tables::Memory& memory_;
  const uint32_t index_;
  const size_t batch_;
  std::array<engine::HeldFrame, largest_batch> frames_{};
  std::array<core::Decided, largest_batch> decided_{};
  host::SlowPath slow_;
  host::QueueSink<Queue> sink_;
  WorkerStatistics statistics_;
  host::Turns turns_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace fairlead::user
