// SPDX-License-Identifier: MIT
#include "tables/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "tables/test_reader.h"
#include "tables/test_snapshot.h"

namespace fairlead::tables {
namespace {

using core::Family;
using core::Row;
using testing::HasSubstr;
namespace backend_flag = core::backend_flag;

constexpr uint64_t longest_ttl = 60'000;

Capacity small() {
  return {.workers = 2,
          .rows = 64,
          .branches = 8,
          .tables = 8 * core::table_kinds,
          .slots = 16384,
          .backends = 16,
          .services = 16,
          .narrow_lines = 1,
          .wide_lines = 1};
}

class PublisherTest : public testing::Test {
 protected:
  explicit PublisherTest(const Capacity& capacity = small())
      : own_(OwnMemory::make(capacity).value()), memory_(own_.view()), publisher_(memory_, {}) {}

  void publish(const Snapshot& snapshot, uint64_t now_ms = 0) {
    const auto done = publisher_.publish(share(snapshot), now_ms);
    ASSERT_TRUE(done) << done.error().message;
  }

  std::string refusal(const Snapshot& snapshot, uint64_t now_ms = 0) {
    const auto done = publisher_.publish(share(snapshot), now_ms);
    return done ? "published" : done.error().message;
  }

  // The backend ids behind a service, slot by slot; empty: no service, or nobody.
  std::vector<uint32_t> behind(const core::Address& address, uint16_t port,
                               Family family = Family::v4, uint8_t protocol = 6) const {
    const TestReader reader(memory_);
    const Row* vip = reader.vip(family, address);
    if (vip == nullptr) return {};
    const Row* row = reader.service(*vip, protocol, port);
    if (row == nullptr) return {};
    const core::TableRef ref = reader.table(row->table);
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < ref.size; i++) out.push_back(reader.slot(ref.offset + i));
    return out;
  }

  uint32_t service_id(const core::Address& address, uint16_t port) const {
    const TestReader reader(memory_);
    const Row* vip = reader.vip(Family::v4, address);
    const Row* row = vip != nullptr ? reader.service(*vip, 6, port) : nullptr;
    return row != nullptr ? row->service : 0;
  }

  // Everything that packets see.
  std::vector<std::byte> image() const {
    std::vector<std::byte> out;
    auto add = [&out](const auto* array, size_t count) {
      const auto bytes = std::as_bytes(std::span(array, count));
      out.insert(out.end(), bytes.begin(), bytes.end());
    };
    const Capacity& c = memory_.capacity;
    add(memory_.settings, 1);
    add(memory_.rows, 2 * c.rows);
    add(memory_.tables, c.tables);
    add(memory_.slots, c.slots);
    add(memory_.backends, c.backends);
    add(memory_.backend_counters, c.workers * c.backends);
    return out;
  }

