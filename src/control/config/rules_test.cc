// SPDX-License-Identifier: MIT
#include "control/config/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/parse.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Rules, keep_nat_within_a_family) {
  const Mistake mistake{
      "",
      services_file(
          R"({"id": "v4", "address": "198.51.100.1", "services": [
                  {"protocol": "tcp", "port": 80, "backend_pool": ^"both"},
                  {"protocol": "tcp", "port": 81, "backend_pool": "four",
                   "split": [{"backend_pool": ^"both", "weight": 1}]}]},
                {"id": "v6", "address": "2001:db8::1", "services": [
                  {"protocol": "tcp", "port": 81, "backend_pool": "four",
                   "routes": [{"source": "::/0", "backend_pool": ^"both"}]}]})",
          R"({"id": "four", "method": "nat", "backends": [{"ip": "10.0.0.1", "port": 80}]},
             {"id": "both", "method": "nat", "backends": [{"ip": "2001:db8:b::1", "port": 80},
                                                          {"ip": "10.0.0.1", "port": 80}]})"),
      {"vips[0].services[0].backend_pool: pool \"both\" is of method nat and has an IPv6 backend "
       "in line 11 besides others, expected only IPv4 ones like the VIP",
       "vips[0].services[1].split[0].backend_pool: pool \"both\" is of method nat and has an IPv6 "
       "backend in line 11 besides others, expected only IPv4 ones like the VIP",
       "vips[1].services[0].routes[0].backend_pool: pool \"both\" is of method nat and has an "
       "IPv4 backend in line 12 besides others, expected only IPv6 ones like the VIP"}};
  const auto services = parse_services(marked(mistake.text).text, "f", node());
  ASSERT_FALSE(services);
  EXPECT_EQ(formatted(services.error()), mistake.expected("f"));
}

TEST(Rules, need_the_node_address_of_the_family_of_their_tunnels) {
  NodeConfig only_v4 = node(), only_v6 = node();
  only_v4.node.address6.reset();
  only_v6.node.address.reset();
  const std::string text = services_file("", R"({"id": "a", "method": "ipip", "backends": [
      {"ip": "10.0.0.1"}, {"ip": "2001:db8:b::1"}, {"ip": "2001:db8:b::2"}]},
      {"id": "b", "method": "nat", "backends": [{"ip": "2001:db8:b::3", "port": 80}]},
      {"id": "c", "method": "l2", "backends": [{"ip": "10.0.0.4"}, {"ip": "2001:db8:b::4"}]})");
  EXPECT_THAT(formatted(parse_services(text, "f", only_v4).error()),
              ElementsAre("f:5:34: pools[0].backends[1].ip: is an IPv6 backend but this node has "
                          "no IPv6 address, expected node.address6 in node.toml: the source of "
                          "packets to it"));
  EXPECT_THAT(formatted(parse_services(text, "f", only_v6).error()),
              ElementsAre("f:5:14: pools[0].backends[0].ip: is an IPv4 backend but this node has "
                          "no IPv4 address, expected node.address in node.toml: the source of "
                          "packets to it"));
  EXPECT_TRUE(parse_services(text, "f", node()));
}

TEST(Rules, need_the_node_address_of_the_family_of_their_snat) {
  NodeConfig with = node();
  with.node.address6.reset();
  const std::string text =
      services_file("", R"({"id": "a", "method": "nat", "snat": true, "backends": [
      {"ip": "2001:db8:b::1", "port": 80}]})");
  EXPECT_THAT(formatted(parse_services(text, "f", with).error()),
              ElementsAre(testing::HasSubstr("expected node.address6 in node.toml")));
}

// CONTRACT section 7. A file with one VIP of `vip` and one pool of `method` to a backend of `to`.
std::string one(std::string_view method, std::string_view vip, std::string_view to) {
  return services_file(
      R"({"id": "v", "address": ")" + std::string(vip) +
          R"(", "services": [{"protocol": "tcp", "port": 80, "backend_pool": "p"}]})",
      R"({"id": "p", "method": ")" + std::string(method) + R"(", "backends": [{"ip": ")" +
          std::string(to) + R"(", "port": 80}]})");
}

struct Smallest {
  std::string_view method, vip, to;
  uint32_t mtu;  // the smallest that is enough
};

class SmallestMtu : public testing::TestWithParam<Smallest> {};

