// SPDX-License-Identifier: MIT
#include "control/controller/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "control/config/address.h"

namespace fairlead::controller {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
namespace backend_flag = core::backend_flag;
constexpr uint8_t new_and_known = backend_flag::takes_new | backend_flag::keeps_known;

config::NodeConfig node() {
  config::NodeConfig node;
  node.node.address = config::parse_address("192.0.2.11");
  node.node.address6 = config::parse_address("2001:db8:f::11");
  return node;
}

config::Backend backend(std::string_view text, uint32_t weight = 1,
                        config::BackendState state = config::BackendState::active) {
  const auto endpoint = config::parse_backend(text);
  return {endpoint.value().address, endpoint->port, weight, state};
}

config::Pool pool(std::string id, std::vector<config::Backend> backends) {
  config::Pool pool;
  pool.id = std::move(id);
  pool.table_size = 251;
  pool.backends = std::move(backends);
  return pool;
}

NextHop gateway(const config::IpAddress&) {
  return {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 0x11}, ""};
}

// Health by the text of the backend; all others are up.
HealthOf health(std::map<std::string, Health> of) {
  return [of = std::move(of)](const config::Pool&, const config::Backend& backend) {
    const auto found = of.find(config::to_text(config::Endpoint{backend.ip, backend.port}));
    return found == of.end() ? Health::up : found->second;
  };
}

Plan planned(const config::Services& services, const HealthOf& health = {},
             const Tables& previous = {}) {
  const config::NodeConfig config = node();
  return plan({config, services, health, gateway, {}, 1}, previous);
}

// Slots of each member by name.
std::map<std::string, size_t> shares(const tables::Pool& pool) {
  std::map<std::string, size_t> result;
  for (const uint16_t owner : *pool.table) result[pool.members.at(owner).name]++;
  return result;
}

std::vector<std::string> names(const tables::Pool& pool) {
  std::vector<std::string> result;
  for (const tables::Member& member : pool.members) result.push_back(member.name);
  return result;
}

TEST(Seeds, are_the_first_numbers_of_SplitMix64) {
  // The reference implementation's first numbers for the state 0.
  EXPECT_THAT(flow_seeds(0), ElementsAre(0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4));
  EXPECT_NE(flow_seeds(0x5eed), flow_seeds(0x5eee));
}

tables::Identity identity(std::string_view text) {
  const auto endpoint = config::parse_backend(text);
  return {endpoint.value().address.bytes, endpoint->address.family, endpoint->port};
}

TEST(IdentityHash, is_the_same_on_every_node_for_ever) {
  EXPECT_EQ(identity_hash(identity("10.0.0.1"), 0), 0xdb0e5c144365b9a9);
  EXPECT_EQ(identity_hash(identity("10.0.0.1:443"), 0), 0x89f37f493870ed4b);
  EXPECT_EQ(identity_hash(identity("2001:db8:b::1"), 0), 0x2681337ab486483d);
  EXPECT_EQ(identity_hash(identity("10.0.0.1"), 0x5eed), 0x4753782c539070c9);
}

TEST(IdentityHash, differs_where_anything_of_the_identity_does) {
  std::set<uint64_t> hashes;
  const std::vector<std::string_view> texts = {"10.0.0.1",      "10.0.0.2",   "10.0.0.1:443",
                                               "10.0.0.1:444",  "a00:1::",    "a00:1::1",
                                               "[a00:1::]:443", "0:0:a00:1::"};
  for (const std::string_view text : texts) hashes.insert(identity_hash(identity(text), 0));
  EXPECT_THAT(hashes, SizeIs(texts.size()));
}

// CONTRACT section 8.
MemberState state(Health health, uint32_t weight = 1) { return {health, false, true, weight}; }
MemberState draining(Health health) { return {health, true, true, 1}; }
MemberState unreachable(Health health) { return {health, false, false, 1}; }

std::vector<int> flags(std::vector<MemberState> members, config::Fail fail = config::Fail::closed) {
  const Reading reading = reading_of(tally_of(members), fail);
  std::vector<uint8_t> flags;
  for (const MemberState& member : members) flags.push_back(flags_of(member, reading));
  return {flags.begin(), flags.end()};
}

