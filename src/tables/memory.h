// SPDX-License-Identifier: MIT
// The records of core/records.h as arrays in memory: anonymous memory of the user engine, or the
// mapped arrays of the BPF program. All sizes are powers of two, chosen before an engine starts.
//
// One thread publishes (tables/publisher.h); packet threads read, and write only the connections
// and counters of their own worker.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "core/records.h"

namespace fairlead::tables {

struct Capacity {
  uint32_t workers = 1;
  uint32_t rows = 1u << 12;      // of one generation
  uint32_t branches = 1u << 10;  // of one generation
  uint32_t tables = 1u << 12;    // TableRefs, core::table_kinds for each pool
  uint32_t slots = 1u << 22;
  uint32_t backends = 1u << 12;  // Backend lines, id 0 included
  uint32_t services = 1u << 10;
  uint32_t narrow_lines = 1u << 15;    // per worker: 4 connections each
  uint32_t wide_lines = 1u << 16;      // per worker: 2 connections each
  uint32_t fragment_lines = 1u << 11;  // for all workers: 4 fragmented datagrams each
  uint32_t translations = 1u << 16;    // for all workers: a connection of method nat each
};

// All sizes but `workers`, which is the engine's, rounded up to powers of two.
Capacity rounded(Capacity capacity);

// Pointers to the arrays; owns nothing. Index of worker w's record i of n: w * n + i.
struct Memory {
  Capacity capacity;
  core::Settings* settings = nullptr;
  core::Row* rows = nullptr;         // 2 generations
  core::Branch* branches = nullptr;  // 2 generations
  core::TableRef* tables = nullptr;
  core::u64* turns = nullptr;  // by TableRef
  core::u64* live = nullptr;   // by backend
  core::Slot* slots = nullptr;
  core::Backend* backends = nullptr;
  core::NarrowBucket* narrow = nullptr;  // by worker
  core::WideBucket* wide = nullptr;      // by worker
  core::NarrowBucket* fragments = nullptr;
  core::Translation* translations = nullptr;
  core::WorkerCounters* workers = nullptr;
  core::BackendCounters* backend_counters = nullptr;  // by worker
  core::ServiceCounters* service_counters = nullptr;  // by worker
};

// Zeroed memory of the process for a Memory; huge pages where the kernel has them.
class OwnMemory {
 public:
  static Result<OwnMemory> make(const Capacity& capacity);
  OwnMemory(OwnMemory&& other) noexcept;
  OwnMemory& operator=(OwnMemory&& other) noexcept;
  ~OwnMemory();
  const Memory& view() const { return view_; }

 private:
  OwnMemory() = default;
  Memory view_{};
  void* base_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace fairlead::tables
