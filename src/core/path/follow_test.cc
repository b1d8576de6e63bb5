// SPDX-License-Identifier: MIT
// Connections as packets see them: every state and every event, while the hash would by now choose
// another backend, and with the old one up, draining or gone. The table of CONTRACT section 2, once
// for each way in which a connection is keyed.
#include "core/path/follow.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/path/path.h"
#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u16 before = 1, after = 2;  // the backend that the hash chooses at first, and later

// How connections of a service are keyed.
struct Keying {
  const char* name;
  bool v6;
  u8 prefix_length;  // of the VIP
  u16 port;          // of the services, 0: any
};
const Keying keyings[] = {{"narrow", false, 32, 80},
                          {"v6", true, 128, 80},
                          {"v4_any_port", false, 32, 0},
                          {"v4_prefix", false, 24, 80},
                          {"v6_prefix", true, 64, 0}};

class World {
 public:
  explicit World(const Keying& of) : keying(of) {
    const Family family = keying.v6 ? Family::v6 : Family::v4;
    const Address vip = address(keying.v6 ? "2001:db8:1::10" : "198.51.100.10");
    tables.add_vip(vip, family, keying.prefix_length, 1);
    tables.add_service(vip, family, keying.prefix_length, 6, keying.port, 1, 1, 0);
    tables.add_service(vip, family, keying.prefix_length, 17, keying.port, 2, 1, 0);
    tables.add_service(vip, family, keying.prefix_length, 0, 0, 3, 1, 0);
    tables.set().clock = 0xffff'ff80;  // the clock begins anew within the test
    for (const u16 id : {before, after, u16{3}}) tables.set_backend(id).flags = usable;
    hash_chooses(before);
  }

  void hash_chooses(u16 backend) { tables.add_pool(0, 0, 251, {backend}); }
  void wait(Tick ticks) { tables.set().clock += ticks; }
  Tick ttl(State state) const { return tables.settings().ttl[static_cast<u32>(state)]; }

  Bytes bytes(u8 protocol, u8 flags, u16 port) const {
    const bool v6 = keying.v6;
    const IpSpec spec{.source = v6 ? "2001:db8::7" : "203.0.113.7",
                      .destination = v6 ? "2001:db8:1::10" : "198.51.100.10",
                      .protocol = protocol};
    if (protocol == 6) return frame(spec, tcp({.source = port, .destination = 80, .flags = flags}));
    if (protocol == 17) return frame(spec, udp(port, 80));
    return frame(spec, Bytes(8));
  }
  Outcome send(u8 protocol, u8 flags = 0, u16 port = 40'000) {
    const HeapFrame block(bytes(protocol, flags, port), 0);
    const TestFrame held = block.frame();
    Packet packet;
    packet.shape = admit(held, packet);
    return decide(held, tables, packet).outcome;
  }
  Outcome send(Event event, u16 port = 40'000) {
    switch (event) {
      case Event::opening: return send(6, 0x02, port);
      case Event::data: return send(6, 0x18, port);
      case Event::ending: return send(6, 0x11, port);
      case Event::udp: return send(17, 0, port);
      case Event::other: return send(132, 0, port);
    }
    return {};
  }

  // Brings the flow into a state, with packets alone.
  void reach(State state) {
    switch (state) {
      case State::none: return;
      case State::handshake: send(Event::opening); return;
      case State::established: send(Event::data); return;
      case State::closing: send(Event::data), send(Event::ending); return;
      case State::udp: send(Event::udp); return;
      case State::other: send(Event::other); return;
    }
  }

  Keying keying;
  TestTables tables;
};

