// SPDX-License-Identifier: MIT
// Packets while snapshots are exchanged: a thread reads as the packet path does while a thousand
// random snapshots are published. Whatever mixture of them it meets, each thing that it finds must
// be whole. Built with ThreadSanitizer (preset tsan) it also shows that the order of stores
// suffices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "tables/publisher.h"
#include "tables/test_random.h"
#include "tables/test_reader.h"
#include "tables/test_snapshot.h"

namespace fairlead::tables {
namespace {

using core::Family;

constexpr uint8_t pool_count = 4;  // pool p serves port 1000 + p; pool 0 always exists
constexpr uint8_t member_count = 12;
constexpr uint8_t own_count = 6;  // the first of a pool are its own, the others in all pools
const core::Address web = v4(198, 51, 100, 10);
const core::Address prefix = v4(203, 0, 113, 0);

// The reader says at the end of each packet which request it has seen.
class Quiescence {
 public:
  void wait() {
    const uint64_t wanted = ++asked_;
    while (seen_ < wanted && running_) std::this_thread::yield();
  }
  void packet_done() { seen_ = asked_.load(); }
  void reader_is(bool running) { running_ = running; }

 private:
  std::atomic<uint64_t> asked_{0}, seen_{0};
  std::atomic<bool> running_{false};
};

// A line in which every byte follows from who it belongs to, but for the MAC, whose bytes are
// equal. A backend of several pools has the same header in all: its line may go from one to
// another.
Member tell_tale(uint8_t pool, uint8_t number, uint8_t mac) {
  if (number > own_count) pool = 0;
  Member member = make_member(pool, number);
  member.identity.address = v4(10, 0, pool, number);
  std::fill_n(member.line.macs, 6, mac);
  for (uint8_t i = 0; i < 40; i++) {
    member.line.outer[i] = static_cast<uint8_t>(pool * 64 + number + i);
  }
  return member;
}

bool is_whole(const core::Backend& line, uint8_t pool) {
  const bool shared = line.outer[0] % 64 > own_count;
  bool whole = line.outer[0] / 64 == (shared ? 0 : pool);
  for (uint8_t i = 0; i < 6; i++) whole &= line.macs[i] == line.macs[0];
  for (uint8_t i = 0; i < 40; i++) whole &= line.outer[i] == uint8_t(line.outer[0] + i);
  return whole;
}

Snapshot random_snapshot(Random& random) {
  Snapshot out = make_snapshot();
  out.vips = {make_vip(web)};
  if (random.one_in(2)) out.vips.push_back(make_vip(prefix, 24));
  if (random.one_in(2)) out.vips.push_back(make_vip(v4(203, 0, 0, 0), 16));
  for (uint8_t i = 0; i < 20; i++) {
    if (random.one_in(2)) out.vips.push_back(make_vip(v4(198, 51, 100, uint8_t(100 + i))));
  }
  std::ranges::shuffle(out.vips, random);
  for (uint8_t p = 0; p < pool_count; p++) {
    if (p != 0 && random.one_in(3)) continue;
    Pool pool;
    pool.id = "pool-" + std::to_string(p);
    for (uint8_t number = 1; number <= member_count; number++) {
      const bool certain = number == 1;
      if (!certain && !random.one_in(2)) continue;
      pool.members.push_back(tell_tale(p, number, static_cast<uint8_t>(random())));
      pool.members.back().weight = 1 + random.below(3);
    }
    constexpr uint32_t sizes[] = {31, 61, 251, 1021};
    pool.table = make_table(pool.members, sizes[random.below(4)]);
    for (uint32_t v = 0; v < out.vips.size(); v++) {
      out.services.push_back(make_service(v, uint16_t(1000 + p), uint32_t(out.pools.size())));
    }
    out.pools.push_back(std::move(pool));
  }
  return out;
}

// One packet to a VIP and port. True if it found a backend.
bool send(const Memory& memory, const core::Address& address, uint8_t pool, Random& random) {
  const TestReader reader(memory);
  const core::Row* vip = reader.vip(Family::v4, address);
  if (vip == nullptr) return false;
  const core::Row* row = reader.service(*vip, 6, uint16_t(1000 + pool));
  if (row == nullptr) return false;
  EXPECT_EQ(row->vip, vip->vip);
  EXPECT_NE(row->service, 0);
  const core::TableRef ref = reader.table(row->table);
  EXPECT_TRUE(ref.size == 31 || ref.size == 61 || ref.size == 251 || ref.size == 1021);
  if (ref.size == 0) return false;
  const uint32_t first = ref.offset + random.below(ref.size);
  for (uint32_t probe = 0; probe < core::limits::slot_mirror; probe += 1 + random.below(64)) {
    const core::Slot id = reader.slot(first + probe);
    EXPECT_NE(id, 0);
    EXPECT_TRUE(reader.flags(id) & core::backend_flag::keeps_known) << "of backend " << id;
    EXPECT_TRUE(is_whole(reader.line(id), pool)) << "backend " << id;
  }
  return true;
}

TEST(PublisherRace, a_packet_never_sees_half_a_state) {
  const Capacity capacity{.workers = 1,
                          .rows = 512,
                          .branches = 8,
                          .tables = 8 * core::table_kinds,
                          .slots = 16'384,
                          .backends = 32,
                          .services = 128,
                          .narrow_lines = 1,
                          .wide_lines = 1};
  OwnMemory own = OwnMemory::make(capacity).value();
  const Memory& memory = own.view();
  Quiescence quiescence;
  Publisher publisher(memory, {.tick_ms = 100, .wait = [&] { quiescence.wait(); }});

  Random random(2);
  ASSERT_TRUE(publisher.publish(share(random_snapshot(random)), 0));
  std::atomic<bool> stop{false};
  uint64_t packets = 0, found = 0;
  quiescence.reader_is(true);
  std::thread reader([&] {
    Random dice(1);
    while (!stop && !testing::Test::HasFailure()) {
      EXPECT_TRUE(send(memory, web, 0, dice)) << "this service always exists";
      for (uint8_t p = 0; p < pool_count; p++) {
        found += send(memory, v4(198, 51, 100, uint8_t(100 + dice.below(20))), p, dice);
        found += send(memory, v4(203, 0, uint8_t(dice.below(2) * 113), 7), p, dice);
        packets += 2;
      }
      quiescence.packet_done();
    }
    quiescence.reader_is(false);
  });

  uint64_t now_ms = 0;
  int published = 0, refused = 0;
  while (published < 1000 && !testing::Test::HasFailure()) {
    now_ms += random.below(40'000);
    const auto done = publisher.publish(share(random_snapshot(random)), now_ms);
    done ? published++ : refused++;
    const auto& pools = publisher.snapshot()->pools;
    for (uint32_t p = 0; p < pools.size(); p++) {
      const uint32_t member = random.below(static_cast<uint32_t>(pools[p].members.size()));
      publisher.set_flags(p, member, core::backend_flag::keeps_known);
    }
  }
  stop = true;
  reader.join();
  EXPECT_GT(packets, 1000u);
  EXPECT_GT(found, packets / 8);
  EXPECT_GT(refused, 0) << "some snapshots find no free ids";
}

}  // namespace
}  // namespace fairlead::tables
