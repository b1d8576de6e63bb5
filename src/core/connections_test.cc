// SPDX-License-Identifier: MIT
// The life of a connection: what each packet makes of it, and how long it is remembered. Where
// entries stand and whose gives way is in connections_room_test.cc; the same life as packets see
// it, with backends that come and go, in path/follow_test.cc.
#include "core/connections.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u8 fin = 0x01, syn = 0x02, rst = 0x04, push = 0x08, ack = 0x10;

TEST(EventOf, TcpDependsOnSynAckFinAndRstAlone) {
  for (u32 flags = 0; flags < 256; flags++) {
    Event want = Event::data;
    if (flags & (fin | rst))
      want = Event::ending;
    else if ((flags & syn) && !(flags & ack))
      want = Event::opening;
    EXPECT_EQ(event_of(6, static_cast<u8>(flags)), want) << "flags " << flags;
  }
  EXPECT_EQ(event_of(6, syn), Event::opening);
  EXPECT_EQ(event_of(6, syn | push), Event::opening);
  EXPECT_EQ(event_of(6, syn | ack), Event::data) << "as without SYN";
  EXPECT_EQ(event_of(6, 0), Event::data);
}

TEST(EventOf, OtherProtocolsHaveOneEventEach) {
  for (u32 protocol = 0; protocol < 256; protocol++) {
    if (protocol == 6) continue;
    for (const u8 flags : {u8{0}, syn, fin}) {
      const Event want = protocol == 17 ? Event::udp : Event::other;
      EXPECT_EQ(event_of(static_cast<u8>(protocol), flags), want) << "protocol " << protocol;
    }
  }
}

TEST(Transition, IsThatOfTheContractForEveryStateAndEvent) {
  using enum State;
  // none stands for: no live entry
  const struct {
    State before;
    Event event;
    State after;
    bool is_new;
  } table[] = {
      {none, Event::opening, handshake, false},
      {handshake, Event::opening, handshake, false},
      {established, Event::opening, established, false},
      {closing, Event::opening, handshake, true},
      {none, Event::data, established, false},
      {handshake, Event::data, established, false},
      {established, Event::data, established, false},
      {closing, Event::data, closing, false},
      {none, Event::ending, none, false},
      {handshake, Event::ending, closing, false},
      {established, Event::ending, closing, false},
      {closing, Event::ending, closing, false},
      {none, Event::udp, udp, false},
      {udp, Event::udp, udp, false},
      {none, Event::other, other, false},
      {other, Event::other, other, false},
  };
  for (const auto& row : table) {
    const Transition next = transition(row.before, row.event);
    EXPECT_EQ(next.state, row.after)
        << name_of(row.before) << ", event " << static_cast<int>(row.event);
    EXPECT_EQ(next.is_new, row.before == none || row.is_new)
        << name_of(row.before) << ", event " << static_cast<int>(row.event);
  }
}

TEST(Transition, AnOpeningPacketNeverLowersAConnectionThatIsOpen) {
  for (const State before : {State::handshake, State::established}) {
    EXPECT_EQ(transition(before, Event::opening).state, before) << name_of(before);
    EXPECT_FALSE(transition(before, Event::opening).is_new) << name_of(before);
  }
}

TEST(IsLive, AnEntryThatAnotherWroteInTheNextTickIsLive) {
  const TestTables tables;
  for (const Tick now : {0u, 1000u, 0xffff'ffffu}) {
    EXPECT_TRUE(is_live(meta_of(now + 1, 1, State::udp, 1), now, tables.settings())) << now;
  }
}

TEST(IsLive, AnEntryLivesItsTtlAndLessThanATickMore) {
  const TestTables tables;
  const Settings& settings = tables.settings();
  // Also around the point where a tick of 32 bits begins anew.
  for (const Tick seen : {0u, 1u, 1000u, 0x7fff'fff0u, 0xffff'fff0u, 0xffff'ffffu}) {
    for (u32 i = 1; i < state_count; i++) {
      const State state = static_cast<State>(i);
      const Meta meta = meta_of(seen, 1, state, 7);
      const Tick ttl = settings.ttl[i];
      for (Tick age = 0; age <= ttl; age++) {
        ASSERT_TRUE(is_live(meta, seen + age, settings))
            << name_of(state) << " seen " << seen << " age " << age;
      }
      for (const Tick age : {ttl + 1, ttl + 2, 2 * ttl + 1, 0x7fff'ffffu, 0xffff'0000u}) {
        ASSERT_FALSE(is_live(meta, seen + age, settings))
            << name_of(state) << " seen " << seen << " age " << age;
      }
    }
  }
}

TEST(IsLive, WhatWasNeverWrittenIsNotLive) {
  const TestTables tables;
  EXPECT_FALSE(is_live(Meta{0}, 0, tables.settings())) << "zeroed memory at tick 0";
  EXPECT_FALSE(is_live(Meta{0}, 5, tables.settings()));
}

TEST(Meta, KeepsWhatIsPutIn) {
  std::mt19937_64 random(1);
  for (u32 n = 0; n < 10'000; n++) {
    const Tick seen = static_cast<Tick>(random());
    const u32 tag = static_cast<u32>(random() & 0xfff);
    const State state = static_cast<State>(random() % state_count);
    const u32 backend = static_cast<u32>(random() & 0xffff);
    const Meta meta = meta_of(seen, tag, state, backend);
    EXPECT_EQ(seen_of(meta), seen);
    EXPECT_EQ(tag_of(meta), tag);
    EXPECT_EQ(state_of(meta), state);
    EXPECT_EQ(backend_of(meta), backend);
  }
}

TEST(Lines, EachOfTwoIsFoundFromTheOtherAndTheyDiffer) {
  std::mt19937_64 random(2);
  for (u32 n = 0; n < 10'000; n++) {
    const u64 hash = random();
    const u32 home = home_of(hash), other = other_of(home, tag_of(hash));
    // The tag that is kept in an entry leads back.
    const u32 kept = tag_of(meta_of(0, tag_of(hash), State::udp, 1));
    EXPECT_EQ(other_of(other, kept), home);
    for (const u32 mask : {1u, 255u, 0xffff'ffffu}) EXPECT_NE(home & mask, other & mask);
  }
}

TEST(Keys, OfANarrowEntryTellsFlowsOfAServiceApart) {
  const u64 key = narrow_key(0x01020304, 0x5060, 7);
  EXPECT_NE(key, narrow_key(0x01020305, 0x5060, 7));
  EXPECT_NE(key, narrow_key(0x01020304, 0x5061, 7));
  EXPECT_NE(key, narrow_key(0x01020304, 0x5060, 8));
  EXPECT_TRUE(is_taken(narrow_key(0, 0, 1))) << "source 0.0.0.0 port 0 of the first service";
}

TEST(Keys, OfAWideEntryTellsFlowsApart) {
  const Address source{{1, 2, 3, 4}};
  const WideKey key = wide_key(source, 0x5060, 7);
  for (u32 word = 0; word < 4; word++) {
    Address changed = source;
    changed.word[word] ^= 0x8000'0000;
    EXPECT_FALSE(key == wide_key(changed, 0x5060, 7)) << word;
  }
  EXPECT_FALSE(key == wide_key(source, 0x5061, 7));
  EXPECT_FALSE(key == wide_key(source, 0x5060, 8));
  EXPECT_TRUE(key == wide_key(source, 0x5060, 7));
  EXPECT_TRUE(is_taken(wide_key(Address{}, 0, 1)));
}

}  // namespace
}  // namespace fairlead::core::test
