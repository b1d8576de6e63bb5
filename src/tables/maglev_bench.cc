// SPDX-License-Identifier: MIT
// How long a Maglev table takes to build, beside the textbook fill that other balancers use, and
// what a look-up costs. One label each says against what its ratio is printed (bench/README.md).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/hash.h"
#include "tables/maglev.h"
#include "tables/maglev_fill.h"
#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

constexpr uint32_t table_size = 65'537;

std::vector<MaglevBackend> make_backends(uint32_t n, uint32_t heaviest) {
  Random random(n);
  std::vector<MaglevBackend> out;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t identity = random();
    out.push_back({identity, 1 + random.below(heaviest)});
  }
  return out;
}

// Algorithm 1 of the paper as it is commonly written: a remainder for every preference, rounds in
// which a backend takes as many turns as its weight has gathered.
std::vector<uint16_t> textbook(const std::vector<MaglevBackend>& backends, uint32_t size) {
  struct Walk {
    uint64_t offset, skip, next, gathered;
  };
  std::vector<Walk> walks;
  uint64_t heaviest = 1;
  for (const MaglevBackend& backend : backends) {
    const uint64_t hash = mix(backend.identity);
    walks.push_back({(hash & 0xffff'ffff) % size, (hash >> 32) % (size - 1) + 1, 0, 0});
    heaviest = std::max<uint64_t>(heaviest, backend.weight);
  }
  std::vector<uint16_t> table(size, 0xffff);
  for (uint32_t filled = 0;;) {
    for (size_t i = 0; i < walks.size(); i++) {
      Walk& walk = walks[i];
      walk.gathered += backends[i].weight;
      if (walk.gathered < heaviest) continue;
      walk.gathered -= heaviest;
      uint64_t slot = (walk.offset + walk.next++ * walk.skip) % size;
      while (table[slot] != 0xffff) slot = (walk.offset + walk.next++ * walk.skip) % size;
      table[slot] = static_cast<uint16_t>(i);
      if (++filled == size) return table;
    }
  }
}

enum class How { textbook, paper, lines };

void build(benchmark::State& state, uint32_t n, uint32_t heaviest, How how,
           const std::string& against) {
  const auto backends = make_backends(n, heaviest);
  for (auto _ : state) {
    switch (how) {
      case How::textbook: benchmark::DoNotOptimize(textbook(backends, table_size)); break;
      case How::paper:
        benchmark::DoNotOptimize(build_maglev(backends, table_size, Fill::paper));
        break;
      case How::lines:
        benchmark::DoNotOptimize(build_maglev(backends, table_size, Fill::lines));
        break;
    }
  }
  if (how != How::textbook) state.SetLabel("vs " + against);
}

// One slot after another for hashes that are known beforehand, as in a batch of packets.
template <class SlotOf>
void look_up(benchmark::State& state, uint32_t size, const std::string& against, SlotOf slot_of) {
  const auto table = build_maglev(make_backends(100, 1), size, Fill::lines);
  Random random(1);
  std::vector<uint64_t> hashes(1u << 16);
  for (uint64_t& hash : hashes) hash = random();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const uint64_t hash : hashes) sum += table[slot_of(hash, size)];
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(hashes.size()));
  if (!against.empty()) state.SetLabel("vs " + against);
}

const bool registered = [] {
  const std::pair<const char*, uint32_t> weights[] = {{"equal", 1}, {"weights_1_to_10", 10}};
  const std::pair<const char*, How> fills[] = {
      {"textbook", How::textbook}, {"paper", How::paper}, {"lines", How::lines}};
  for (const auto& [kind, heaviest] : weights) {
    for (const uint32_t n : {10u, 100u, 1000u}) {
      const std::string base = std::string("maglev_build/") + kind + "/" + std::to_string(n) + "/";
      for (const auto& [fill, how] : fills) {
        const auto run = [=, most = heaviest, way = how](benchmark::State& state) {
          build(state, n, most, way, base + "textbook");
        };
        benchmark::RegisterBenchmark((base + fill).c_str(), run)->Unit(benchmark::kMicrosecond);
      }
    }
  }
  for (const uint32_t size : {4093u, 65'537u, 1'048'573u}) {
    const std::string base = "maglev_look_up/" + std::to_string(size) + "/";
    benchmark::RegisterBenchmark((base + "remainder").c_str(), [=](benchmark::State& state) {
      look_up(state, size, "", [](uint64_t hash, uint32_t n) { return hash % n; });
    });
    benchmark::RegisterBenchmark((base + "multiply").c_str(), [=](benchmark::State& state) {
      look_up(state, size, base + "remainder", core::slot_of);
    });
  }
  return true;
}();

}  // namespace
}  // namespace fairlead::tables
