// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/address.h"
#include "control/config/parse.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

NodeConfig parsed(std::string_view text) {
  const auto config = parse_node(text, "node.toml");
  if (!config) {
    ADD_FAILURE() << testing::PrintToString(formatted(config.error()));
    return {};
  }
  return *config;
}

constexpr std::string_view smallest = R"([node]
id = "lb-1"
address = "192.0.2.11"
[forwarder]
interface = "eth0"
)";

TEST(Node, has_the_documented_defaults) {
  const NodeConfig config = parsed(smallest);
  EXPECT_EQ(config.node.id, "lb-1");
  EXPECT_EQ(config.node.address, parse_address("192.0.2.11"));
  EXPECT_FALSE(config.node.address6);
  EXPECT_EQ(config.node.http, "127.0.0.1:9100");
  EXPECT_EQ(config.node.http_token_file, "");
  EXPECT_EQ(config.node.state_dir, "/var/lib/fairlead");
  EXPECT_EQ(config.control_plane.services, "/etc/fairlead/services.json");
  EXPECT_EQ(config.forwarder.interface, "eth0");
  EXPECT_EQ(config.forwarder.engine, EngineKind::xdp);
  EXPECT_EQ(config.forwarder.xdp_mode, XdpMode::automatic);
  EXPECT_EQ(config.forwarder.layout, Layout::run_to_completion);
  EXPECT_EQ(config.forwarder.num_threads, 0u);
  EXPECT_THAT(config.forwarder.cpu_affinity, IsEmpty());
  EXPECT_EQ(config.forwarder.connection_table_size, 131'072u);
  EXPECT_EQ(config.forwarder.fragment_table_size, 8'192u);
  EXPECT_EQ(config.forwarder.fragment_ttl, Milliseconds(10'000));
  EXPECT_EQ(config.forwarder.batch_size, 64u);
  EXPECT_EQ(config.forwarder.network_mtu, 1'500u);
  EXPECT_EQ(config.forwarder.icmp_rate_limit, 100u);
  EXPECT_EQ(config.forwarder.hash_seed, 0x5eedu);
  EXPECT_FALSE(config.forwarder.gateway_mac);
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_handshake, Milliseconds(5'000));
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_established, Milliseconds(60'000));
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_closing, Milliseconds(10'000));
  EXPECT_EQ(config.forwarder.connection_ttls.udp, Milliseconds(30'000));
  EXPECT_EQ(config.forwarder.connection_ttls.other, Milliseconds(30'000));
  EXPECT_EQ(config.health_check_defaults.interval, Milliseconds(5'000));
  EXPECT_EQ(config.health_check_defaults.timeout, Milliseconds(2'000));
  EXPECT_EQ(config.health_check_defaults.healthy_threshold, 2u);
  EXPECT_EQ(config.health_check_defaults.unhealthy_threshold, 3u);
  EXPECT_FALSE(config.bgp);
}

TEST(Node, keeps_every_key_that_is_given) {
  const NodeConfig config = parsed(R"(
[node]
id = "lb-node-01"
address = "192.0.2.11"
address6 = "2001:db8:f::11"
http = "/run/fairlead.sock"
http_token_file = "/etc/fairlead/token"
state_dir = "/srv/fairlead"
[control_plane]
services = "fleet.json"
[forwarder]
interface = "ens3f0np0"
engine = "user"
xdp_mode = "generic"
layout = "pipeline"
num_threads = 3
cpu_affinity = [2, 0, 4]
connection_table_size = 256
fragment_table_size = 1024
fragment_ttl = "1500ms"
batch_size = 32
network_mtu = 9000
icmp_rate_limit = 0
hash_seed = "0xFFFFFFFFffffffff"
gateway_mac = "02:00:00:00:00:01"
[forwarder.connection_ttls]
tcp_handshake = "100ms"
tcp_established = "1h"
tcp_closing = "2m"
udp = "1m30s"
other = "24h"
[health_check_defaults]
interval = "1s"
timeout = "500ms"
healthy_threshold = 1
unhealthy_threshold = 100
[bgp]
local_asn = 4294967295
router_id = "192.0.2.11"
communities = ["65000:100", "65000:1:4294967295"]
[[bgp.peers]]
peer_ip = "192.0.2.254"
peer_asn = 65001
[[bgp.peers]]
peer_ip = "2001:db8::fe"
peer_asn = 65002
port = 1790
hold_time = "9s"
md5_password_file = "/etc/fairlead/md5"
communities = ["65000:7"]
med = 0
passive = true
ttl_security = true
bfd = true
)");
  EXPECT_EQ(config.node.address6, parse_address("2001:db8:f::11"));
  EXPECT_EQ(config.node.http, "/run/fairlead.sock");
  EXPECT_EQ(config.node.http_token_file, "/etc/fairlead/token");
  EXPECT_EQ(config.node.state_dir, "/srv/fairlead");
  EXPECT_EQ(config.control_plane.services, "fleet.json");
  EXPECT_EQ(config.forwarder.interface, "ens3f0np0");
  EXPECT_EQ(config.forwarder.engine, EngineKind::user);
  EXPECT_EQ(config.forwarder.xdp_mode, XdpMode::generic);
  EXPECT_EQ(config.forwarder.layout, Layout::pipeline);
  EXPECT_EQ(config.forwarder.num_threads, 3u);
  EXPECT_THAT(config.forwarder.cpu_affinity, ElementsAre(2, 0, 4));
  EXPECT_EQ(config.forwarder.connection_table_size, 256u);
  EXPECT_EQ(config.forwarder.fragment_table_size, 1'024u);
  EXPECT_EQ(config.forwarder.fragment_ttl, Milliseconds(1'500));
  EXPECT_EQ(config.forwarder.batch_size, 32u);
  EXPECT_EQ(config.forwarder.network_mtu, 9'000u);
  EXPECT_EQ(config.forwarder.icmp_rate_limit, 0u);
  EXPECT_EQ(config.forwarder.hash_seed, UINT64_MAX);
  EXPECT_EQ(config.forwarder.gateway_mac, (MacAddress{2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_handshake, Milliseconds(100));
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_established, Milliseconds(3'600'000));
  EXPECT_EQ(config.forwarder.connection_ttls.tcp_closing, Milliseconds(120'000));
  EXPECT_EQ(config.forwarder.connection_ttls.udp, Milliseconds(90'000));
  EXPECT_EQ(config.forwarder.connection_ttls.other, Milliseconds(86'400'000));
  EXPECT_EQ(config.health_check_defaults.interval, Milliseconds(1'000));
  EXPECT_EQ(config.health_check_defaults.timeout, Milliseconds(500));
  EXPECT_EQ(config.health_check_defaults.healthy_threshold, 1u);
  EXPECT_EQ(config.health_check_defaults.unhealthy_threshold, 100u);
  ASSERT_TRUE(config.bgp);
  EXPECT_EQ(config.bgp->local_asn, UINT32_MAX);
  EXPECT_EQ(config.bgp->router_id, parse_address("192.0.2.11"));
  EXPECT_THAT(config.bgp->communities, ElementsAre("65000:100", "65000:1:4294967295"));
  ASSERT_EQ(config.bgp->peers.size(), 2u);
  const BgpPeer& plain = config.bgp->peers[0];
  EXPECT_EQ(plain.peer_asn, 65'001u);
  EXPECT_EQ(plain.port, 179);
  EXPECT_EQ(plain.hold_time, Milliseconds(90'000));
  EXPECT_FALSE(plain.med);
  const BgpPeer& full = config.bgp->peers[1];
  EXPECT_EQ(full.peer_ip, parse_address("2001:db8::fe"));
  EXPECT_EQ(full.port, 1'790);
  EXPECT_EQ(full.hold_time, Milliseconds(9'000));
  EXPECT_EQ(full.md5_password_file, "/etc/fairlead/md5");
  EXPECT_THAT(full.communities, ElementsAre("65000:7"));
  EXPECT_EQ(full.med, 0u);
  EXPECT_TRUE(full.passive && full.ttl_security && full.bfd);
}

TEST(Node, may_have_an_IPv6_address_alone) {
  const NodeConfig config = parsed(R"([node]
id = "lb-1"
address6 = "2001:db8::1"
[forwarder]
interface = "eth0"
)");
  EXPECT_FALSE(config.node.address);
}

TEST(Node, takes_a_hash_seed_that_is_a_number) {
  EXPECT_EQ(parsed(std::string(smallest) + "hash_seed = 0xbeef\n").forwarder.hash_seed, 0xbeefu);
}

class BrokenNode : public testing::TestWithParam<Mistake> {};

TEST_P(BrokenNode, has_each_problem_at_its_place) {
  const auto config = parse_node(marked(GetParam().text).text, "node.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(formatted(config.error()), GetParam().expected("node.toml"));
}

Mistake forwarder(std::string sentence, std::string_view line, std::string problem) {
  return {std::move(sentence),
          std::string(smallest) + std::string(line),
          {"forwarder." + std::move(problem)}};
}

INSTANTIATE_TEST_SUITE_P(
    whole, BrokenNode,
    testing::Values(
        Mistake{"an empty file",
                "^^",
                {"node: missing, expected a table", "forwarder: missing, expected a table"}},
        Mistake{"empty tables",
                "^^[node]\n^[forwarder]\n",
                {"node.id: missing, expected a name of letters, digits and . _ - :",
                 "node.address: missing, expected address or address6, the source of tunnels",
                 "forwarder.interface: missing, expected the name of a network interface"}},
        Mistake{"values of another type",
                "node = ^1\nforwarder = ^[]\nbgp = ^true",
                {"node: is 1, expected a table", "forwarder: is an empty list, expected a table",
                 "bgp: is true, expected a table"}},
        Mistake{"unknown keys with the nearest known one",
                "[node]\nid = \"a\"\naddress = \"192.0.2.1\"\n^adress6 = \"::1\"\n"
                "[forwarder]\ninterface = \"eth0\"\n^conection_table_size = 1\n^zzz = 1\n"
                "[^foward]\n",
                {"node.adress6: unknown key, did you mean \"address6\"?",
                 "forwarder.conection_table_size: unknown key, did you mean "
                 "\"connection_table_size\"?",
                 "forwarder.zzz: unknown key, expected one of \"interface\", \"engine\", "
                 "\"xdp_mode\", \"layout\", \"num_threads\", \"cpu_affinity\", "
                 "\"connection_table_size\", \"fragment_table_size\", \"fragment_ttl\", "
                 "\"batch_size\", \"network_mtu\", \"icmp_rate_limit\", \"hash_seed\", "
                 "\"gateway_mac\", \"connection_ttls\"",
                 "foward: unknown key, did you mean \"forwarder\"?"}},
        Mistake{"names and addresses that are none",
                "[node]\nid = ^\"\"\naddress = ^\"2001:db8::1\"\naddress6 = ^\"192.0.2.1\"\n"
                "http = ^\"9100\"\nhttp_token_file = ^\"\"\nstate_dir = ^7\n"
                "[control_plane]\nservices = ^[\"a\"]\n"
                "[forwarder]\ninterface = ^\"a-name-too-long-for-linux\"\n",
                {"node.id: is \"\", expected a name of letters, digits and . _ - :",
                 "node.address: is \"2001:db8::1\", expected an IPv4 address such as "
                 "\"192.0.2.1\"",
                 "node.address6: is \"192.0.2.1\", expected an IPv6 address such as "
                 "\"2001:db8::1\"",
                 "node.http: is \"9100\", expected ADDRESS:PORT such as \"127.0.0.1:9100\", or the "
                 "path of a unix socket, from / on, of at most 107 bytes",
                 "node.http_token_file: is \"\", expected a path",
                 "node.state_dir: is 7, expected a path",
                 "control_plane.services: is a list, expected a path",
                 "forwarder.interface: has 25 bytes, expected the name of a network interface of "
                 "at most 15"}},
        Mistake{"an address that no host has",
                "[node]\nid = \"a\"\naddress = ^\"224.0.0.1\"\n[forwarder]\ninterface = \"eth0\"\n",
                {"node.address: is \"224.0.0.1\", expected an address that one host has"}},
        Mistake{"health check defaults out of range",
                std::string(smallest) +
                    "[health_check_defaults]\ninterval = ^\"1ms\"\ntimeout = ^5\n"
                    "healthy_threshold = ^0\nunhealthy_threshold = ^1.5\n^type = \"tcp\"\n",
                {"health_check_defaults.interval: is \"1ms\", expected a duration such as \"5s\" "
                 "or \"100ms\" from 10ms to 1h",
                 "health_check_defaults.timeout: is 5, expected a duration such as \"5s\" or "
                 "\"100ms\" from 10ms to 1h",
                 "health_check_defaults.healthy_threshold: is 0, expected an integer from 1 to 100",
                 "health_check_defaults.unhealthy_threshold: is 1.5, expected an integer from 1 "
                 "to 100",
                 "health_check_defaults.type: unknown key, expected one of \"interval\", "
                 "\"timeout\", \"healthy_threshold\", \"unhealthy_threshold\""}},
        Mistake{"mistakes in BGP",
                std::string(smallest) +
                    "^[bgp]\nlocal_asn = ^0\ncommunities = [^\"65000\", \"1:2\", ^\"1:65536\", "
                    "^\"1:2:3:4\", ^\":\", ^7]\n"
                    "^[[bgp.peers]]\npeer_ip = \"192.0.2.1\"\nport = ^0\nhold_time = ^\"2s\"\n"
                    "med = ^-1\npassive = ^\"yes\"\n"
                    "[[bgp.peers]]\npeer_ip = ^\"192.0.2.1\"\npeer_asn = ^4294967296\n",
                {"bgp.router_id: missing, expected an IPv4 address such as \"192.0.2.1\"",
                 "bgp.local_asn: is 0, expected an integer from 1 to 4294967295",
                 "bgp.communities[0]: is \"65000\", expected a BGP community such as "
                 "\"65000:100\"",
                 "bgp.communities[2]: is \"1:65536\", expected a BGP community such as "
                 "\"65000:100\"",
                 "bgp.communities[3]: is \"1:2:3:4\", expected a BGP community such as "
                 "\"65000:100\"",
                 "bgp.communities[4]: is \":\", expected a BGP community such as \"65000:100\"",
                 "bgp.communities[5]: is 7, expected a BGP community such as \"65000:100\"",
                 "bgp.peers[0].peer_asn: missing, expected an integer from 1 to 4294967295",
                 "bgp.peers[0].port: is 0, expected an integer from 1 to 65535",
                 "bgp.peers[0].hold_time: is \"2s\", expected a duration such as \"5s\" or "
                 "\"100ms\" from 3s to 18h12m15s",
                 "bgp.peers[0].med: is -1, expected an integer from 0 to 4294967295",
                 "bgp.peers[0].passive: is \"yes\", expected true or false",
                 "bgp.peers[1].peer_ip: is \"192.0.2.1\" like bgp.peers[0], expected one entry "
                 "for each router",
                 "bgp.peers[1].peer_asn: is 4294967296, expected an integer from 1 to "
                 "4294967295"}},
        Mistake{"bytes that are not UTF 8",
                "[node]\nid = \"^\xff\"\n",
                {"byte 0xff is no text, expected UTF-8"}}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    forwarder, BrokenNode,
    testing::Values(
        forwarder("an engine that does not exist", "engine = ^\"xpd\"",
                  "engine: is \"xpd\", did you mean \"xdp\"?"),
        forwarder("an engine that is nothing like one", "engine = ^\"dpdk\"",
                  "engine: is \"dpdk\", expected one of \"xdp\", \"user\""),
        forwarder("a mode that is no string", "xdp_mode = ^1",
                  "xdp_mode: is 1, expected one of \"auto\", \"native\", \"generic\""),
        forwarder("a layout that does not exist", "layout = ^\"pipelines\"",
                  "layout: is \"pipelines\", did you mean \"pipeline\"?"),
        forwarder("too many threads", "num_threads = ^65",
                  "num_threads: is 65, expected an integer from 0 to 64"),
        forwarder("a core that cannot be", "cpu_affinity = [0, ^-1]",
                  "cpu_affinity[1]: is -1, expected an integer from 0 to 4095"),
        forwarder("a core listed twice", "cpu_affinity = [3, 0, ^3]",
                  "cpu_affinity[2]: core 3 is listed twice, expected each once"),
        forwarder("fewer cores than threads", "cpu_affinity = ^[3]\nnum_threads = 2",
                  "cpu_affinity: lists 1 cores, expected one for each of num_threads = 2"),
        forwarder("a table size that is no power of two", "connection_table_size = ^100000",
                  "connection_table_size: is 100000, expected a power of two: 65536 or 131072"),
        forwarder("a table that is too large", "connection_table_size = ^134217728",
                  "connection_table_size: is 134217728, expected a power of two from 64 to "
                  "67108864"),
        forwarder("a fragment table that is too small", "fragment_table_size = ^32",
                  "fragment_table_size: is 32, expected a power of two from 64 to 1048576"),
        forwarder("a duration without a unit", "fragment_ttl = ^\"10\"",
                  "fragment_ttl: is \"10\", expected a duration such as \"5s\" or \"100ms\" from "
                  "100ms to 24h"),
        forwarder("a duration finer than milliseconds", "fragment_ttl = ^\"100ms1us\"",
                  "fragment_ttl: is \"100ms1us\", expected a duration such as \"5s\" or "
                  "\"100ms\" from 100ms to 24h"),
        forwarder("a duration that is too short", "fragment_ttl = ^\"99ms\"",
                  "fragment_ttl: is \"99ms\", expected a duration such as \"5s\" or \"100ms\" "
                  "from 100ms to 24h"),
        forwarder("a batch of none", "batch_size = ^0",
                  "batch_size: is 0, expected an integer from 1 to 256"),
        forwarder("an MTU that IPv4 does not know", "network_mtu = ^575",
                  "network_mtu: is 575, expected an integer from 576 to 65535"),
        forwarder("an MTU in quotes", "network_mtu = ^\"1500\"",
                  "network_mtu: is \"1500\", expected an integer from 576 to 65535"),
        forwarder("a rate below zero", "icmp_rate_limit = ^-1",
                  "icmp_rate_limit: is -1, expected an integer from 0 to 1000000"),
        forwarder("a seed without 0x", "hash_seed = ^\"5eed\"",
                  "hash_seed: is \"5eed\", expected up to 16 hexadecimal digits such as "
                  "\"0x5eed\""),
        forwarder("a seed of more than 64 bits", "hash_seed = ^\"0x10000000000000000\"",
                  "hash_seed: is \"0x10000000000000000\", expected up to 16 hexadecimal digits "
                  "such as \"0x5eed\""),
        forwarder("a MAC address that is none", "gateway_mac = ^\"02:00:00:00:00\"",
                  "gateway_mac: is \"02:00:00:00:00\", expected the MAC address of a host such as "
                  "\"02:00:00:00:00:01\""),
        forwarder("a MAC address of a group", "gateway_mac = ^\"01:00:5e:00:00:01\"",
                  "gateway_mac: is \"01:00:5e:00:00:01\", expected the MAC address of a host such "
                  "as \"02:00:00:00:00:01\""),
        forwarder("an unknown TTL", "[forwarder.connection_ttls]\n^tcp_syn = \"5s\"",
                  "connection_ttls.tcp_syn: unknown key, expected one of \"tcp_handshake\", "
                  "\"tcp_established\", \"tcp_closing\", \"udp\", \"other\""),
        forwarder("a date", "fragment_ttl = ^1979-05-27",
                  "fragment_ttl: is a date or time, expected a duration such as \"5s\" or "
                  "\"100ms\" from 100ms to 24h")),
    test_name);

TEST(NodeKeys, are_listed_with_their_defaults) {
  const std::vector<KeyLine> keys = node_keys();
  EXPECT_THAT(keys, Contains(testing::AllOf(Field(&KeyLine::path, "forwarder.engine"),
                                            Field(&KeyLine::default_value, "\"xdp\""),
                                            Field(&KeyLine::type, "\"xdp\" | \"user\""),
                                            Field(&KeyLine::required, false))));
  EXPECT_THAT(keys, Contains(testing::AllOf(Field(&KeyLine::path, "node.id"),
                                            Field(&KeyLine::required, true),
                                            Field(&KeyLine::default_value, ""))));
  EXPECT_THAT(keys, Contains(Field(&KeyLine::path, "bgp.peers[].med")));
  for (const KeyLine& key : keys) EXPECT_NE(key.meaning, "") << key.path;
}

}  // namespace
}  // namespace fairlead::config
