// SPDX-License-Identifier: MIT
// What it costs the control plane to exchange a snapshot, Maglev tables already built: nothing new,
// one pool of 64 with a new table, and all of them.
#include <benchmark/benchmark.h>

#include "base/check.h"
#include "tables/publisher.h"
#include "tables/test_snapshot.h"

namespace fairlead::tables {
namespace {

constexpr uint8_t pool_count = 64;

Snapshot large_snapshot() {
  Snapshot snapshot = make_snapshot();
  for (uint8_t p = 0; p < pool_count; p++) {
    snapshot.vips.push_back(make_vip(v4(198, 51, 100, p)));
    snapshot.services.push_back(make_service(p, 443, p));
    Pool pool = make_pool(p, {});
    for (uint8_t number = 0; number < 50; number++) pool.members.push_back(make_member(p, number));
    pool.table = make_table(pool.members, 16'381);
    snapshot.pools.push_back(std::move(pool));
  }
  return snapshot;
}

void publish(benchmark::State& state, uint32_t changed) {
  auto own = OwnMemory::make(Capacity{}).value();
  Publisher publisher(own.view(), {});
  std::vector<std::shared_ptr<const Snapshot>> turns;
  for (int turn = 0; turn < 2; turn++) {
    Snapshot snapshot = turns.empty() ? large_snapshot() : *turns[0];
    for (uint32_t p = 0; p < changed; p++) {  // the same slots, but not known to be
      snapshot.pools[p].table = std::make_shared<std::vector<uint16_t>>(*snapshot.pools[p].table);
    }
    turns.push_back(share(std::move(snapshot)));
  }
  size_t turn = 0;
  for (auto _ : state) {
    const auto done = publisher.publish(turns[turn ^= 1], 0);
    check(done.has_value(), "{}", done ? "" : done.error().message);
  }
  if (changed != 0) state.SetLabel("vs publish/nothing_new");
}

BENCHMARK_CAPTURE(publish, nothing_new, 0)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(publish, one_new_table, 1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(publish, all_new_tables, pool_count)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fairlead::tables
