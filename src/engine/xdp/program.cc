// SPDX-License-Identifier: MIT
#include "engine/xdp/program.h"

#include <bpf/bpf.h>
#include <time.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/check.h"
#include "core/wire.h"
#include "fairlead_xdp.bpf.h"

namespace fairlead::xdp {
namespace {

struct Clock {
  uint32_t shift;
  uint64_t tick_ms;
};

// The kernel counts jiffies; the resolution of its coarse clock says how long one is. A tick is the
// largest power of two of them that is no longer than 100 ms.
Clock kernel_clock() {
  timespec jiffy{};
  clock_getres(CLOCK_MONOTONIC_COARSE, &jiffy);
  const uint64_t jiffy_ns = std::max<uint64_t>(static_cast<uint64_t>(jiffy.tv_nsec), 1'000'000);
  uint32_t shift = 0;
  while ((jiffy_ns << (shift + 1)) <= 100'000'000) shift++;
  return {shift, (jiffy_ns << shift) / 1'000'000};
}

// One array of the program: how many records it gets, and where Memory points to it.
template <class Record>
Result<void> size_array(engine::BpfObject& object, const char* section, uint64_t records) {
  return object.resize(section, records * sizeof(Record));
}

Result<void> size_arrays(engine::BpfObject& object, const tables::Capacity& c) {
  const uint64_t workers = c.workers;
  for (const auto& sized :
       {size_array<core::Row>(object, ".bss.rows", 2ull * c.rows),
        size_array<core::Branch>(object, ".bss.branches", 2ull * c.branches),
        size_array<core::TableRef>(object, ".bss.tables", c.tables),
        size_array<core::u64>(object, ".bss.turns", c.tables),
        size_array<core::u64>(object, ".bss.live", c.backends),
        size_array<core::Slot>(object, ".bss.slots", c.slots),
        size_array<core::Backend>(object, ".bss.backends", c.backends),
        size_array<core::NarrowBucket>(object, ".bss.narrow", workers * c.narrow_lines),
        size_array<core::WideBucket>(object, ".bss.wide", workers * c.wide_lines),
        size_array<core::NarrowBucket>(object, ".bss.fragments", c.fragment_lines),
        size_array<core::Translation>(object, ".bss.translat", c.translations),
        size_array<core::WorkerCounters>(object, ".bss.workers", workers),
        size_array<core::BackendCounters>(object, ".bss.backend_n", workers * c.backends),
        size_array<core::ServiceCounters>(object, ".bss.service_n", workers * c.services)}) {
    if (!sized) return sized;
  }
  return {};
}

Result<void> set_constants(engine::BpfObject& object, const tables::Capacity& c, uint32_t shift,
                           bool replaying) {
  const std::pair<const char*, uint32_t> numbers[] = {{"rows_mask", c.rows - 1},
                                                      {"branches_mask", c.branches - 1},
                                                      {"tables_mask", c.tables - 1},
                                                      {"slots_mask", c.slots - 1},
                                                      {"backends_mask", c.backends - 1},
                                                      {"services_mask", c.services - 1},
                                                      {"narrow_mask", c.narrow_lines - 1},
                                                      {"wide_mask", c.wide_lines - 1},
                                                      {"fragments_mask", c.fragment_lines - 1},
                                                      {"translations_mask", c.translations - 1},
                                                      {"workers_mask", c.workers - 1},
                                                      {"tick_shift", shift}};
  for (const auto& [name, value] : numbers) {
    if (auto set = object.set_constant(name, value); !set) return set;
  }
  return object.set_constant("replaying", replaying);
}

template <class Record>
Result<void> point(engine::BpfObject& object, const char* section, Record*& pointer) {
  auto records = object.array_of<std::remove_const_t<Record>>(section);
  if (!records) return std::unexpected(records.error());
  pointer = records->data();
  return {};
}

Result<void> point_to_arrays(engine::BpfObject& object, tables::Memory& memory) {
  for (const auto& pointed :
       {point(object, ".bss.settings", memory.settings), point(object, ".bss.rows", memory.rows),
        point(object, ".bss.branches", memory.branches),
        point(object, ".bss.tables", memory.tables), point(object, ".bss.turns", memory.turns),
        point(object, ".bss.live", memory.live), point(object, ".bss.slots", memory.slots),
        point(object, ".bss.backends", memory.backends),
        point(object, ".bss.narrow", memory.narrow), point(object, ".bss.wide", memory.wide),
        point(object, ".bss.fragments", memory.fragments),
        point(object, ".bss.translat", memory.translations),
        point(object, ".bss.workers", memory.workers),
        point(object, ".bss.backend_n", memory.backend_counters),
        point(object, ".bss.service_n", memory.service_counters)}) {
    if (!pointed) return pointed;
  }
  return {};
}

}  // namespace

Program::Program(engine::BpfObject object) : object_(std::move(object)) {}

Result<Program> Program::load(tables::Capacity capacity, Use use) {
  capacity = tables::rounded(capacity);
  capacity.workers = std::bit_ceil(capacity.workers);
  auto object = engine::BpfObject::open("fairlead_xdp", bpf::fairlead_xdp());
  if (!object) return std::unexpected(object.error());
  const Clock clock = use == Use::replay ? Clock{0, 100} : kernel_clock();
  if (auto sized = size_arrays(*object, capacity); !sized) return std::unexpected(sized.error());
  if (auto set = set_constants(*object, capacity, clock.shift, use == Use::replay); !set) {
    return std::unexpected(set.error());
  }
  if (auto loaded = object->load(); !loaded) return std::unexpected(loaded.error());

  Program program(std::move(*object));
  program.tick_ms_ = clock.tick_ms;
  program.memory_.capacity = capacity;
  if (auto mapped = point_to_arrays(program.object_, program.memory_); !mapped) {
    return std::unexpected(mapped.error());
  }
  if (auto mapped = point(program.object_, ".bss.outcome", program.outcome_); !mapped) {
    return std::unexpected(mapped.error());
  }
  auto descriptor = program.object_.program("fairlead");
  if (!descriptor) return std::unexpected(descriptor.error());
  program.descriptor_ = *descriptor;
  if (use == Use::packets) {
    auto clock_program = program.object_.program("fairlead_clock");
    if (!clock_program) return std::unexpected(clock_program.error());
    program.clock_ = *clock_program;
  }
  auto sockets = program.object_.map("sockets");
  if (!sockets) return std::unexpected(sockets.error());
  program.sockets_ = *sockets;
  return program;
}

core::Tick Program::now() const {
  if (clock_ >= 0) {
    std::byte frame[sizeof(core::wire::Ethernet)]{};
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = sizeof frame,
                .repeat = 1);
    const int run = bpf_prog_test_run_opts(clock_, &options);
    check(run == 0, "the kernel does not run the program that tells the time: {}",
          std::strerror(errno));
  }
  return std::atomic_ref(memory_.settings->clock).load(std::memory_order_relaxed);
}

}  // namespace fairlead::xdp
