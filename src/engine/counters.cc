// SPDX-License-Identifier: MIT
#include "engine/counters.h"

#include <atomic>

namespace fairlead::engine {
namespace {

// Counters are records of nothing but 64-bit words.
template <class Record>
void add(Record& sum, const Record& record) {
  auto* to = reinterpret_cast<uint64_t*>(&sum);
  auto* from = reinterpret_cast<const uint64_t*>(&record);
  for (size_t i = 0; i < sizeof(Record) / sizeof(uint64_t); i++) {
    to[i] += std::atomic_ref(const_cast<uint64_t&>(from[i])).load(std::memory_order_relaxed);
  }
}

// Of one record of every worker in every memory; `records` says where a memory keeps them.
template <class Record>
Record sum_of(std::span<const tables::Memory* const> memories, Record* tables::Memory::* records,
              uint32_t each, uint32_t id) {
  Record sum{};
  for (const tables::Memory* memory : memories) {
    for (uint32_t worker = 0; worker < memory->capacity.workers; worker++) {
      add(sum, (memory->*records)[size_t{worker} * each + id]);
    }
  }
  return sum;
}

}  // namespace

Counters read_counters(std::span<const tables::Memory* const> memories,
                       const tables::Publisher& publisher) {
  const tables::Capacity& size = memories.front()->capacity;
  Counters counters;
  for (uint32_t worker = 0; worker < size.workers; worker++) {
    core::WorkerCounters one{};
    for (const tables::Memory* memory : memories) add(one, memory->workers[worker]);
    add(counters.total, one);
    uint64_t packets = 0;
    for (uint64_t count : one.reason) packets += count;
    counters.worker_packets.push_back(packets);
  }
  const auto& snapshot = publisher.snapshot();
  if (!snapshot) return counters;
  std::vector<size_t> first;  // by pool: where its backends begin
  for (const tables::Pool& pool : snapshot->pools) {
    first.push_back(counters.backends.size());
    for (const tables::Member& member : pool.members) {
      counters.backends.push_back({pool.id, member.name, {}});
    }
  }
  // A backend may have more ids than its pool's: those of pools that it was in before.
  for (uint32_t id = 1; id < size.backends; id++) {
    const tables::Publisher::BackendName name = publisher.backend(id);
    if (name.pool < 0) continue;
    const size_t at = first[static_cast<size_t>(name.pool)] + static_cast<size_t>(name.member);
    add(counters.backends[at].count,
        sum_of(memories, &tables::Memory::backend_counters, size.backends, id));
  }
  for (uint32_t id = 1; id < size.services; id++) {
    const int32_t index = publisher.service(id);
    if (index < 0) continue;
    const tables::Service& service = snapshot->services[static_cast<size_t>(index)];
    counters.services.push_back(
        {snapshot->vips[service.vip].id, service.name(),
         sum_of(memories, &tables::Memory::service_counters, size.services, id)});
  }
  return counters;
}

Counters read_counters(const tables::Memory& memory, const tables::Publisher& publisher) {
  const tables::Memory* const one = &memory;
  return read_counters(std::span(&one, 1), publisher);
}

}  // namespace fairlead::engine
