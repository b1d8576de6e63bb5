// SPDX-License-Identifier: MIT
// Round robin and least connections, for new flows; all else goes by hash.
#include "core/path/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "core/path/follow.h"
#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u32 pool = table_kinds;
constexpr u8 syn = wire::tcp_syn, ack = wire::tcp_ack, fin = wire::tcp_fin;

class Schedule : public testing::Test {
 protected:
  Schedule() {
    for (u16 id = 1; id <= 4; id++) {
      tables.set_backend(id).flags = usable;
      tables.set_backend(id).weight = 1;
    }
    tables.add_pool(pool + by_hash, 0, 31, {4});  // so that it shows who was asked
    tables.add_pool(pool + by_turn, 2'000, 4, {2, 1, 2, 3});
    tables.add_pool(pool + by_load, 4'000, 3, {1, 2, 3});
    service.id.family = Family::v4;
    service.table = pool;
    service.service = 1;
    tables.set().clock = 1'000;
  }

  // Of a flow by its number. Live connections are counted as verdict.h does.
  Followed follow(u32 flow, u8 flags, u8 protocol = 6) {
    Packet packet{};
    packet.family = Family::v4;
    packet.source.word[0] = flow;
    packet.protocol = protocol;
    packet.tcp_flags = flags;
    packet.hash = hash_of(flow);
    const Followed followed = core::follow(tables, service, packet);
    if (followed.reason == Reason::fresh || followed.reason == Reason::repinned) {
      add_shared(tables.live(followed.backend));
    }
    return followed;
  }
  std::vector<u32> new_flows(u32 count) {
    std::vector<u32> backends;
    while (count-- > 0) backends.push_back(follow(++flows, syn).backend);
    return backends;
  }

  TestTables tables;
  Row service{};
  u32 flows = 0;
};

class Scheduled : public Schedule, public testing::WithParamInterface<u16> {
 protected:
  Scheduled() { service.id.flags = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(, Scheduled,
                         testing::Values(row_flag::round_robin, row_flag::least_connections),
                         [](const auto& one) {
                           return one.param == row_flag::round_robin ? "round_robin"
                                                                     : "least_connections";
                         });

TEST_P(Scheduled, HasTheSayOverFlowsThatBeginAndOthersGoByHash) {
  EXPECT_NE(follow(1, syn).backend, 4);
  EXPECT_NE(follow(2, 0, wire::protocol_udp).backend, 4);
  EXPECT_NE(follow(3, 0, 47).backend, 4);
  EXPECT_EQ(follow(4, ack).backend, 4) << "moved here from another node";
  EXPECT_EQ(follow(5, fin).backend, 4);
}

TEST_P(Scheduled, KnownFlowsStayAndErrorsAboutThemGoThere) {
  for (u32 n = 1; n <= 10; n++) {
    const u16 chosen = follow(n, syn).backend;
    EXPECT_EQ(follow(n, ack).backend, chosen);
    Flow error{};
    error.family = Family::v4;
    error.source.word[0] = n;
    error.protocol = 6;
    error.hash = hash_of(n);
    EXPECT_EQ(backend_of_flow(tables, service, error), chosen);
  }
}

TEST_P(Scheduled, AConnectionWhoseBackendIsDownGetsAnotherFromTheScheduler) {
  const u16 chosen = follow(1, syn).backend;
  tables.set_backend(chosen).flags = 0;
  const Followed again = follow(1, ack);
  EXPECT_EQ(again.reason, Reason::repinned);
  EXPECT_NE(again.backend, chosen);
  EXPECT_NE(again.backend, 4);
}

TEST_P(Scheduled, AFlowForWhichThereIsNoRoomGoesByHashLikeTheRestOfItsPackets) {
  for (NarrowBucket& line : tables.narrow()) {
    for (u32 way = 0; way < narrow_ways; way++) {
      line.key[way] = ~u64{way};
      line.meta[way] = meta_of(tables.now(), 1, State::established, 1);
    }
  }
  const Followed followed = follow(1, syn);
  EXPECT_EQ(followed.reason, Reason::hashed);
  EXPECT_EQ(followed.backend, 4);
}

TEST_P(Scheduled, NobodyIsChosenWhereNobodyIsUsable) {
  for (u16 id = 1; id <= 4; id++) tables.set_backend(id).flags = backend_flag::keeps_known;
  EXPECT_EQ(follow(1, syn).reason, Reason::no_backend);
  tables.set_tables().assign(16, {});
  EXPECT_EQ(follow(2, syn).reason, Reason::no_backend);
}

TEST_F(Schedule, RoundRobinGoesThroughTheTurnsAndSkipsWhoIsNotUsable) {
  service.id.flags = row_flag::round_robin;
  EXPECT_EQ(new_flows(8), (std::vector<u32>{2, 1, 2, 3, 2, 1, 2, 3}));
  tables.set_backend(1).flags = backend_flag::keeps_known;
  EXPECT_EQ(new_flows(4), (std::vector<u32>{2, 2, 2, 3}));
}

TEST_F(Schedule, LeastConnectionsFillsByWeight) {
  service.id.flags = row_flag::least_connections;
  tables.set_backend(3).weight = 2;
  std::map<u32, u32> got;
  for (const u32 backend : new_flows(400)) got[backend]++;
  EXPECT_EQ(got, (std::map<u32, u32>{{1, 100}, {2, 100}, {3, 200}}));
}

TEST_F(Schedule, LeastConnectionsAmongEqualsTakesTurns) {
  service.id.flags = row_flag::least_connections;
  std::map<u32, u32> got;
  for (u32 i = 0; i < 9; i++) {
    const u32 backend = new_flows(1)[0];
    got[backend]++;
    tables.live(backend) = 0;
  }
  EXPECT_EQ(got, (std::map<u32, u32>{{1, 3}, {2, 3}, {3, 3}}));
}

TEST_F(Schedule, LeastConnectionsGoesToWhoeverHasRoomUntilAllAreEqual) {
  service.id.flags = row_flag::least_connections;
  tables.live(1) = 10;
  tables.live(2) = 10;
  EXPECT_EQ(new_flows(10), std::vector<u32>(10, 3));
  EXPECT_NE(new_flows(2), std::vector<u32>(2, 3));
}

TEST_F(Schedule, LeastConnectionsOfALargePoolComparesSomeButComesRoundToAll) {
  TestTables large({.backends = 1024});
  std::vector<u16> all;
  for (u16 id = 1; id <= 1'000; id++) {
    large.set_backend(id).flags = usable;
    large.set_backend(id).weight = 1;
    all.push_back(id);
  }
  large.add_pool(pool + by_load, 0, 1'000, all);
  for (u32 i = 0; i < 10'000; i++) large.live(pick_least(large, pool))++;
  for (const u16 id : all) {
    EXPECT_NEAR(static_cast<double>(large.live(id)), 10, 2);
  }
}

}  // namespace
}  // namespace fairlead::core::test