constexpr auto up = Health::up, down = Health::down, unknown = Health::unknown;
constexpr int both = new_and_known, keeps = backend_flag::keeps_known, nothing = 0;

TEST(Flags, of_a_backend_that_is_up_take_new_flows_and_of_one_that_is_down_nothing) {
  EXPECT_THAT(flags({state(up), state(down)}), ElementsAre(both, nothing));
}

TEST(Flags, of_an_unknown_backend_are_those_of_one_that_is_up_until_another_is_known_to_be) {
  EXPECT_THAT(flags({state(unknown), state(unknown)}), ElementsAre(both, both));
  EXPECT_THAT(flags({state(unknown), state(down)}), ElementsAre(both, nothing));
  EXPECT_THAT(flags({state(unknown), state(up)}), ElementsAre(nothing, both));
}

TEST(Flags, of_an_unknown_backend_do_not_suffer_from_one_that_is_up_but_gets_no_new_flows) {
  EXPECT_THAT(flags({state(unknown), draining(up)}), ElementsAre(both, keeps));
  EXPECT_THAT(flags({state(unknown), state(up, 0)}), ElementsAre(both, keeps));
  EXPECT_THAT(flags({state(unknown), unreachable(up)}), ElementsAre(both, nothing));
}

TEST(Flags, of_a_draining_backend_or_one_of_weight_0_keep_what_is_known) {
  EXPECT_THAT(flags({state(up), draining(up), state(up, 0)}), ElementsAre(both, keeps, keeps));
  EXPECT_THAT(flags({state(up), draining(down), state(down, 0)}),
              ElementsAre(both, nothing, nothing));
}

TEST(Flags, are_empty_when_all_are_down_and_the_pool_fails_closed) {
  EXPECT_THAT(flags({state(down), state(down)}), Each(nothing));
}

TEST(Flags, are_those_of_backends_that_are_up_when_all_are_down_and_the_pool_fails_open) {
  EXPECT_THAT(flags({state(down), state(down)}, config::Fail::open), Each(both));
}

TEST(Flags, stay_as_they_are_while_a_pool_that_fails_open_has_one_that_is_up) {
  EXPECT_THAT(flags({state(down), state(up)}, config::Fail::open), ElementsAre(nothing, both));
  EXPECT_THAT(flags({state(down), state(unknown)}, config::Fail::open), ElementsAre(nothing, both));
}

TEST(Flags, of_weight_0_draining_or_unreachable_backends_are_not_revived_by_failing_open) {
  EXPECT_THAT(
      flags({state(down), state(down, 0), draining(down), unreachable(down)}, config::Fail::open),
      ElementsAre(both, keeps, keeps, nothing));
}

TEST(Flags, of_a_backend_without_a_next_hop_are_nothing) {
  EXPECT_THAT(flags({unreachable(up), state(up)}), ElementsAre(nothing, both));
  EXPECT_THAT(flags({unreachable(up), state(down)}, config::Fail::open),
              ElementsAre(nothing, both));
  EXPECT_THAT(flags({unreachable(up)}, config::Fail::open), ElementsAre(nothing));
}

