// SPDX-License-Identifier: MIT
// Fuzzes the path of a packet. An input is: one byte of room in front, one byte that sets the world
// (which backends are usable, how much time passes), then a frame. Prefix VIPs cover nearly every
// address, so that frames get past the first question. The world stays from frame to frame, which
// lets connections grow old and lines fill.
//
// Beyond what sanitizers see: a frame that is not forwarded does not change; one that is grows by
// the tunnel of its backend and keeps all that it was. Seeds: path_fuzz_seeds.py.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "core/path/path.h"
#include "core/test_tunnel.h"
#include "core/test_world.h"

namespace {

using namespace fairlead::core;
using namespace fairlead::core::test;

constexpr u16 over_v4 = 1, over_v6 = 2, third = 3;

struct World {
  World() {
    tables.set_backend(over_v4) = Tunnel{}.line(usable);
    tables.set_backend(over_v6) =
        Tunnel{.node = "2001:db8:2::11", .backend = "2001:db8:b::1"}.line(usable);
    tables.set_backend(third) = Tunnel{.backend = "10.0.0.3"}.line(usable);
    tables.add_pool(0, 0, 251, {over_v4, over_v6, third});
    tables.add_pool(1, 4000, 251, {over_v6});
    u16 id = 1;
    for (const char* prefix : {"0.0.0.0", "128.0.0.0", "::", "8000::"}) {
      const Family family = family_of(prefix);
      tables.add_vip(address(prefix), family, 1, id);
      tables.add_service(address(prefix), family, 1, 6, 0, id, id, 0);
      tables.add_service(address(prefix), family, 1, 17, 0, static_cast<u16>(id + 10), id, 0);
      tables.add_service(address(prefix), family, 1, 0, 0, static_cast<u16>(id + 20), id, 1);
      id++;
    }
    // One VIP with a service of its own, whose connections are narrow.
    tables.add_vip(address("198.51.100.10"), Family::v4, 32, id);
    tables.add_service(address("198.51.100.10"), Family::v4, 32, 6, 80, 30, id, 0);
    tables.add_own(address("192.0.2.11"), Family::v4);
  }
  TestTables tables{{.narrow_lines = 8, .wide_lines = 8}};
};

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static World world;
  if (size < 2) return 0;
  const u32 room = data[0] % 64;
  for (const u16 id : {over_v4, over_v6, third}) {
    Backend& backend = world.tables.set_backend(id);
    const u8 kept = backend.flags & backend_flag::outer_v6;
    backend.flags = static_cast<u8>(kept | (data[1] >> (2 * (id - 1)) & 3));
  }
  world.tables.set().clock += data[1] >> 6 == 3 ? 301 : data[1] >> 6;

  const Bytes before(data + 2, data + size);
  const HeapFrame block(before, room);
  TestFrame frame = block.frame();
  const u64 clamped = world.tables.counters().mss_clamped;
  const auto [outcome, slow] = process(frame, world.tables);
  const std::span<const u8> after = frame.bytes();
  const bool forwarded = !slow && verdict_of(outcome.reason) == Verdict::forward;
  u32 overhead = 0;
  if (forwarded) {
    demand(outcome.backend != 0 && (outcome.service != 0 || outcome.reason == Reason::fragment));
    overhead = world.tables.backend(outcome.backend).flags & backend_flag::outer_v6 ? 44 : 24;
  }
  demand(after.size() == before.size() + overhead);
  // What stood behind the Ethernet header, tags and all, stands at the end unless it was moved.
  const u32 moved = forwarded ? 22 : 0;
  // A clamped MSS is the exception: the value and the checksum, two bytes each.
  u32 changed = 0;
  for (size_t i = moved; i < before.size(); i++) changed += after[overhead + i] != before[i];
  demand(changed == 0 || (changed <= 4 && world.tables.counters().mss_clamped != clamped));
  return 0;
}
