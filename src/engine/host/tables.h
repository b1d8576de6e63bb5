// SPDX-License-Identifier: MIT
// The core's Tables in user space: the records of a tables::Memory as one worker sees them during
// one batch, with the time and the generation read once for all of it.
//
// The publisher writes while workers read (tables/publisher.h). What is one word there is read as
// one word here; Backend lines are read piece by piece, which the publisher's order makes right.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>

#include "core/path/concepts.h"
#include "tables/memory.h"

namespace fairlead::host {

// Length of a tick of the workers' clock.
constexpr uint64_t tick_ms = 100;

class Tables {
 public:
  Tables(const tables::Memory& memory, core::Tick now, core::u32 worker)
      : now_(now), worker_(worker), memory_(&memory), settings_(memory.settings) {
    const tables::Capacity& size = memory.capacity;
    const core::u32 generation =
        std::atomic_ref(memory.settings->generation).load(std::memory_order_seq_cst) & 1;
    prefixes_ = &memory.settings->prefixes[generation];
    rows_ = {memory.rows + size_t{generation} * size.rows, size.rows - 1};
    branches_ = {memory.branches + size_t{generation} * size.branches, size.branches - 1};
    tables_ = {memory.tables, size.tables - 1};
    turns_ = {memory.turns, size.tables - 1};
    live_ = {memory.live, size.backends - 1};
    slots_ = {memory.slots, size.slots - 1};
    backends_ = {memory.backends, size.backends - 1};
    narrow_ = {memory.narrow + size_t{worker} * size.narrow_lines, size.narrow_lines - 1};
    wide_ = {memory.wide + size_t{worker} * size.wide_lines, size.wide_lines - 1};
    fragments_ = {memory.fragments, size.fragment_lines - 1};
    translations_ = {memory.translations, size.translations - 1};
    counters_ = memory.workers + worker;
    backend_counters_ = {memory.backend_counters + size_t{worker} * size.backends,
                         size.backends - 1};
    service_counters_ = {memory.service_counters + size_t{worker} * size.services,
                         size.services - 1};
  }

  core::Tick now() const { return now_; }
  core::u32 worker() const { return worker_; }
  Tables of_worker(core::u32 worker) const {
    return {*memory_, now_, worker < memory_->capacity.workers ? worker : worker_};
  }
  const core::Settings& settings() const { return *settings_; }
  const core::PrefixLengths& prefixes() const { return *prefixes_; }
  const core::Row& row(core::u32 i) const { return rows_[i]; }
  const core::Branch& branch(core::u32 i) const { return branches_[i]; }
  core::u64& turns_taken(core::u32 i) const { return turns_[i]; }
  core::u64& live(core::u32 i) const { return live_[i]; }
  core::TableRef table(core::u32 i) const {
    static_assert(sizeof(core::TableRef) == sizeof(core::u64));
    auto& word = *reinterpret_cast<core::u64*>(&tables_[i]);
    return std::bit_cast<core::TableRef>(std::atomic_ref(word).load(std::memory_order_acquire));
  }
  core::Slot slot(core::u32 i) const {
    return std::atomic_ref(slots_[i]).load(std::memory_order_relaxed);
  }
  const core::Backend& backend(core::u32 i) const { return backends_[i]; }
  template <class Bucket>
  Bucket& line(core::u32 i) const {
    if constexpr (core::Same<Bucket, core::NarrowBucket>) {
      return narrow_[i];
    } else {
      return wide_[i];
    }
  }
  core::NarrowBucket& fragment_line(core::u32 i) const { return fragments_[i]; }
  core::Translation& translation(core::u32 i) const { return translations_[i]; }
  core::WorkerCounters& counters() const { return *counters_; }
  core::BackendCounters& backend_counters(core::u32 i) const { return backend_counters_[i]; }
  core::ServiceCounters& service_counters(core::u32 i) const { return service_counters_[i]; }

 private:
  template <class Record>
  struct Array {
    Record* records = nullptr;
    core::u32 mask = 0;
    Record& operator[](core::u32 i) const { return records[i & mask]; }
  };

  core::Tick now_;
  core::u32 worker_;
  const tables::Memory* memory_;
  const core::Settings* settings_;
  const core::PrefixLengths* prefixes_;
  Array<core::Row> rows_;
  Array<core::Branch> branches_;
  Array<core::TableRef> tables_;
  Array<core::u64> turns_;
  Array<core::u64> live_;
  Array<core::Slot> slots_;
  Array<core::Backend> backends_;
  Array<core::NarrowBucket> narrow_;
  Array<core::WideBucket> wide_;
  Array<core::NarrowBucket> fragments_;
  Array<core::Translation> translations_;
  core::WorkerCounters* counters_;
  Array<core::BackendCounters> backend_counters_;
  Array<core::ServiceCounters> service_counters_;
};
static_assert(core::Tables<Tables>);

}  // namespace fairlead::host