TableInput table_input(std::vector<bool> usable, std::vector<uint32_t> weights) {
  TableInput input;
  input.size = 251;
  input.usable = std::move(usable);
  input.weights = std::move(weights);
  for (size_t i = 0; i < input.usable.size(); i++) input.identities.push_back(1'000 + 17 * i);
  return input;
}

TEST(Table, of_nobody_usable_is_empty) {
  EXPECT_THAT(build_table(table_input({}, {})), IsEmpty());
  EXPECT_THAT(build_table(table_input({false, false}, {1, 1})), IsEmpty());
}

TEST(Table, gives_the_slots_of_the_unusable_to_the_first_usable_behind_them) {
  const std::vector<uint16_t> whole =
      build_table(table_input({true, true, true, true}, {1, 1, 1, 1}));
  for (const std::vector<bool>& usable : std::vector<std::vector<bool>>{
           {true, false, true, true}, {false, true, false, false}, {false, false, true, true}}) {
    const std::vector<uint16_t> table = build_table(table_input(usable, {1, 1, 1, 1}));
    ASSERT_EQ(table.size(), whole.size());
    for (size_t i = 0; i < table.size(); i++) {
      size_t at = i;
      while (!usable[whole[at]]) at = (at + 1) % whole.size();
      EXPECT_EQ(table[i], whole[at]) << "slot " << i;
    }
  }
}

TEST(Table, is_rebuilt_over_the_usable_or_left_as_it_is) {
  config::Services services;
  services.pools = {
      pool("rebuild", {backend("10.0.0.1"), backend("10.0.0.2"), backend("10.0.0.3")}),
      pool("skip", {backend("10.0.0.1"), backend("10.0.0.2"), backend("10.0.0.3")})};
  services.pools[1].on_down = config::OnDown::skip;
  const auto before = planned(services).snapshot;
  const auto after = planned(services, health({{"10.0.0.2", Health::down}})).snapshot;
  const auto slots_moved = [&](size_t pool) {
    size_t moved = 0;
    for (size_t i = 0; i < 251; i++) {
      const uint16_t owner = (*before->pools[pool].table)[i];
      moved += owner != 1 && owner != (*after->pools[pool].table)[i];
    }
    return moved;
  };
  EXPECT_EQ(slots_moved(1), 0u) << "no slot of a usable backend moves";
  EXPECT_THAT(shares(after->pools[0]),
              testing::UnorderedElementsAre(testing::Pair("10.0.0.1", testing::Ge(125u)),
                                            testing::Pair("10.0.0.3", testing::Ge(125u))))
      << "even shares again";
  EXPECT_THAT(shares(after->pools[1]), SizeIs(2));
  EXPECT_EQ(before->pools[0].table, before->pools[1].table) << "the same while all are up";
}

TEST(Table, without_weight_0_draining_or_unreachable_backends_when_it_is_rebuilt) {
  config::Services services;
  services.pools = {
      pool("web", {backend("10.0.0.1"), backend("10.0.0.2", 0),
                   backend("10.0.0.3", 1, config::BackendState::draining), backend("10.0.0.4")})};
  const config::NodeConfig config = node();
  const NextHopOf no_way_to_4 = [](const config::IpAddress& address) {
    return config::to_text(address) == "10.0.0.4" ? NextHop{{}, {}, "no route to 10.0.0.4"}
                                                  : gateway(address);
  };
  const auto snapshot = plan({config, services, {}, no_way_to_4, {}, 1}).snapshot;
  const tables::Pool& web = snapshot->pools[0];
  EXPECT_THAT(shares(web), ElementsAre(testing::Pair("10.0.0.1", 251)));
  EXPECT_EQ(web.members[0].unusable, "");
  EXPECT_EQ(web.members[1].unusable, "weight 0");
  EXPECT_EQ(web.members[2].unusable, "draining");
  EXPECT_EQ(web.members[3].unusable, "no route to 10.0.0.4");
}

TEST(Table, says_who_is_unusable_and_why) {
  config::Services services;
  services.pools = {pool("web", {backend("10.0.0.1"), backend("10.0.0.2"), backend("10.0.0.3")})};
  const auto snapshot =
      planned(services, health({{"10.0.0.2", Health::down}, {"10.0.0.3", Health::unknown}}))
          .snapshot;
  EXPECT_EQ(snapshot->pools[0].members[1].unusable, "down");
  EXPECT_EQ(snapshot->pools[0].members[2].unusable, "not checked yet while others are up");
}

TEST(Table, follows_neither_the_order_in_the_file_nor_the_name_of_the_pool) {
  std::vector<config::Backend> backends;
  for (int i = 1; i <= 9; i++) {
    backends.push_back(backend("10.0.0." + std::to_string(i), static_cast<uint32_t>(i % 3 + 1)));
    backends.push_back(backend("2001:db8:b::" + std::to_string(i)));
  }
  config::Services services, mixed;
  services.pools = {pool("web", backends)};
  std::ranges::reverse(backends);
  mixed.pools = {pool("other", {backend("10.9.9.9")}), pool("renamed", backends)};
  const auto a = planned(services).snapshot, b = planned(mixed).snapshot;
  EXPECT_EQ(names(a->pools[0]), names(b->pools[1]));
  EXPECT_EQ(*a->pools[0].table, *b->pools[1].table);
}

TEST(Table, follows_the_seed_size_and_fill_of_the_pool) {
  config::Services services;
  const std::vector<config::Backend> backends = {backend("10.0.0.1"), backend("10.0.0.2")};
  services.pools = {pool("a", backends), pool("b", backends), pool("c", backends),
                    pool("d", backends)};
  services.pools[1].table_seed = 1;
  services.pools[2].table_size = 31;
  services.pools[3].fill = config::FillKind::paper;
  const auto pools = planned(services).snapshot->pools;
  EXPECT_NE(*pools[0].table, *pools[1].table);
  EXPECT_THAT(*pools[2].table, SizeIs(31));
  EXPECT_NE(*pools[0].table, *pools[3].table);
}

TEST(Table, is_the_previous_one_while_nothing_that_decides_it_changes) {
  config::Services services;
  services.pools = {pool("a", {backend("10.0.0.1"), backend("10.0.0.2")}),
                    pool("b", {backend("10.0.0.3"), backend("10.0.0.4")}),
                    pool("c", {backend("10.0.0.2"), backend("10.0.0.1")})};
  const Plan first = planned(services);
  EXPECT_EQ(first.snapshot->pools[0].table, first.snapshot->pools[2].table)
      << "two pools that are alike share theirs";
  services.pools[0].id = "renamed";
  services.pools[0].fail = config::Fail::open;
  const Plan second = planned(services, health({{"10.0.0.4", Health::down}}), first.tables);
  EXPECT_EQ(first.snapshot->pools[0].table, second.snapshot->pools[0].table);
  EXPECT_NE(first.snapshot->pools[1].table, second.snapshot->pools[1].table);
  const Plan third = planned(services, {}, second.tables);
  EXPECT_EQ(*first.snapshot->pools[1].table, *third.snapshot->pools[1].table);
  EXPECT_THAT(third.tables, SizeIs(2)) << "what is not used any more is forgotten";
}

TEST(Schedules, are_made_for_the_pools_that_a_service_may_choose_from_of_who_gets_new_flows) {
  config::Services services;
  services.pools = {pool("a", {backend("10.0.0.1", 2), backend("10.0.0.2"), backend("10.0.0.3")}),
                    pool("b", {backend("10.0.0.4")}), pool("c", {backend("10.0.0.5")})};
  services.vips = {{.id = "v", .address = *config::parse_prefix("198.51.100.1/32")}};
  config::Service service{.port = 80, .backend_pool = "a"};
  service.scheduler = config::Scheduler::round_robin;
  service.routes = {{*config::parse_prefix("203.0.113.0/24"), "b"}};
  services.vips[0].services = {service, {.port = 81, .backend_pool = "c"}};
  const auto snapshot = planned(services, health({{"10.0.0.3", Health::down}})).snapshot;
  EXPECT_THAT(*snapshot->pools[0].turns, ElementsAre(0, 1, 0));
  EXPECT_THAT(*snapshot->pools[1].turns, ElementsAre(0));
  EXPECT_EQ(snapshot->pools[2].turns, nullptr);
  EXPECT_EQ(snapshot->pools[0].candidates, nullptr);
  EXPECT_EQ(snapshot->pools[0].members[0].line.weight, 2u);
  ASSERT_THAT(snapshot->services[0].routes, SizeIs(1));
  EXPECT_EQ(snapshot->services[0].routes[0].pool, 1u);

  services.vips[0].services[0].scheduler = config::Scheduler::least_connections;
  services.vips[0].services[0].split = {{"c", 5}};
  const auto other = planned(services, health({{"10.0.0.2", Health::down}})).snapshot;
  EXPECT_THAT(*other->pools[0].candidates, ElementsAre(0, 2));
  EXPECT_THAT(*other->pools[2].candidates, ElementsAre(0));
  EXPECT_EQ(other->services[0].split[0].weight, 5u);
}

// CONTRACT section 3.
TEST(Members, of_one_address_are_one_backend_with_the_larger_weight) {
  config::Services services;
  services.pools = {pool("web", {backend("10.0.0.1:80", 3), backend("10.0.0.1:443", 5),
                                 backend("10.0.0.1:80", 1), backend("10.0.0.2:80", 5)})};
  const tables::Pool web = planned(services).snapshot->pools[0];
  EXPECT_THAT(names(web), ElementsAre("10.0.0.1", "10.0.0.2:80"));
  EXPECT_EQ(web.members[0].weight, 5u);
  EXPECT_EQ(web.members[0].identity.port, 0);
  EXPECT_THAT(shares(web), ElementsAre(testing::Pair("10.0.0.1", testing::AnyOf(125, 126)),
                                       testing::Pair("10.0.0.2:80", testing::AnyOf(125, 126))));
}

TEST(Members, are_told_apart_by_port_in_nat) {
  config::Services services;
  services.pools = {pool("web", {backend("10.0.0.1:443"), backend("10.0.0.1:80"),
                                 backend("[2001:db8::1]:80"), backend("10.0.0.1:80", 9)})};
  services.pools[0].method = core::Method::nat;
  const tables::Pool web = planned(services).snapshot->pools[0];
  EXPECT_THAT(names(web), ElementsAre("10.0.0.1:80", "10.0.0.1:443", "[2001:db8::1]:80"));
  EXPECT_EQ(web.members[0].weight, 9u);
  EXPECT_EQ(web.members[1].identity.port, 443);
}

TEST(Members, are_draining_or_disabled_only_if_all_their_entries_are) {
  using config::BackendState;
  config::Services services;
  services.pools = {pool("web", {backend("10.0.0.1", 1, BackendState::draining),
                                 backend("10.0.0.1", 1, BackendState::active),
                                 backend("10.0.0.2", 1, BackendState::draining),
                                 backend("10.0.0.2", 7, BackendState::disabled),
                                 backend("10.0.0.3", 1, BackendState::disabled),
                                 backend("10.0.0.3", 1, BackendState::disabled)})};
  const tables::Pool web = planned(services).snapshot->pools[0];
  EXPECT_THAT(names(web), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_EQ(web.members[0].line.flags, new_and_known);
  EXPECT_EQ(web.members[1].line.flags, backend_flag::keeps_known);
  EXPECT_EQ(web.members[1].weight, 1u) << "a disabled entry is not there";
}

TEST(Members, are_up_if_one_of_their_entries_is) {
  config::Services services;
  services.pools = {pool("web", {backend("10.0.0.1:80"), backend("10.0.0.1:443")})};
  const auto flags_with = [&](Health first, Health second) {
    const auto of = health({{"10.0.0.1:80", first}, {"10.0.0.1:443", second}});
    return planned(services, of).snapshot->pools[0].members[0].line.flags;
  };
  EXPECT_EQ(flags_with(Health::down, Health::up), new_and_known);
  EXPECT_EQ(flags_with(Health::unknown, Health::down), new_and_known);
  EXPECT_EQ(flags_with(Health::down, Health::down), 0);
}

TEST(Members, of_included_pools_are_those_of_the_pool_and_their_own_check_counts) {
  config::Services services;
  services.pools = {
      pool("web", {backend("10.0.0.1")}), pool("a", {backend("10.0.0.2")}),
      pool("b", {backend("10.0.0.3"), backend("10.0.0.1", 4)}),
      pool("flat", {backend("10.0.0.3"), backend("10.0.0.2"), backend("10.0.0.1", 4)})};
  services.pools[0].include = {"a"};
  services.pools[1].include = {"b"};
  std::set<std::string> asked;
  const HealthOf of = [&](const config::Pool& pool, const config::Backend& backend) {
    asked.insert(pool.id + " " + config::to_text(backend.ip));
    return Health::up;
  };
  const auto pools = planned(services, of).snapshot->pools;
  EXPECT_THAT(names(pools[0]), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3"));
  EXPECT_EQ(pools[0].members[0].weight, 4u);
  EXPECT_EQ(*pools[0].table, *pools[3].table) << "as one that lists all of them";
  EXPECT_TRUE(asked.contains("b 10.0.0.3"));
  EXPECT_FALSE(asked.contains("web 10.0.0.3"));
}

TEST(Snapshot, says_what_the_configuration_says) {
  config::NodeConfig config = node();
  config.forwarder.hash_seed = 7;
  config.forwarder.connection_ttls.udp = config::Milliseconds(1'234);
  config::Services services;
  config::Vip web{"web", *config::parse_prefix("198.51.100.0/24"), config::Ping::drop, "", "", {}};
  config::Service service;
  service.port = 443;
  service.backend_pool = "b";
  web.services.push_back(service);
  config::Vip dns{"dns", *config::parse_prefix("2001:db8::53"), config::Ping::reply, "", "", {}};
  service.protocol = 17;
  service.port = 53;
  service.backend_pool = "a";
  service.affinity = config::Affinity::client_ip;
  dns.services.push_back(service);
  services.vips = {web, dns};
  services.pools = {pool("a", {backend("10.0.0.1")}), pool("b", {backend("10.0.0.2")})};
  const auto snapshot =
      plan({config,
            services,
            {},
            gateway,
            {*config::parse_address("10.1.1.1"), *config::parse_address("192.0.2.11")},
            17})
          .snapshot;
  EXPECT_EQ(snapshot->generation, 17u);
  EXPECT_EQ(snapshot->seed, flow_seeds(7));
  EXPECT_THAT(snapshot->ttl_ms, ElementsAre(0, 5'000, 60'000, 10'000, 1'234, 30'000));
  EXPECT_THAT(snapshot->own_v4, ElementsAre(config::parse_address("10.1.1.1")->bytes,
                                            config::parse_address("192.0.2.11")->bytes));
  EXPECT_THAT(snapshot->own_v6, ElementsAre(config::parse_address("2001:db8:f::11")->bytes));
  ASSERT_THAT(snapshot->vips, SizeIs(2));
  EXPECT_EQ(snapshot->vips[0].id, "web");
  EXPECT_EQ(snapshot->vips[0].prefix_length, 24);
  EXPECT_EQ(snapshot->vips[0].family, core::Family::v4);
  EXPECT_FALSE(snapshot->vips[0].answers_ping);
  EXPECT_EQ(snapshot->vips[1].address, config::parse_address("2001:db8::53")->bytes);
  EXPECT_EQ(snapshot->vips[1].prefix_length, 128);
  EXPECT_TRUE(snapshot->vips[1].answers_ping);
  ASSERT_THAT(snapshot->services, SizeIs(2));
  EXPECT_EQ(snapshot->services[0].vip, 0u);
  EXPECT_EQ(snapshot->services[0].protocol, 6);
  EXPECT_EQ(snapshot->services[0].port, 443);
  EXPECT_EQ(snapshot->services[0].pool, 1u);
  EXPECT_FALSE(snapshot->services[0].client_ip);
  EXPECT_EQ(snapshot->services[1].vip, 1u);
  EXPECT_EQ(snapshot->services[1].protocol, 17);
  EXPECT_EQ(snapshot->services[1].pool, 0u);
  EXPECT_TRUE(snapshot->services[1].client_ip);
}

TEST(Snapshot, of_nothing_is_empty) {
  const auto snapshot = planned({}).snapshot;
  EXPECT_THAT(snapshot->vips, IsEmpty());
  EXPECT_THAT(snapshot->pools, IsEmpty());
}

TEST(Snapshot, has_an_empty_table_for_a_pool_of_which_nobody_is_usable) {
  config::Services services;
  services.pools = {
      pool("web", {backend("10.0.0.1"), backend("10.0.0.2", 1, config::BackendState::draining)})};
  const auto snapshot = planned(services, health({{"10.0.0.1", Health::down}})).snapshot;
  ASSERT_TRUE(snapshot->pools[0].table);
  EXPECT_THAT(*snapshot->pools[0].table, IsEmpty());
}

}  // namespace
}  // namespace fairlead::controller