class Follow : public testing::TestWithParam<Keying> {
 protected:
  World world{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Keyings, Follow, testing::ValuesIn(keyings),
                         [](const auto& test) { return test.param.name; });

// What a packet does to a connection in each state; `afresh`: the backend is chosen anew.
struct Step {
  State state;
  Event event;
  State next;
  bool afresh;
  Reason reason;
};
const Step steps[] = {
    {State::none, Event::opening, State::handshake, true, Reason::fresh},
    {State::none, Event::data, State::established, true, Reason::fresh},
    {State::none, Event::ending, State::none, true, Reason::hashed},
    {State::none, Event::udp, State::udp, true, Reason::fresh},
    {State::none, Event::other, State::other, true, Reason::fresh},
    {State::handshake, Event::opening, State::handshake, false, Reason::known},
    {State::handshake, Event::data, State::established, false, Reason::known},
    {State::handshake, Event::ending, State::closing, false, Reason::known},
    {State::established, Event::opening, State::established, false, Reason::known},
    {State::established, Event::data, State::established, false, Reason::known},
    {State::established, Event::ending, State::closing, false, Reason::known},
    {State::closing, Event::opening, State::handshake, true, Reason::fresh},
    {State::closing, Event::data, State::closing, false, Reason::known},
    {State::closing, Event::ending, State::closing, false, Reason::known},
    {State::udp, Event::udp, State::udp, false, Reason::known},
    {State::other, Event::other, State::other, false, Reason::known},
};

std::string name_of(const Step& step) {
  return std::string(core::name_of(step.state)) + ", event " +
         std::to_string(static_cast<int>(step.event));
}

TEST_P(Follow, EveryStateAndEventDoWhatTheContractSays) {
  for (const Step& step : steps) {
    World own(GetParam());
    own.reach(step.state);
    own.hash_chooses(after);
    const Outcome outcome = own.send(step.event);
    EXPECT_EQ(outcome.reason, step.reason) << name_of(step);
    EXPECT_EQ(outcome.state, step.next) << name_of(step);
    EXPECT_EQ(outcome.backend, step.afresh ? after : before) << name_of(step);
    // The next packet follows what was remembered.
    own.hash_chooses(3);
    if (step.next == State::none) {
      EXPECT_EQ(own.send(Event::ending).backend, 3) << name_of(step);
    } else {
      const Event next = step.next == State::udp     ? Event::udp
                         : step.next == State::other ? Event::other
                                                     : Event::data;
      EXPECT_EQ(own.send(next).backend, step.afresh ? after : before) << name_of(step);
    }
  }
}

TEST_P(Follow, AnExpiredConnectionIsNone) {
  for (const Step& step : steps) {
    if (step.state == State::none) continue;
    World own(GetParam());
    own.reach(step.state);
    own.hash_chooses(after);
    own.wait(own.ttl(step.state) + 1);
    const Outcome outcome = own.send(step.event);
    EXPECT_EQ(outcome.backend, after) << name_of(step);
    const bool remembered = step.event != Event::ending;
    EXPECT_EQ(outcome.reason, remembered ? Reason::fresh : Reason::hashed) << name_of(step);
  }
}

TEST_P(Follow, AConnectionLivesToTheLastTickOfItsTtlAndEveryPacketRefreshesIt) {
  for (const Step& step : steps) {
    if (step.state == State::none || step.afresh) continue;
    World own(GetParam());
    own.reach(step.state);
    own.hash_chooses(after);
    own.wait(own.ttl(step.state));
    EXPECT_EQ(own.send(step.event).backend, before) << name_of(step);
    // Now its state is the next one, and its age 0.
    own.wait(own.ttl(step.next));
    const Event next = step.event == Event::opening ? Event::data : step.event;
    EXPECT_EQ(own.send(next).backend, before) << name_of(step);
  }
}

TEST_P(Follow, AConnectionLeavesABackendThatIsDownOrGoneAndStaysWhereItWent) {
  for (const Step& step : steps) {
    if (step.state == State::none) continue;
    World own(GetParam());
    own.reach(step.state);
    own.hash_chooses(after);
    own.tables.set_backend(before) = {};  // gone: the line is wiped; down looks the same
    const Outcome outcome = own.send(step.event);
    EXPECT_EQ(outcome.backend, after) << name_of(step);
    EXPECT_EQ(outcome.state, step.next) << name_of(step);
    EXPECT_EQ(outcome.reason, step.afresh ? Reason::fresh : Reason::repinned) << name_of(step);
    own.tables.set_backend(before).flags = usable;
    own.hash_chooses(3);
    const Outcome again = own.send(step.event == Event::opening ? Event::data : step.event);
    EXPECT_EQ(again.backend, after) << name_of(step) << ": it does not go back";
    EXPECT_EQ(again.reason, Reason::known) << name_of(step);
  }
}

TEST_P(Follow, ADrainingBackendKeepsItsConnectionsAndGetsNoNewOnes) {
  for (const Step& step : steps) {
    World own(GetParam());
    own.reach(step.state);
    own.tables.set_backend(before).flags = backend_flag::keeps_known;
    own.tables.add_pool(0, 0, 251, {before, after});  // some slots are still its own
    const Outcome outcome = own.send(step.event);
    EXPECT_EQ(outcome.backend, step.afresh ? after : before) << name_of(step);
    EXPECT_EQ(outcome.reason, step.reason) << name_of(step);
  }
}

TEST_P(Follow, WithoutAUsableBackendOnlyKnownConnectionsGoOn) {
  for (const Step& step : steps) {
    for (const bool drains : {false, true}) {
      World own(GetParam());
      own.reach(step.state);
      for (const u16 id : {before, after, u16{3}}) own.tables.set_backend(id).flags = 0;
      if (drains) own.tables.set_backend(before).flags = backend_flag::keeps_known;
      const Outcome outcome = own.send(step.event);
      const bool goes_on = drains && !step.afresh;
      EXPECT_EQ(outcome.reason, goes_on ? step.reason : Reason::no_backend) << name_of(step);
      EXPECT_EQ(outcome.backend, goes_on ? before : 0) << name_of(step);
    }
  }
}

TEST_P(Follow, FlowsThatDifferInAnythingAreDifferentConnections) {
  world.send(Event::data, 40'000);
  world.send(Event::udp, 40'000);
  world.send(Event::other);
  world.hash_chooses(after);
  EXPECT_EQ(world.send(Event::data, 40'001).backend, after);
  EXPECT_EQ(world.send(Event::udp, 40'001).backend, after);
  EXPECT_EQ(world.send(Event::data, 40'000).backend, before);
  EXPECT_EQ(world.send(Event::udp, 40'000).backend, before);
  EXPECT_EQ(world.send(Event::other).backend, before);
}

TEST_P(Follow, AFullTableForwardsByHashAndRemembersNothing) {
  // Every way of every line is taken by somebody established.
  for (NarrowBucket& line : world.tables.narrow()) {
    for (u32 way = 0; way < narrow_ways; way++) {
      line.key[way] = 0xffff'0000'0000'0000 + way;
      line.meta[way] = meta_of(world.tables.now(), 1, State::established, before);
    }
  }
  for (WideBucket& line : world.tables.wide()) {
    for (u32 way = 0; way < wide_ways; way++) {
      line.key[way] = {{1, 2}, way + 1};
      line.meta[way] = meta_of(world.tables.now(), 1, State::established, before);
    }
  }
  for (const Event event : {Event::opening, Event::data, Event::udp, Event::other}) {
    const Outcome outcome = world.send(event);
    EXPECT_EQ(outcome.reason, Reason::hashed);
    EXPECT_EQ(outcome.state, State::none);
    EXPECT_EQ(outcome.backend, before);
    world.hash_chooses(after);
    EXPECT_EQ(world.send(event).backend, after);
    world.hash_chooses(before);
  }
  EXPECT_EQ(world.tables.counters().evicted_full, 8u);
}

TEST_P(Follow, APacketWithinTheSameTickWritesNothing) {
  world.send(Event::data);
  std::vector<NarrowBucket> narrow = world.tables.narrow();
  std::vector<WideBucket> wide = world.tables.wide();
  world.send(Event::data);
  for (size_t i = 0; i < narrow.size(); i++) {
    ASSERT_EQ(__builtin_memcmp(&narrow[i], &world.tables.narrow()[i], sizeof narrow[i]), 0);
  }
  for (size_t i = 0; i < wide.size(); i++) {
    ASSERT_EQ(__builtin_memcmp(&wide[i], &world.tables.wide()[i], sizeof wide[i]), 0);
  }
}

}  // namespace
}  // namespace fairlead::core::test