TEST_P(SmallestMtu, must_leave_enough_inside_of_the_tunnel) {
  const auto& [method, vip, to, mtu] = GetParam();
  NodeConfig with = node();
  with.forwarder.network_mtu = mtu;
  EXPECT_TRUE(parse_services(one(method, vip, to), "f", with));
  with.forwarder.network_mtu = mtu - 1;
  const auto services = parse_services(one(method, vip, to), "f", with);
  ASSERT_FALSE(services);
  EXPECT_THAT(
      formatted(services.error()),
      ElementsAre(testing::AllOf(
          testing::StartsWith("f:2:"),
          testing::HasSubstr("vips[0].services[0].backend_pool: network_mtu = " +
                             std::to_string(mtu - 1) + " leaves "),
          testing::HasSubstr("expected at least " + std::to_string(mtu) + " in node.toml"))));
}

constexpr std::string_view v4 = "198.51.100.1", v6 = "2001:db8::1";
constexpr std::string_view to4 = "10.0.0.1", to6 = "2001:db8:b::1";

INSTANTIATE_TEST_SUITE_P(
    , SmallestMtu,
    testing::Values(Smallest{"gre", v4, to4, 600}, Smallest{"gre", v4, to6, 620},
                    Smallest{"gre", v6, to4, 1304}, Smallest{"gre", v6, to6, 1324},
                    Smallest{"ipip", v4, to4, 596}, Smallest{"ipip", v4, to6, 616},
                    Smallest{"ipip", v6, to4, 1300}, Smallest{"ipip", v6, to6, 1320},
                    Smallest{"gue", v4, to4, 608}, Smallest{"gue", v4, to6, 628},
                    Smallest{"gue", v6, to4, 1312}, Smallest{"gue", v6, to6, 1332},
                    Smallest{"l2", v4, to4, 576}, Smallest{"l2", v6, to4, 1280},
                    Smallest{"nat", v4, to4, 576}, Smallest{"nat", v6, to6, 1280}));

TEST(NetworkMtu, is_found_too_small_once_for_each_method_and_family) {
  NodeConfig with = node();
  with.forwarder.network_mtu = 1'000;
  const std::string text = services_file(R"(
    {"id": "a", "address": "2001:db8::1", "services": [
      {"protocol": "tcp", "port": 80, "backend_pool": "p"},
      {"protocol": "tcp", "port": 81, "backend_pool": "p"}]},
    {"id": "b", "address": "198.51.100.1", "services": [
      {"protocol": "tcp", "port": 80, "backend_pool": "p"}]})",
                                         R"({"id": "p", "backends": [{"ip": "10.0.0.1"}]})");
  EXPECT_THAT(formatted(parse_services(text, "f", with).error()),
              ElementsAre("f:4:55: vips[0].services[0].backend_pool: network_mtu = 1000 leaves "
                          "IPv6 packets of 976 bytes by gre to IPv4 backends (IPv6 needs 1280), "
                          "expected at least 1304 in node.toml"));
}

TEST(Rules, refuse_vips_that_clients_cannot_reach) {
  for (const auto& [address, words] : std::vector<std::pair<std::string, std::string>>{
           {"127.0.0.1", "of the kind loopback addresses (127.0.0.0/8)"},
           {"126.0.0.0/7", "which has loopback addresses (127.0.0.0/8)"},
           {"0.0.0.0/0", "which has addresses of no network (0.0.0.0/8)"},
           {"224.0.0.0/24", "which has multicast addresses (224.0.0.0/4)"},
           {"169.254.10.1", "of the kind link-local addresses (169.254.0.0/16)"},
           {"::1", "of the kind the loopback address (::1)"},
           {"fe80::1", "of the kind link-local addresses (fe80::/10)"},
           {"::ffff:10.0.0.1", "of the kind IPv4 addresses in IPv6 (::ffff:0:0/96)"}}) {
    const auto services = parse_services(
        services_file(R"({"id": "x", "address": ")" + address + R"(", "services": []})", ""), "f",
        node());
    ASSERT_FALSE(services) << address;
    EXPECT_THAT(formatted(services.error()), ElementsAre(testing::HasSubstr(words)));
  }
}

TEST(Rules, refuse_backends_whose_packets_would_come_back_to_the_node) {
  const std::string vips = R"({"id": "v", "address": "198.51.100.1", "services": []},
                              {"id": "p", "address": "203.0.113.0/24", "services": []})";
  for (const auto& [ip, words] : std::vector<std::pair<std::string, std::string>>{
           {"198.51.100.1", "an address of the VIP in line"},
           {"203.0.113.9", "an address of the VIP in line"},
           {"192.0.2.11", "the node's own address"},
           {"2001:db8:f::11", "the node's own address"},
           {"127.0.0.2", "of the kind loopback addresses"},
           {"fe80::7", "of the kind link-local addresses"}}) {
    const auto services = parse_services(
        services_file(vips, R"({"id": "w", "backends": [{"ip": ")" + ip + R"("}]})"), "f", node());
    ASSERT_FALSE(services) << ip;
    EXPECT_THAT(formatted(services.error()), ElementsAre(testing::HasSubstr(words)));
  }
}

