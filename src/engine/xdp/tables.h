// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The core's Tables inside the kernel.
#pragma once

#include "engine/bpf/xdp_frame.h"
#include "engine/xdp/maps.h"

namespace fairlead::xdp {

using bpf::XdpFrame;

struct XdpTables {
  Tick tick;
  u32 generation;  // read once per packet
  u32 worker_id;

  Tick now() const { return tick; }
  u32 worker() const { return worker_id; }
  XdpTables of_worker(u32 other) const { return {tick, generation, other}; }
  const Settings& settings() const { return xdp::settings; }
  const PrefixLengths& prefixes() const { return xdp::settings.prefixes[generation & 1]; }
  const Row& row(u32 i) const { return rows[(i & rows_mask) + (generation & 1) * (rows_mask + 1)]; }
  const Branch& branch(u32 i) const {
    return branches[(i & branches_mask) + (generation & 1) * (branches_mask + 1)];
  }
  u64& turns_taken(u32 i) const { return turns[i & tables_mask]; }
  u64& live(u32 i) const { return xdp::live[i & backends_mask]; }
  // One load, else a packet could pair the offset of one table with the size of another.
  TableRef table(u32 i) const {
    const void* at = &tables[i & tables_mask];
    const u64 word = *static_cast<const volatile u64*>(at);  // clang-19 has no atomic load for BPF
    return __builtin_bit_cast(TableRef, word);
  }
  Slot slot(u32 i) const { return slots[i & slots_mask]; }
  const Backend& backend(u32 i) const { return backends[i & backends_mask]; }
  template <class Bucket>
  Bucket& line(u32 i) const {
    if constexpr (Same<Bucket, NarrowBucket>) {
      return narrow[(i & narrow_mask) + (worker_id & workers_mask) * (narrow_mask + 1)];
    } else {
      return wide[(i & wide_mask) + (worker_id & workers_mask) * (wide_mask + 1)];
    }
  }
  NarrowBucket& fragment_line(u32 i) const { return fragments[i & fragments_mask]; }
  Translation& translation(u32 i) const { return translations[i & translations_mask]; }
  WorkerCounters& counters() const { return worker_counters[worker_id & workers_mask]; }
  BackendCounters& backend_counters(u32 i) const {
    return xdp::backend_counters[(i & backends_mask) +
                                 (worker_id & workers_mask) * (backends_mask + 1)];
  }
  ServiceCounters& service_counters(u32 i) const {
    return xdp::service_counters[(i & services_mask) +
                                 (worker_id & workers_mask) * (services_mask + 1)];
  }
};
static_assert(core::Tables<XdpTables>);

}  // namespace fairlead::xdp
