// SPDX-License-Identifier: MIT
// Where entries stand and whose gives way: what is remembered is found, in two lines at most; what
// is lost was said to be lost, or was a handshake; nothing established gives way to a handshake;
// and how full a table can be. Narrow and wide lines obey the same laws.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "core/connections.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

// One connection of the tests: its number gives its key and hash.
template <class Bucket>
struct Entry {
  u64 number;

  u64 hash() const { return hash_of(number); }
  KeyOf<Bucket> key() const {
    if constexpr (std::is_same_v<Bucket, NarrowBucket>)
      return number << 16 | 1;
    else
      return {{number, ~number}, number << 48 | 1};
  }
  bool put(const TestTables& tables, State state, u32 backend = 1) const {
    return remember<Bucket>(tables, key(), hash(),
                            meta_of(tables.now(), tag_of(hash()), state, backend));
  }
  Meta* find(const TestTables& tables) const {
    return find_connection<Bucket>(tables, key(), hash());
  }
};

template <class Bucket>
class Room : public testing::Test {
 protected:
  static constexpr u32 lines = 1u << 12;
  static constexpr u32 capacity = lines * ways_of<Bucket>;
  static constexpr bool is_narrow = std::is_same_v<Bucket, NarrowBucket>;

  Room() { tables.set().clock = 10'000; }

  Entry<Bucket> next() { return {count++}; }

  TestTables tables{{.narrow_lines = lines, .wide_lines = lines}};
  Accesses accesses;
  u64 count = 1;

  // Different lines that were asked for since `accesses` was reset.
  size_t lines_read() {
    auto& list = is_narrow ? accesses.narrow : accesses.wide;
    std::sort(list.begin(), list.end());
    return static_cast<size_t>(std::unique(list.begin(), list.end()) - list.begin());
  }
};

struct Names {
  template <class Bucket>
  static std::string GetName(int) {
    return std::is_same_v<Bucket, NarrowBucket> ? "Narrow" : "Wide";
  }
};
using Buckets = testing::Types<NarrowBucket, WideBucket>;
TYPED_TEST_SUITE(Room, Buckets, Names);

// Tells the figure in the test's output and in its report.
void tell(const std::string& what, u64 lost, u64 all) {
  const double percent = 100.0 * static_cast<double>(lost) / static_cast<double>(all);
  std::clog << "             " << what << ": " << lost << " of " << all << " found no room, "
            << percent << " %\n";
  testing::Test::RecordProperty(what, std::to_string(percent));
}

// Shares of connections that found no room, in percent, at each share of live entries. For narrow
// lines, and for wide ones, whose two ways cannot hold more than 90 %.
struct Bound {
  double live, narrow, wide;
};

TYPED_TEST(Room, AnEmptyTableFillsUpWithFewRefusals) {
  const Bound bounds[] = {{0.5, 0, 0}, {0.7, 0, 0.01}, {0.9, 0.02, 2.5}, {0.95, 0.4, 5.5}};
  u64 lost = 0;
  for (const Bound& bound : bounds) {
    const u64 all = static_cast<u64>(this->capacity * bound.live);
    while (this->count <= all) lost += !this->next().put(this->tables, State::established);
    tell("filled to " + std::to_string(static_cast<int>(bound.live * 100)) + " percent", lost, all);
    EXPECT_LE(100.0 * static_cast<double>(lost) / static_cast<double>(all),
              this->is_narrow ? bound.narrow : bound.wide);
  }
  EXPECT_EQ(this->tables.counters().evicted_full, lost) << "what is lost is counted";
}

TYPED_TEST(Room, ATableWhereConnectionsComeAndGoRefusesFew) {
  const Bound bounds[] = {
      {0.5, 0, 0.001}, {0.7, 0, 0.02}, {0.8, 0.001, 1}, {0.9, 0.04, 7}, {0.95, 1.6, 11}};
  const Tick ttl = this->tables.settings().ttl[static_cast<u32>(State::udp)];
  for (const Bound& bound : bounds) {
    TestTables world({.narrow_lines = this->lines, .wide_lines = this->lines});
    const double per_tick = this->capacity * bound.live / (ttl + 1);
    double due = 0;
    u64 all = 0, lost = 0;
    for (Tick tick = 0; tick < 10 * ttl; tick++) {
      world.set().clock++;
      for (due += per_tick; due >= 1; due--) {
        const bool kept = this->next().put(world, State::udp);
        if (tick < 3 * ttl) continue;  // until as many expire as come
        all++;
        lost += !kept;
      }
    }
    tell("coming and going at " + std::to_string(static_cast<int>(bound.live * 100)) + " percent",
         lost, all);
    EXPECT_LE(100.0 * static_cast<double>(lost) / static_cast<double>(all),
              this->is_narrow ? bound.narrow : bound.wide);
  }
}

TYPED_TEST(Room, WhatIsRememberedIsFoundAsItWasPutWhateverMovesAfterwards) {
  std::vector<std::pair<Entry<TypeParam>, u32>> kept;
  while (this->count < this->capacity * 12 / 10) {
    const auto entry = this->next();
    const u32 backend = static_cast<u32>(this->count % 60'000 + 1);
    if (entry.put(this->tables, State::established, backend)) kept.emplace_back(entry, backend);
  }
  EXPECT_GT(this->tables.counters().displaced, 0u);
  EXPECT_GT(this->tables.counters().evicted_full, 0u);
  for (const auto& [entry, backend] : kept) {
    const Meta* meta = entry.find(this->tables);
    ASSERT_NE(meta, nullptr);
    ASSERT_EQ(backend_of(*meta), backend);
    ASSERT_EQ(state_of(*meta), State::established);
    ASSERT_EQ(seen_of(*meta), this->tables.now());
  }
}

TYPED_TEST(Room, ALookUpReadsTwoLinesAtMostAndOneWhileHomeIsNotFull) {
  for (const double fill : {0.25, 0.5, 0.9, 0.95, 1.1}) {
    while (static_cast<double>(this->count) < this->capacity * fill)
      this->next().put(this->tables, State::established);
    this->tables.accesses = &this->accesses;
    u64 read = 0, looked = 0;
    for (u64 number = 1; number < 2 * this->count; number += 3) {  // half of them are not there
      const Entry<TypeParam> entry{number};
      const auto& home = this->tables.template line<TypeParam>(home_of(entry.hash()));
      const bool full = is_taken(home.key[ways_of<TypeParam> - 1]);
      this->accesses.reset();
      entry.find(this->tables);
      const size_t touched = this->lines_read();
      ASSERT_LE(touched, full ? 2u : 1u);
      read += touched;
      looked++;
    }
    this->tables.accesses = nullptr;
    std::clog << "             " << fill * 100
              << " percent full: " << static_cast<double>(read) / static_cast<double>(looked)
              << " lines a look-up\n";
  }
}

TYPED_TEST(Room, NothingButHandshakesGivesWayToHandshakes) {
  std::vector<std::pair<Entry<TypeParam>, State>> kept;
  const State states[] = {State::established, State::closing, State::udp, State::other};
  while (this->count < this->capacity * 8 / 10) {
    const auto entry = this->next();
    const State state = states[this->count % 4];
    if (entry.put(this->tables, state)) kept.emplace_back(entry, state);
  }
  // A flood that would fill the table twenty times over.
  u64 remembered = 0;
  for (u32 n = 0; n < 20 * this->capacity; n++) {
    if (n % 50'000 == 0) this->tables.set().clock++;
    remembered += this->next().put(this->tables, State::handshake);
  }
  EXPECT_GT(remembered, 0u);
  EXPECT_GT(this->tables.counters().evicted_handshake, 0u);
  for (const auto& [entry, state] : kept) {
    const Meta* meta = entry.find(this->tables);
    ASSERT_NE(meta, nullptr) << name_of(state);
    ASSERT_EQ(state_of(*meta), state);
  }
}

TYPED_TEST(Room, AFullTableOfHandshakesTakesANewOneForTheOldestOfItsLine) {
  TestTables world({.narrow_lines = 2, .wide_lines = 2});
  world.set().clock = 1000;
  std::vector<Entry<TypeParam>> entries;
  while (world.counters().evicted_handshake == 0) {
    world.set().clock++;
    entries.push_back(this->next());
    ASSERT_TRUE(entries.back().put(world, State::handshake)) << "handshakes always find room here";
    ASSERT_LT(entries.size(), 100u);
  }
  EXPECT_GE(entries.size(), 2 * ways_of<TypeParam>);
  u32 gone = 0;
  for (const auto& entry : entries) gone += entry.find(world) == nullptr;
  EXPECT_EQ(gone, 1u);
  // The oldest of the newcomer's home line has gone: all that are left there are younger.
  const u32 home = home_of(entries.back().hash()) & 1;
  const auto lost = std::find_if(entries.begin(), entries.end(),
                                 [&](const auto& entry) { return entry.find(world) == nullptr; });
  const Tick age = static_cast<Tick>(1001 + (lost - entries.begin()));
  for (const Meta meta : world.template line<TypeParam>(home).meta) EXPECT_GT(seen_of(meta), age);
}

TYPED_TEST(Room, AnEstablishedConnectionTakesTheRoomOfAHandshakeIfThereIsNoOther) {
  TestTables world({.narrow_lines = 2, .wide_lines = 2});
  for (u32 n = 0; n < 100; n++) this->next().put(world, State::handshake);
  const u64 before = world.counters().evicted_handshake;
  const auto entry = this->next();
  ASSERT_TRUE(entry.put(world, State::established));
  EXPECT_EQ(world.counters().evicted_handshake, before + 1);
  EXPECT_NE(entry.find(world), nullptr);
}

TYPED_TEST(Room, ExpiredEntriesAreRoomWhateverTheyWere) {
  const u32 states = state_count;
  for (u32 state = 1; state < states; state++) {
    TestTables world({.narrow_lines = 2, .wide_lines = 2});
    world.set().clock = 0xffff'ff00;  // the clock begins anew while they are remembered
    for (u32 n = 0; n < 40; n++) this->next().put(world, State::established);
    world.set().clock += world.settings().ttl[static_cast<u32>(State::established)] + 1;
    for (u32 n = 0; n < ways_of<TypeParam>; n++) {
      EXPECT_TRUE(this->next().put(world, static_cast<State>(state)));
    }
  }
}

TYPED_TEST(Room, AMovedEntryStaysWhenItsOldPlaceIsTaken) {
  // Whatever the order of comings and goings: an entry stands once.
  std::mt19937_64 random(3);
  TestTables world({.narrow_lines = 16, .wide_lines = 16});
  world.set().clock = 5000;
  for (u32 n = 0; n < 20'000; n++) {
    if (random() % 8 == 0) world.set().clock++;
    const Entry<TypeParam> entry{random() % 96 + 1};
    if (Meta* meta = entry.find(world)) {
      *meta = meta_of(world.now(), tag_of(*meta), State::udp, 1);
    } else {
      entry.put(world, State::udp);
    }
    if (n % 64 != 0) continue;
    std::unordered_map<u64, u32> seen;
    for (u32 line = 0; line < 16; line++) {
      for (u32 way = 0; way < ways_of<TypeParam>; way++) {
        const auto& key = world.template line<TypeParam>(line).key[way];
        if (!is_taken(key)) continue;
        u64 number;
        if constexpr (std::is_same_v<TypeParam, NarrowBucket>)
          number = key >> 16;
        else
          number = key.source[0];
        ASSERT_EQ(++seen[number], 1u) << "entry " << number << " stands twice";
      }
    }
  }
}

TYPED_TEST(Room, AFloodOnAFullTableCostsFewLinesAPacket) {
  while (this->count < 3 * this->capacity) this->next().put(this->tables, State::udp);
  this->tables.accesses = &this->accesses;
  u64 read = 0, refused = 0;
  constexpr u32 packets = 2000;
  size_t most = 0;
  for (u32 n = 0; n < packets; n++) {
    this->accesses.reset();
    refused += !this->next().put(this->tables, State::udp);
    const size_t touched = this->lines_read();
    most = std::max(most, touched);
    read += touched;
  }
  EXPECT_GE(refused, packets * 99 / 100) << "the table is full";
  EXPECT_LE(most, this->is_narrow ? 42u : 30u);
  EXPECT_LE(read, 3 * packets) << "searches that fail become rare";

  // When there is room it is found again.
  this->tables.accesses = nullptr;
  this->tables.set().clock += this->tables.settings().ttl[static_cast<u32>(State::udp)] + 1;
  refused = 0;
  for (u32 n = 0; n < this->capacity / 2; n++)
    refused += !this->next().put(this->tables, State::udp);
  EXPECT_LE(refused, 63u) << "inserts that do without a search between two";
}

// The table against a model that never forgets early: random comings, refreshes, closings and waits
// at high load, with the backend of each connection changing when it is made anew.
TYPED_TEST(Room, AModelAgreesOnEveryLookUp) {
  for (u64 seed = 1; seed <= 6; seed++) {
    std::mt19937_64 random(seed);
    TestTables world({.narrow_lines = 64, .wide_lines = 64});
    world.set().clock = seed % 2 ? 0xffff'f000 : 500;  // half of the runs pass the wrap
    std::unordered_map<u64, Meta> model;
    u64 handshakes_lost = 0, found = 0;
    for (u32 n = 0; n < 60'000; n++) {
      if (random() % 16 == 0) world.set().clock += static_cast<Tick>(random() % 20);
      const Entry<TypeParam> entry{random() % (64 * ways_of<TypeParam> * 5 / 4) + 1};
      const auto kept = model.find(entry.number);
      const bool expected =
          kept != model.end() && is_live(kept->second, world.now(), world.settings());
      Meta* meta = entry.find(world);
      const bool live = meta && is_live(*meta, world.now(), world.settings());
      if (expected && !live) {
        ASSERT_EQ(state_of(kept->second), State::handshake)
            << "a live entry that was no handshake is gone";
        handshakes_lost++;
      } else if (live) {
        ASSERT_TRUE(expected) << "an entry lives that nobody put";
        ASSERT_EQ(meta->word, kept->second.word);
        found++;
      }
      // As follow() does: refresh what lives, reuse what is there, else ask for room.
      const State state = static_cast<State>(random() % (state_count - 1) + 1);
      const u32 backend = live ? backend_of(*meta) : static_cast<u32>(random() % 60'000 + 1);
      const Meta fresh = meta_of(world.now(), tag_of(entry.hash()), state, backend);
      if (meta) {
        *meta = fresh;
      } else if (!remember<TypeParam>(world, entry.key(), entry.hash(), fresh)) {
        model.erase(entry.number);
        continue;
      }
      model[entry.number] = fresh;
    }
    EXPECT_LE(handshakes_lost, world.counters().evicted_handshake);
    EXPECT_GT(found, 10'000u);
    EXPECT_GT(world.counters().displaced, 100u);
    EXPECT_GT(world.counters().evicted_full + world.counters().evicted_handshake, 50u);
  }
}

}  // namespace
}  // namespace fairlead::core::test
