// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The arrays of the XDP program: each lies in a section of its own, which the loader makes a mapped
// array of one value, so that the program reaches it by address and user space by mmap. Declared at
// the largest size; the loader cuts them to the sizes of tables::Capacity and says the masks.
#pragma once

#include "bpf/helpers.h"
#include "core/path/concepts.h"
#include "core/path/packet.h"

namespace fairlead::xdp {

using namespace core;

// Indices below 2^22 lines of 64 bytes: the verifier allows offsets up to 512 MB in one value.
constexpr u32 most_rows = 2u << 16;
constexpr u32 most_branches = 2u << 16;
constexpr u32 most_tables = 1u << 18;
constexpr u32 most_slots = 1u << 27;
constexpr u32 most_backends = 1u << 16;
constexpr u32 most_lines = 1u << 22;  // workers x lines
constexpr u32 most_fragment_lines = 1u << 16;
constexpr u32 most_translations = 1u << 21;
constexpr u32 most_counters = 1u << 22;  // workers x backends, workers x services

extern "C" {
Settings settings SEC(".bss.settings");
Row rows[most_rows] SEC(".bss.rows");
Branch branches[most_branches] SEC(".bss.branches");
TableRef tables[most_tables] SEC(".bss.tables");
u64 turns[most_tables] SEC(".bss.turns");
u64 live[most_backends] SEC(".bss.live");
Slot slots[most_slots] SEC(".bss.slots");
Backend backends[most_backends] SEC(".bss.backends");
NarrowBucket narrow[most_lines] SEC(".bss.narrow");
WideBucket wide[most_lines] SEC(".bss.wide");
NarrowBucket fragments[most_fragment_lines] SEC(".bss.fragments");
Translation translations[most_translations] SEC(".bss.translat");
WorkerCounters worker_counters[limits::workers] SEC(".bss.workers");
BackendCounters backend_counters[most_counters] SEC(".bss.backend_n");
ServiceCounters service_counters[most_counters] SEC(".bss.service_n");

// What is known of the packet in hand, by CPU: a program runs on one without being interrupted by
// itself. On the stack there would be no room for it beside what the parts of the path need.
constexpr u32 most_cpus = 4096;
struct alignas(128) PacketInHand {
  Packet packet;
};
PacketInHand in_hand[most_cpus] SEC(".bss.in_hand");

// Sizes less one, and how far a worker's or a generation's share is shifted. Set before load: the
// verifier takes them for constants.
extern const volatile u32 rows_mask = 0;      // of one generation
extern const volatile u32 branches_mask = 0;  // of one generation
extern const volatile u32 tables_mask = 0;
extern const volatile u32 slots_mask = 0;
extern const volatile u32 backends_mask = 0;
extern const volatile u32 services_mask = 0;
extern const volatile u32 narrow_mask = 0;  // of one worker
extern const volatile u32 wide_mask = 0;
extern const volatile u32 workers_mask = 0;
extern const volatile u32 fragments_mask = 0;
extern const volatile u32 translations_mask = 0;

// The AF_XDP sockets of the slow path, by receive queue.
struct sockets_map {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, limits::workers);
  __type(key, u32);
  __type(value, u32);
} sockets SEC(".maps");
}

}  // namespace fairlead::xdp