  OwnMemory own_;
  const Memory& memory_;
  Publisher publisher_;
};

Snapshot one_service() {
  Snapshot snapshot = make_snapshot();
  snapshot.vips = {make_vip(v4(198, 51, 100, 10))};
  snapshot.pools = {make_pool(1, {1, 2, 3})};
  snapshot.services = {make_service(0, 443, 0)};
  return snapshot;
}

const core::Address web = v4(198, 51, 100, 10);

TEST_F(PublisherTest, only_services_of_a_pool_with_gue_over_ipv6_are_for_the_slow_path) {
  Snapshot snapshot = make_snapshot();
  snapshot.vips = {make_vip(v4(198, 51, 100, 10))};
  snapshot.services = {make_service(0, 80, 0), make_service(0, 81, 1)};
  snapshot.pools = {make_pool(1, {1, 2}), make_pool(2, {3, 4})};
  snapshot.pools[1].members[1].line.method = core::Method::gue;
  snapshot.pools[1].members[1].line.flags |= backend_flag::outer_v6;
  publish(snapshot);
  const TestReader reader(memory_);
  const Row* vip = reader.vip(Family::v4, v4(198, 51, 100, 10));
  EXPECT_EQ(reader.service(*vip, 6, 80)->id.flags & core::row_flag::slow, 0);
  EXPECT_NE(reader.service(*vip, 6, 81)->id.flags & core::row_flag::slow, 0);
}

TEST_F(PublisherTest, lets_a_packet_find_its_backend) {
  const Snapshot snapshot = one_service();
  publish(snapshot);
  const auto ids = behind(web, 443);
  ASSERT_EQ(ids.size(), 31u);
  for (size_t slot = 0; slot < ids.size(); slot++) {
    const Publisher::BackendName name = publisher_.backend(ids[slot]);
    EXPECT_EQ(name.pool, 0);
    EXPECT_EQ(name.member, (*snapshot.pools[0].table)[slot]);
    const core::Backend line = TestReader(memory_).line(ids[slot]);
    EXPECT_EQ(line.outer[39], name.member + 1);
  }
  EXPECT_TRUE(behind(web, 80).empty());
  EXPECT_TRUE(behind(v4(198, 51, 100, 11), 443).empty());
}

TEST_F(PublisherTest, repeats_the_first_slots_behind_a_table_that_is_smaller_than_the_mirror) {
  Snapshot snapshot = one_service();
  for (const uint32_t size : {2u, 3u, 31u, 251u, 257u, 1021u}) {
    snapshot.pools[0].table = make_table(snapshot.pools[0].members, size);
    publish(snapshot);
    const TestReader reader(memory_);
    const core::TableRef ref =
        reader.table(reader.service(*reader.vip(Family::v4, web), 6, 443)->table);
    ASSERT_EQ(ref.size, size);
    for (uint32_t i = 0; i < core::limits::slot_mirror; i++) {
      ASSERT_EQ(reader.slot(ref.offset + size + i), reader.slot(ref.offset + i % size));
    }
  }
}

TEST_F(PublisherTest, writes_the_settings_in_ticks_that_are_never_too_short) {
  Snapshot snapshot = one_service();
  snapshot.ttl_ms = {0, 5'000, 60'001, 99, 100, 101};
  publish(snapshot);
  const core::Settings& settings = *memory_.settings;
  EXPECT_EQ(settings.version, core::layout_version);
  EXPECT_EQ(settings.seed[0], 1u);
  EXPECT_EQ(settings.seed[1], 2u);
  const std::vector<core::Tick> ttl(settings.ttl, settings.ttl + core::state_count);
  EXPECT_EQ(ttl, (std::vector<core::Tick>{0, 50, 601, 1, 1, 2}));
}

TEST_F(PublisherTest, keeps_ids_when_the_file_is_written_in_another_order) {
  Snapshot snapshot = one_service();
  snapshot.vips.push_back(make_vip(v4(198, 51, 100, 20)));
  snapshot.pools.push_back(make_pool(2, {1, 2}));
  snapshot.services.push_back(make_service(1, 80, 1));
  publish(snapshot);
  const auto before = behind(web, 443);
  const uint32_t service = service_id(web, 443);

  Snapshot turned = make_snapshot();
  turned.vips = {snapshot.vips[1], snapshot.vips[0]};
  turned.pools = {make_pool(2, {2, 1}), make_pool(1, {3, 1, 2})};
  turned.services = {make_service(1, 443, 1), make_service(0, 80, 0)};
  publish(turned);
  EXPECT_EQ(behind(web, 443), before);
  EXPECT_EQ(service_id(web, 443), service);
  EXPECT_EQ(publisher_.service(service), 0);
  EXPECT_EQ(publisher_.backend(before[0]).pool, 1);
}

TEST_F(PublisherTest, keeps_the_same_backend_of_two_pools_apart) {
  Snapshot snapshot = one_service();
  snapshot.pools.push_back(make_pool(2, {1, 2, 3}));
  publish(snapshot);
  std::set<uint32_t> ids;
  for (uint32_t pool = 0; pool < 2; pool++) {
    for (uint32_t member = 0; member < 3; member++) {
      ids.insert(publisher_.backend_id(pool, member));
    }
  }
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(ids.count(0), 0u);
  EXPECT_EQ(publisher_.backend_id(0, 3), 0u);
  EXPECT_EQ(publisher_.backend_id(2, 0), 0u);
}

TEST_F(PublisherTest, leaves_a_removed_backend_its_line_without_the_flags) {
  publish(one_service());
  const uint32_t gone = publisher_.backend_id(0, 1);
  const uint32_t stays = publisher_.backend_id(0, 2);
  Snapshot less = one_service();
  less.pools[0] = make_pool(1, {1, 3});
  publish(less, 1000);
  EXPECT_EQ(TestReader(memory_).flags(gone), 0);
  EXPECT_EQ(TestReader(memory_).line(gone).outer[39], 2);
  EXPECT_EQ(publisher_.backend(gone).pool, -1);
  EXPECT_EQ(publisher_.backend_id(0, 1), stays);
  for (const uint32_t id : behind(web, 443)) EXPECT_NE(id, gone);

  publish(one_service(), 2000);
  EXPECT_EQ(publisher_.backend_id(0, 1), gone) << "back before anybody got its id";
  EXPECT_EQ(TestReader(memory_).flags(gone), backend_flag::takes_new | backend_flag::keeps_known);
}

TEST_F(PublisherTest, gives_an_id_to_another_only_after_the_longest_ttl) {
  Snapshot snapshot = one_service();
  auto with = [&snapshot](std::initializer_list<uint8_t> numbers) {
    snapshot.pools[0] = make_pool(1, numbers);
    return snapshot;
  };
  publish(with({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  const uint32_t id = publisher_.backend_id(0, 14);
  publish(with({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}), 500);

  const Snapshot other = with({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 99});
  EXPECT_THAT(
      refusal(other, 500 + longest_ttl + 999),
      HasSubstr("capacity exceeded: 15 backends wanted, 1 do not fit; the engine has 15 ids"));
  publish(other, 500 + longest_ttl + 1000);
  EXPECT_EQ(publisher_.backend_id(0, 14), id);
  EXPECT_EQ(TestReader(memory_).line(id).outer[39], 99);
}

TEST_F(PublisherTest, starts_the_counters_of_an_id_at_zero) {
  Snapshot snapshot = one_service();
  publish(snapshot);
  const uint32_t id = publisher_.backend_id(0, 0);
  auto& count = memory_.backend_counters[memory_.capacity.backends + id].packets;  // of worker 1
  count = 7;
  publish(snapshot, 1);
  EXPECT_EQ(count, 7u);
  // All other ids are given away, then this one.
  snapshot.pools[0] = make_pool(1, {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22});
  publish(snapshot, 2);
  EXPECT_EQ(count, 7u) << "what a removed backend got can still be read";
  snapshot.pools[0] = make_pool(1, {31, 32, 33});
  publish(snapshot, 200'000);
  EXPECT_EQ(publisher_.backend_id(0, 0), id);
  EXPECT_EQ(count, 0u);
}

TEST_F(PublisherTest, keeps_the_ids_of_backends_when_their_pool_is_renamed) {
  Snapshot snapshot = one_service();
  publish(snapshot);
  const auto before = behind(web, 443);
  snapshot.pools[0].id = "another";
  publish(snapshot);
  EXPECT_EQ(behind(web, 443), before);
  EXPECT_EQ(publisher_.backend(before[0]).pool, 0);
}

TEST_F(PublisherTest, keeps_connections_of_a_pool_whose_backends_another_pool_has) {
  Snapshot snapshot = one_service();
  publish(snapshot);
  snapshot.pools.push_back(make_pool(2, {1, 2}));
  snapshot.services[0].pool = 1;
  publish(snapshot);
  const uint32_t id = publisher_.backend_id(0, 0);
  const uint32_t alone = publisher_.backend_id(0, 2);
  snapshot.pools.erase(snapshot.pools.begin());
  snapshot.services[0].pool = 0;
  snapshot.pools[0].members[0].line.macs[0] = 0x42;
  publish(snapshot);
  EXPECT_EQ(TestReader(memory_).flags(id), backend_flag::keeps_known);
  EXPECT_EQ(TestReader(memory_).line(id).macs[0], 0x42) << "it follows the line of the pool";
  EXPECT_EQ(publisher_.backend(id).pool, 0);
  EXPECT_EQ(publisher_.backend(id).member, 0);
  EXPECT_EQ(TestReader(memory_).flags(alone), 0) << "no pool has that one";

  publisher_.set_flags(0, 0, 0);
  EXPECT_EQ(TestReader(memory_).flags(id), 0);
  publisher_.set_flags(0, 0, backend_flag::keeps_known | backend_flag::takes_new);
  EXPECT_EQ(TestReader(memory_).flags(id), backend_flag::keeps_known);
  snapshot.pools[0] = make_pool(2, {2});
  publish(snapshot);
  EXPECT_EQ(TestReader(memory_).flags(id), 0);
  EXPECT_EQ(publisher_.backend(id).pool, -1);
}

TEST_F(PublisherTest, flips_flags_at_once_and_leaves_the_tables_alone) {
  Snapshot snapshot = one_service();
  snapshot.pools[0].members[1].line.flags |= backend_flag::outer_v6;
  publish(snapshot);
  const auto before = behind(web, 443);
  const uint32_t id = publisher_.backend_id(0, 1);
  publisher_.set_flags(0, 1, backend_flag::keeps_known);
  EXPECT_EQ(TestReader(memory_).flags(id), backend_flag::keeps_known | backend_flag::outer_v6);
  publisher_.set_flags(0, 7, backend_flag::keeps_known);  // nobody
  EXPECT_EQ(behind(web, 443), before);
}

TEST_F(PublisherTest, drops_removed_vips_services_and_pools) {
  Snapshot snapshot = one_service();
  snapshot.vips.push_back(make_vip(v4(198, 51, 100, 20)));
  snapshot.pools.push_back(make_pool(2, {1, 2}));
  snapshot.services.push_back(make_service(1, 80, 1));
  snapshot.services.push_back(make_service(0, 80, 1));
  publish(snapshot);
  EXPECT_EQ(behind(web, 80).size(), 31u);
  const uint32_t id = service_id(web, 80);

  publish(one_service(), 10);
  EXPECT_TRUE(behind(web, 80).empty());
  EXPECT_EQ(TestReader(memory_).vip(Family::v4, v4(198, 51, 100, 20)), nullptr);
  EXPECT_EQ(behind(web, 443).size(), 31u);
  EXPECT_EQ(publisher_.service(id), -1);
  uint32_t tables = 0;
  for (uint32_t i = 0; i < memory_.capacity.tables; i++) tables += memory_.tables[i].size != 0;
  EXPECT_EQ(tables, 1u);

  publish(make_snapshot(), 20);
  EXPECT_EQ(TestReader(memory_).vip(Family::v4, web), nullptr);
}

TEST_F(PublisherTest, publishes_a_pool_in_which_nobody_is_usable) {
  Snapshot snapshot = one_service();
  publish(snapshot);
  snapshot.pools[0].table = nullptr;
  publish(snapshot);
  EXPECT_TRUE(behind(web, 443).empty());
  EXPECT_NE(service_id(web, 443), 0u);
  snapshot.pools[0].table = std::make_shared<const std::vector<uint16_t>>();
  publish(snapshot);
  EXPECT_TRUE(behind(web, 443).empty());
  publish(one_service());
  EXPECT_EQ(behind(web, 443).size(), 31u);
}

TEST_F(PublisherTest, writes_a_table_only_if_what_it_was_made_from_changed) {
  Snapshot snapshot = one_service();
  publish(snapshot);
  const core::TableRef first = TestReader(memory_).table(core::table_kinds);
  snapshot.pools[0].members[0].line.flags = backend_flag::keeps_known;
  publish(snapshot);
  EXPECT_EQ(TestReader(memory_).table(core::table_kinds).offset, first.offset);
  snapshot.pools[0].table = make_table(snapshot.pools[0].members, 251);
  publish(snapshot);
  EXPECT_NE(TestReader(memory_).table(core::table_kinds).offset, first.offset);
}

TEST_F(PublisherTest, writes_branches_as_they_are_asked_and_the_tables_of_each_scheduler) {
  Snapshot snapshot = one_service();
  snapshot.pools.push_back(make_pool(2, {21, 22}));
  const auto list = [](std::initializer_list<uint16_t> members) {
    return std::make_shared<const std::vector<uint16_t>>(members);
  };
  snapshot.pools[1].turns = list({1, 0, 1});
  snapshot.pools[1].candidates = list({0, 1});
  Service& service = snapshot.services[0];
  service.scheduler = Scheduler::least_connections;
  service.routes.push_back({v4(203, 0, 113, 0), 24, Family::v4, 1});
  service.split = {{95, 0}, {5, 1}};
  for (int round = 0; round < 2; round++) {  // either generation
    publish(snapshot);
    const TestReader reader(memory_);
    const Row& row = *reader.service(*reader.vip(Family::v4, web), 6, 443);
    EXPECT_EQ(row.id.flags, core::row_flag::branched | core::row_flag::least_connections);
    const core::Branch* branch =
        memory_.branches + memory_.settings->generation * memory_.capacity.branches + row.table;
    EXPECT_EQ(branch[0].kind, core::BranchKind::route);
    EXPECT_EQ(branch[0].source, v4(203, 0, 113, 0));
    EXPECT_EQ(branch[0].prefix_length, 24);
    EXPECT_EQ(branch[1].kind, core::BranchKind::share);
    EXPECT_EQ(branch[1].weight, 95u);
    EXPECT_EQ(branch[2].position, 1);
    EXPECT_EQ(branch[3].kind, core::BranchKind::otherwise);
    EXPECT_EQ(branch[3].pool, branch[1].pool);
    EXPECT_EQ(branch[0].pool, branch[2].pool);
    const uint32_t first = publisher_.backend_id(1, 0), second = publisher_.backend_id(1, 1);
    const core::TableRef turns = reader.table(branch[0].pool + core::by_turn);
    ASSERT_EQ(turns.size, 3u);
    EXPECT_EQ(reader.slot(turns.offset), second);
    EXPECT_EQ(reader.slot(turns.offset + 1), first);
    EXPECT_EQ(reader.slot(turns.offset + 3), second) << "the mirror behind it";
    EXPECT_EQ(reader.table(branch[0].pool + core::by_load).size, 2u);
    EXPECT_EQ(reader.table(branch[1].pool + core::by_turn).size, 0u);
    EXPECT_EQ(memory_.settings->counts_live, 1);
  }
  service.routes.assign(8, service.routes[0]);
  EXPECT_THAT(refusal(snapshot), HasSubstr("11 routes and shares do not fit in 8 branches"));
  publish(one_service());
  EXPECT_EQ(memory_.settings->counts_live, 0);
}

TEST_F(PublisherTest, exchanges_tables_for_ever_without_running_out_of_slots) {
  Snapshot snapshot = one_service();
  for (int round = 0; round < 200; round++) {
    snapshot.pools[0].table = make_table(snapshot.pools[0].members, 1021);
    publish(snapshot);
  }
  EXPECT_EQ(behind(web, 443).size(), 1021u);
}

TEST_F(PublisherTest, knows_prefix_vips_longest_first_and_the_nodes_own_addresses) {
  Snapshot snapshot = make_snapshot();
  Vip quiet = make_vip(v4(203, 0, 113, 0), 24);
  quiet.answers_ping = false;
  snapshot.vips = {make_vip(v4(203, 0, 0, 0), 16), quiet, make_vip(v4(203, 0, 113, 7))};
  snapshot.pools = {make_pool(1, {1}), make_pool(2, {2}), make_pool(3, {3})};
  snapshot.services = {make_service(0, 443, 0), make_service(1, 443, 1), make_service(2, 443, 2)};
  snapshot.own_v4 = {v4(203, 0, 113, 99)};
  publish(snapshot);

  auto pool_of = [this](const core::Address& address) {
    const auto ids = behind(address, 443);
    return ids.empty() ? -1 : publisher_.backend(ids[0]).pool;
  };
  EXPECT_EQ(pool_of(v4(203, 0, 1, 1)), 0);
  EXPECT_EQ(pool_of(v4(203, 0, 113, 8)), 1);
  EXPECT_EQ(pool_of(v4(203, 0, 113, 7)), 2);
  EXPECT_EQ(pool_of(v4(203, 0, 113, 99)), -1);
  EXPECT_EQ(pool_of(v4(203, 1, 0, 1)), -1);
  const core::PrefixLengths& lengths = TestReader(memory_).prefixes();
  EXPECT_EQ(lengths.v4[0], 25);
  EXPECT_EQ(lengths.v4[1], 17);
  EXPECT_EQ(lengths.v4[2], 0);
  EXPECT_EQ(lengths.v6[0], 0);
  const TestReader reader(memory_);
  EXPECT_EQ(reader.vip(Family::v4, v4(203, 0, 113, 8))->id.flags, core::row_flag::ping_drop);
  EXPECT_EQ(reader.vip(Family::v4, v4(203, 0, 113, 7))->id.flags, 0);
}

TEST_F(PublisherTest, marks_services_whose_id_does_not_say_the_destination) {
  Snapshot snapshot = make_snapshot();
  snapshot.vips = {make_vip(web), make_vip(v4(203, 0, 113, 0), 24)};
  snapshot.pools = {make_pool(1, {1})};
  snapshot.services = {make_service(0, 443, 0), make_service(0, 0, 0), make_service(0, 0, 0, 0),
                       make_service(1, 443, 0)};
  snapshot.services[0].client_ip = true;
  publish(snapshot);
  const TestReader reader(memory_);
  const Row& vip = *reader.vip(Family::v4, web);
  const Row& prefix = *reader.vip(Family::v4, v4(203, 0, 113, 5));
  EXPECT_EQ(reader.service(vip, 6, 443)->id.flags, core::row_flag::client_ip);
  EXPECT_EQ(reader.service(vip, 6, 80)->id.flags, core::row_flag::wide);
  EXPECT_EQ(reader.service(vip, 17, 53)->id.flags, core::row_flag::wide);
  EXPECT_EQ(reader.service(prefix, 6, 443)->id.flags, core::row_flag::wide);
  EXPECT_EQ(publisher_.vip(vip.vip), 0);
  EXPECT_EQ(publisher_.vip(prefix.vip), 1);
  EXPECT_EQ(publisher_.service(vip.service), -1) << "a VIP row names no service";
}

TEST_F(PublisherTest, publishes_ipv6_vips_beside_ipv4_ones) {
  Snapshot snapshot = one_service();
  Vip vip = make_vip(v6(0x10), 128);
  vip.family = Family::v6;
  snapshot.vips.push_back(vip);
  snapshot.services.push_back(make_service(1, 443, 0));
  snapshot.own_v6 = {v6(0x99)};
  publish(snapshot);
  EXPECT_EQ(behind(v6(0x10), 443, Family::v6).size(), 31u);
  EXPECT_TRUE(behind(v6(0x11), 443, Family::v6).empty());
}

TEST_F(PublisherTest, changes_nothing_when_something_does_not_fit) {
  publish(one_service());
  const auto before = image();
  const auto snapshot = publisher_.snapshot();

  Snapshot backends = one_service();
  backends.pools.push_back(make_pool(2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_THAT(refusal(backends), HasSubstr("16 backends wanted, 1 do not fit"));

  Snapshot pools = one_service();
  for (uint8_t i = 2; i < 10; i++) pools.pools.push_back(make_pool(i, {}));
  EXPECT_THAT(refusal(pools), HasSubstr("9 pools wanted, 2 do not fit"));

  Snapshot services = one_service();
  for (uint16_t i = 0; i < 15; i++) services.services.push_back(make_service(0, i, 0));
  EXPECT_THAT(refusal(services), HasSubstr("16 services wanted, 1 do not fit"));

  Snapshot slots = one_service();
  slots.pools[0].table = make_table(slots.pools[0].members, 16'381);
  EXPECT_THAT(refusal(slots), HasSubstr("no room for the 16381 slots of pool pool-1"));

  Snapshot rows = one_service();
  for (uint8_t i = 0; i < 100; i++) rows.own_v4.push_back(v4(10, 9, 9, i));
  EXPECT_THAT(refusal(rows), HasSubstr("100 own addresses do not fit in 64 rows"));

  Snapshot twice = one_service();
  twice.services.push_back(make_service(0, 443, 0));
  EXPECT_THAT(refusal(twice), HasSubstr("service 1 is there twice"));

  EXPECT_EQ(image(), before);
  EXPECT_EQ(publisher_.snapshot(), snapshot);

  // And all that the refused ones had taken is free again.
  Snapshot full = one_service();
  full.pools.push_back(make_pool(2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 1021));
  publish(full);
}

class LargePublisherTest : public PublisherTest {
 protected:
  LargePublisherTest() : PublisherTest(Capacity{}) {}
};

TEST_F(LargePublisherTest, refuses_more_prefix_lengths_than_a_packet_is_compared_with) {
  Snapshot snapshot = make_snapshot();
  const uint8_t most = core::limits::prefix_lengths;
  for (uint8_t length = 8; length < 8 + most; length++) {
    snapshot.vips.push_back(make_vip(core::masked(v4(203, 255, 255, 255), length), length));
  }
  publish(snapshot);
  EXPECT_EQ(TestReader(memory_).prefixes().v4[0], 8 + most);
  EXPECT_EQ(TestReader(memory_).prefixes().v4[most - 1], 9);
  snapshot.vips.push_back(make_vip(core::masked(v4(203, 255, 255, 255), 8 + most), 8 + most));
  EXPECT_THAT(refusal(snapshot), HasSubstr("more than 16 different prefix lengths"));
}

TEST_F(LargePublisherTest, holds_a_thousand_services_on_as_many_vips) {
  Snapshot snapshot = make_snapshot();
  snapshot.pools = {make_pool(1, {1, 2, 3})};
  for (uint32_t i = 0; i < 1000; i++) {
    snapshot.vips.push_back(make_vip(v4(198, 51, uint8_t(i >> 8), uint8_t(i))));
    snapshot.services.push_back(make_service(i, 443, 0));
  }
  publish(snapshot);
  for (const Vip& vip : snapshot.vips) ASSERT_EQ(behind(vip.address, 443).size(), 31u);
}

TEST_F(PublisherTest, waits_once_after_the_switch_and_before_anything_is_taken_back) {
  OwnMemory own = OwnMemory::make(small()).value();
  const Memory& memory = own.view();
  int waits = 0;
  uint8_t flags_seen = 0xff;
  uint32_t gone = 0;
  Publisher publisher(memory, {.tick_ms = 100, .wait = [&] {
                                 waits++;
                                 flags_seen = memory.backends[gone].flags;
                               }});
  ASSERT_TRUE(publisher.publish(share(one_service()), 0));
  EXPECT_EQ(waits, 1);
  gone = publisher.backend_id(0, 0);
  Snapshot less = one_service();
  less.pools[0] = make_pool(1, {2, 3});
  ASSERT_TRUE(publisher.publish(share(less), 0));
  EXPECT_EQ(waits, 2);
  EXPECT_NE(flags_seen, 0) << "packets may still follow the old table";
  EXPECT_EQ(memory.backends[gone].flags, 0);
}

TEST(ServiceName, is_protocol_and_port) {
  EXPECT_EQ(make_service(0, 443, 0).name(), "tcp/443");
  EXPECT_EQ(make_service(0, 53, 0, 17).name(), "udp/53");
  EXPECT_EQ(make_service(0, 0, 0, 0).name(), "any/0");
}

}  // namespace
}  // namespace fairlead::tables
