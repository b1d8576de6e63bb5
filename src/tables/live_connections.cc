// SPDX-License-Identifier: MIT
#include "tables/live_connections.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "core/connections.h"

namespace fairlead::tables {
namespace {

using namespace std::chrono_literals;

constexpr auto interval = 100ms;
constexpr int rests_for_each_count = 20;

uint64_t load(core::u64& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); }

template <class Bucket>
void count(const Memory& memory, Bucket* lines, uint32_t lines_per_worker, core::Tick now,
           std::vector<uint64_t>& live) {
  const size_t all = size_t{memory.capacity.workers} * lines_per_worker;
  for (size_t i = 0; i < all; i++) {
    for (core::Meta& meta : lines[i].meta) {
      const core::Meta seen{load(meta.word)};
      if (seen.word == 0 || !core::is_live(seen, now, *memory.settings)) continue;
      const uint32_t backend = core::backend_of(seen);
      if (backend < live.size()) live[backend]++;
    }
  }
}

}  // namespace

void count_live_connections(const Memory& memory, core::Tick now) {
  const Capacity& size = memory.capacity;
  std::vector<uint64_t> live(size.backends);
  count(memory, memory.narrow, size.narrow_lines, now, live);
  count(memory, memory.wide, size.wide_lines, now, live);
  for (uint32_t id = 1; id < size.backends; id++) {
    if (load(memory.live[id]) == live[id]) continue;
    std::atomic_ref(memory.live[id]).store(live[id], std::memory_order_relaxed);
  }
}

LiveCounter::LiveCounter(const Memory& memory, std::function<core::Tick()> clock)
    : memory_(memory),
      clock_(std::move(clock)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "live-counter");
}

void LiveCounter::run(const std::stop_token& stop) {
  std::chrono::nanoseconds rest = interval;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, rest, [] { return false; });
    std::atomic_ref wanted(memory_.settings->counts_live);
    if (stop.stop_requested() || wanted.load(std::memory_order_relaxed) == 0) continue;
    const auto begin = std::chrono::steady_clock::now();
    count_live_connections(memory_, clock_());
    const auto took = std::chrono::steady_clock::now() - begin;
    rest = std::max<std::chrono::nanoseconds>(interval, rests_for_each_count * took);
  }
}

}  // namespace fairlead::tables
