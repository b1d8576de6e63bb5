// SPDX-License-Identifier: MIT
// The choice for a flow without a connection: the owner of its slot, else the first usable one
// behind it, so that no flow of a usable backend ever moves.
#include "core/path/pick.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u32 slots = 1021, offset = 300;

class Pick : public testing::Test {
 protected:
  Pick() {
    for (u16 id = 1; id <= 10; id++) {
      tables.set_backend(id).flags = usable;
      owners.push_back(id);
    }
    // Neighbours are no others for all slots, as in a real table.
    std::mt19937_64 random(1);
    std::vector<u16> shuffled(slots);
    for (u32 i = 0; i < slots; i++) shuffled[i] = owners[random() % owners.size()];
    tables.add_pool(3, offset, slots, shuffled);
    service.table = 3;
  }

  u32 picked(u32 slot) const {
    // The smallest hash of that slot.
    Packet packet{};
    packet.hash = ((static_cast<u64>(slot) << 32) + slots - 1) / slots << 32;
    EXPECT_EQ(slot_of(packet.hash, slots), slot);
    return pick(tables, service, packet, true);
  }
  u32 owner(u32 slot) const { return tables.slot(offset + slot); }
  void set_flags(u32 id, u8 flags) { tables.set_backend(id).flags = flags; }

  TestTables tables;
  std::vector<u16> owners;
  Row service{};
};

TEST_F(Pick, IsTheOwnerOfTheSlotWhileThatIsUsable) {
  for (u32 slot = 0; slot < slots; slot++) EXPECT_EQ(picked(slot), owner(slot));
}

TEST_F(Pick, SkipsToTheFirstUsableOwnerBehindAndBeyondTheEndOfTheTable) {
  for (const u8 flags : {u8{0}, backend_flag::keeps_known}) {  // down; draining or of weight 0
    for (u16 id = 1; id <= 10; id++) set_flags(id, id % 3 ? flags : usable);
    for (u32 slot = 0; slot < slots; slot++) {
      u32 want = slot;
      while (owner(want % slots) % 3 != 0) want++;
      EXPECT_EQ(picked(slot), owner(want % slots)) << "slot " << slot;
    }
  }
}

TEST_F(Pick, NoFlowOfAUsableBackendMovesWhenAnotherGoes) {
  std::vector<u32> before;
  for (u32 slot = 0; slot < slots; slot++) before.push_back(picked(slot));
  set_flags(4, 0);
  for (u32 slot = 0; slot < slots; slot++) {
    if (before[slot] == 4)
      EXPECT_NE(picked(slot), 4u);
    else
      EXPECT_EQ(picked(slot), before[slot]);
  }
  set_flags(4, usable);
  for (u32 slot = 0; slot < slots; slot++) EXPECT_EQ(picked(slot), before[slot]);
}

TEST_F(Pick, IsNobodyWhereNobodyIsUsable) {
  for (u16 id = 1; id <= 10; id++) set_flags(id, 0);
  for (u32 slot = 0; slot < slots; slot++) EXPECT_EQ(picked(slot), 0u);
}

TEST_F(Pick, IsNobodyInAnEmptyTable) {
  tables.add_pool(3, offset, slots, {});
  EXPECT_EQ(pick(tables, service, Packet{}, true), 0u);
}

TEST_F(Pick, ASlotWithoutOwnerIsSkippedToo) {
  for (Slot& slot : tables.set_slots()) slot = 0;
  tables.set_slots()[offset + 77] = 5;
  EXPECT_EQ(picked(77), 5u);
  EXPECT_EQ(picked(76), 5u);
  EXPECT_EQ(picked(78), 0u) << "farther behind than the mirror is long";
}

TEST_F(Pick, EverySlotOfTheMirrorIsLookedAtAndNoneBehind) {
  for (Slot& slot : tables.set_slots()) slot = 0;
  tables.set_slots()[offset + slots - 1 + limits::slot_mirror - 1] = 5;
  EXPECT_EQ(picked(slots - 1), 5u) << "the last of the mirror";
  tables.set_slots()[offset + slots - 1 + limits::slot_mirror - 1] = 0;
  tables.set_slots()[offset + slots - 1 + limits::slot_mirror] = 5;
  EXPECT_EQ(picked(slots - 1), 0u) << "behind the mirror";
}

TEST_F(Pick, ClientAffinityLooksAtTheSourceAddressAlone) {
  service.id.flags = row_flag::client_ip;
  std::mt19937_64 random(2);
  std::map<u32, u32> seen;
  for (u32 n = 0; n < 2000; n++) {
    Packet packet{};
    packet.source = {{static_cast<u32>(random() % 100), 0, 0, 0}};
    packet.hash = random();  // of ports that differ
    const u32 backend = pick(tables, service, packet, true);
    const auto [known, is_new] = seen.try_emplace(packet.source.word[0], backend);
    EXPECT_EQ(known->second, backend);
  }
  std::map<u32, u32> shares;
  for (const auto& [source, backend] : seen) shares[backend]++;
  EXPECT_GE(shares.size(), 9u) << "clients are spread over the backends";
}

}  // namespace
}  // namespace fairlead::core::test
