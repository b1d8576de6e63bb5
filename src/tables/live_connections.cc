// SPDX-License-Identifier: MIT
#include "tables/live_connections.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <utility>

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

void count_live_connections(std::span<const Memory* const> memories, core::Tick now) {
  const Memory& memory = *memories.front();
  const Capacity& size = memory.capacity;
  std::vector<uint64_t> live(size.backends);
  count(memory, memory.narrow, size.narrow_lines, now, live);
  count(memory, memory.wide, size.wide_lines, now, live);
  for (const Memory* each : memories) {
    for (uint32_t worker = 0; worker < size.workers; worker++) {
      core::BackendCounters* counters = each->backend_counters + size_t{worker} * size.backends;
      for (uint32_t id = 1; id < size.backends; id++) {
        const uint64_t to_live = live[id] - load(counters[id].connections);
        std::atomic_ref<core::u64> told(counters[id].to_live);
        if (told.load(std::memory_order_relaxed) != to_live) {
          told.store(to_live, std::memory_order_relaxed);
        }
      }
    }
  }
}

LiveCounter::LiveCounter(std::vector<const Memory*> memories, std::function<core::Tick()> clock)
    : memories_(std::move(memories)),
      clock_(std::move(clock)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  pthread_setname_np(thread_.native_handle(), "live-counter");
}

void LiveCounter::run(const std::stop_token& stop) {
  std::chrono::nanoseconds rest = interval;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, rest, [] { return false; });
    std::atomic_ref wanted(memories_.front()->settings->counts_live);
    if (stop.stop_requested() || wanted.load(std::memory_order_relaxed) == 0) continue;
    const auto begin = std::chrono::steady_clock::now();
    count_live_connections(memories_, clock_());
    const auto took = std::chrono::steady_clock::now() - begin;
    rest = std::max<std::chrono::nanoseconds>(interval, rests_for_each_count * took);
  }
}

}  // namespace fairlead::tables