TEST(Rules, have_at_most_16_prefix_lengths_of_a_family) {
  std::string vips;
  for (int length = 8; length < 8 + 16; length++) {
    const std::string id = std::to_string(length);
    vips += R"({"id": "a)" + id + R"(", "address": "128.0.0.0/)" + id + R"(", "services": []},)";
    vips += R"({"id": "b)" + id + R"(", "address": "2000::/)" + id + R"(", "services": []},)";
    vips += R"({"id": "c)" + id + R"(", "address": "198.51.100.)" + id + R"(", "services": []},)";
  }
  EXPECT_TRUE(parse_services(
      services_file(vips + R"({"id": "x", "address": "129.0.0.0/8", "services": []})", ""), "f",
      node()))
      << "single addresses do not count, and no length counts twice";
  const auto services = parse_services(
      services_file(vips + "\n" + R"({"id": "x", "address": "128.0.0.0/24", "services": []})", ""),
      "f", node());
  EXPECT_THAT(
      formatted(services.error()),
      ElementsAre("f:3:24: vips[48].address: is \"128.0.0.0/24\", prefix length 17 of IPv4, "
                  "expected at most 16 different ones"));
}

TEST(Rules, have_at_most_65535_backends_those_of_included_pools_counted_each_time) {
  std::string many = R"({"id": "many", "table_size": 65537, "backends": [)";
  for (int i = 0; i < 40'000; i++) {
    many += (i == 0 ? "" : ",") + std::string(R"({"ip": "10.)") + std::to_string(i / 65'536) + '.' +
            std::to_string(i / 256 % 256) + '.' + std::to_string(i % 256) + "\"}";
  }
  many += "]}";
  EXPECT_TRUE(parse_services(services_file("", many), "f", node()));
  const auto services = parse_services(
      services_file("", many + R"(, {"id": "more", "include": ["many"]})"), "f", node());
  ASSERT_FALSE(services);
  EXPECT_THAT(formatted(services.error()),
              ElementsAre(testing::EndsWith("pools[1]: makes 80000 backends of pools, expected at "
                                            "most 65535 in all, those of included pools counted "
                                            "each time")));
}

TEST(Rules, have_no_more_slots_than_memory_can_bear) {
  std::string pools;
  for (int i = 0; i < 65; i++) {
    pools += (i == 0 ? "" : ",") + std::string(R"({"id": "p)") + std::to_string(i) +
             R"(", "backends": [{"ip": "10.0.0.1"}], "table_size": 1048573})";
  }
  const auto services = parse_services(services_file("", pools), "f", node());
  EXPECT_THAT(formatted(services.error()),
              ElementsAre(testing::EndsWith("pools[64].table_size: makes 68157245 slots, expected "
                                            "at most 67108864 in all pools; 100 for each backend "
                                            "are plenty")));
}

TEST(Rules, name_a_long_cycle_in_short) {
  std::string pools;
  for (int i = 0; i < 20; i++) {
    pools += (i == 0 ? "" : ",") + std::string(R"({"id": "p)") + std::to_string(i) +
             R"(", "backends": [{"ip": "10.0.0.1"}], "include": ["p)" +
             std::to_string((i + 1) % 20) + "\"]}";
  }
  const auto services = parse_services(services_file("", pools), "f", node());
  EXPECT_THAT(formatted(services.error()),
              ElementsAre(testing::HasSubstr(
                  "closes a cycle: p0 -> p1 -> p2 -> p3 -> p4 -> p5 -> p6 -> p7 -> p8 -> p9 -> p10 "
                  "-> p11 -> p12 -> p13 -> p14 -> p15 -> ... -> p0, expected pools")));
}

TEST(Rules, with_thousands_of_mistakes_are_answered_in_time) {
  std::string vips, pools;
  for (int i = 0; i < 16'000; i++) {
    const std::string n = std::to_string(i);
    vips += (i == 0 ? "" : ",") + std::string(R"({"id": "vip-)") + n +
            R"(", "address": "nowhere", "services": [{"protocol": "tcp", "port": 80,
                "backend_pool": "no-such-pool-)" +
            n + "\"}]}";
    pools += (i == 0 ? "" : ",") + std::string(R"({"id": "pool-)") + n +
             R"(", "include": ["pool-)" + std::to_string((i + 1) % 16'000) + "\"]}";
  }
  const auto services = parse_services(services_file(vips, pools), "f", node());
  ASSERT_FALSE(services);
  EXPECT_THAT(services.error(), SizeIs(1'001));
  EXPECT_THAT(services.error().back().message, testing::StartsWith("and "));
}

}  // namespace
}  // namespace fairlead::config
