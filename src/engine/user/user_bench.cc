// SPDX-License-Identifier: MIT
// The user engine without a network: frames from memory through a worker, so what is measured is
// the core's path and the batch around it. Frames are 64 bytes of TCP (80 in IPv6) of as many flows
// as the argument says, in random order, each established before. Time is per frame.
//
//   passes       the worker as it runs: batches of 64 in passes
//   one_by_one   core::process() frame by frame, to see what the passes are worth
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "engine/io/memory_queue.h"
#include "engine/samples.h"
#include "engine/user/worker.h"
#include "tables/publisher.h"

namespace fairlead::user {
namespace {

namespace samples = engine::samples;
using engine::MemoryQueue;

constexpr uint32_t frames = 4096;

// Offers the same frames again and again, each time as packets of other flows.
class ManyFlows {
 public:
  ManyFlows(const samples::Sample& sample, uint32_t flows)
      : sample_(sample), queue_(frames, MemoryQueue::After::repeat), order_(flows) {
    for (uint32_t i = 0; i < frames; i++) queue_.offer(sample.frame);
    std::iota(order_.begin(), order_.end(), 0u);
    std::shuffle(order_.begin(), order_.end(), std::mt19937(1));
  }

  size_t receive(std::span<engine::HeldFrame> held) {
    const size_t count = queue_.receive(held);
    for (engine::HeldFrame& frame : held.first(count)) {
      const uint32_t flow = order_[next_];
      next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
      std::memcpy(frame.data + sample_.source_offset, &flow, sizeof flow);
    }
    return count;
  }
  void transmit(const engine::HeldFrame& frame) { queue_.transmit(frame); }
  void release(const engine::HeldFrame& frame) { queue_.release(frame); }
  bool lend(engine::HeldFrame& frame, uint32_t length) { return queue_.lend(frame, length); }
  void flush() {}
  void wait(std::chrono::milliseconds) {}
  size_t flows() const { return order_.size(); }

 private:
  samples::Sample sample_;
  MemoryQueue queue_;
  std::vector<uint32_t> order_;
  size_t next_ = 0;
};
static_assert(engine::FrameQueue<ManyFlows>);

struct World {
  explicit World(uint32_t flows)
      : memory(tables::OwnMemory::make({.rows = 4096,
                                        .slots = 1u << 18,
                                        .backends = 64,
                                        .services = 64,
                                        .narrow_lines = std::bit_ceil(std::max(flows, 1024u)),
                                        .wide_lines = std::bit_ceil(std::max(flows, 1024u))})
                   .value()),
        publisher(memory.view(), {}) {
    publisher.publish(samples::snapshot(), 0).value();
  }
  tables::OwnMemory memory;
  tables::Publisher publisher;
};

samples::Sample sample_of(bool v6) {
  return v6 ? samples::tcp_v6(samples::Flags::ack) : samples::tcp_v4(samples::Flags::ack);
}

void passes(benchmark::State& state, bool v6, uint32_t batch) {
  const auto flows = static_cast<uint32_t>(state.range(0));
  World world(flows);
  ManyFlows queue(sample_of(v6), flows);
  host::IcmpLimits limits(16);
  Worker worker(queue, world.memory.view(), 0, batch, 100, limits);
  for (uint32_t i = 0; i < flows; i += batch) worker.turn();
  for (auto _ : state) benchmark::DoNotOptimize(worker.turn());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * int64_t{batch}));
}

void one_by_one(benchmark::State& state, bool v6) {
  const auto flows = static_cast<uint32_t>(state.range(0));
  World world(flows);
  ManyFlows queue(sample_of(v6), flows);
  std::array<engine::HeldFrame, largest_batch> held;
  const auto turn = [&] {
    queue.receive(held);
    const Tables tables(world.memory.view(), tick_of(now()), 0);
    for (engine::HeldFrame& one : held) {
      Frame frame(&one);
      benchmark::DoNotOptimize(core::process(frame, tables));
    }
    for (const engine::HeldFrame& one : held) queue.transmit(one);
  };
  for (uint32_t i = 0; i < flows; i += largest_batch) turn();
  for (auto _ : state) turn();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * int64_t{largest_batch}));
}

#define FLOWS Arg(1)->Arg(1 << 16)->Arg(1 << 20)
BENCHMARK_CAPTURE(passes, established_v4, false, largest_batch)->FLOWS;
BENCHMARK_CAPTURE(passes, established_v4_batch_16, false, 16)->FLOWS;
BENCHMARK_CAPTURE(passes, established_v6, true, largest_batch)->FLOWS;
BENCHMARK_CAPTURE(one_by_one, established_v4, false)->FLOWS;
BENCHMARK_CAPTURE(one_by_one, established_v6, true)->FLOWS;

}  // namespace
}  // namespace fairlead::user
