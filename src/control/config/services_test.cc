// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/parse.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Services parsed(std::string_view text, const NodeConfig& with = node()) {
  const auto services = parse_services(text, "services.json", with);
  if (!services) {
    ADD_FAILURE() << testing::PrintToString(formatted(services.error()));
    return {};
  }
  return *services;
}

TEST(Services, have_the_documented_defaults) {
  const Services services = parsed(R"({
    "vips": [{"id": "web", "address": "198.51.100.10",
              "services": [{"protocol": "udp", "port": 53, "backend_pool": "web"}]}],
    "pools": [{"id": "web", "backends": [{"ip": "10.0.0.1"}]}]})");
  ASSERT_THAT(services.vips, SizeIs(1));
  const Vip& vip = services.vips[0];
  EXPECT_EQ(vip.id, "web");
  EXPECT_EQ(vip.address, parse_prefix("198.51.100.10/32"));
  EXPECT_EQ(vip.ping, Ping::reply);
  EXPECT_EQ(vip.owner, "");
  ASSERT_THAT(vip.services, SizeIs(1));
  const Service& service = vip.services[0];
  EXPECT_EQ(service.protocol, 17);
  EXPECT_EQ(service.port, 53);
  EXPECT_EQ(service.backend_pool, "web");
  EXPECT_EQ(service.scheduler, Scheduler::maglev);
  EXPECT_EQ(service.affinity, Affinity::flow);
  EXPECT_EQ(service.tracking, Tracking::all);
  EXPECT_THAT(service.routes, IsEmpty());
  EXPECT_THAT(service.split, IsEmpty());
  ASSERT_THAT(services.pools, SizeIs(1));
  const Pool& pool = services.pools[0];
  EXPECT_EQ(pool.id, "web");
  EXPECT_EQ(pool.method, core::Method::gre);
  EXPECT_EQ(pool.table_size, 65'537u);
  EXPECT_EQ(pool.table_seed, 0u);
  EXPECT_EQ(pool.fill, FillKind::lines);
  EXPECT_EQ(pool.on_down, OnDown::rebuild);
  EXPECT_EQ(pool.fail, Fail::closed);
  EXPECT_FALSE(pool.snat);
  EXPECT_THAT(pool.include, IsEmpty());
  ASSERT_THAT(pool.backends, SizeIs(1));
  EXPECT_EQ(pool.backends[0].ip, parse_address("10.0.0.1"));
  EXPECT_EQ(pool.backends[0].port, 0);
  EXPECT_EQ(pool.backends[0].weight, 1u);
  EXPECT_EQ(pool.backends[0].state, BackendState::active);
  EXPECT_EQ(pool.health_check.type, CheckType::tcp);
  EXPECT_EQ(pool.health_check.path, "/");
  EXPECT_THAT(pool.health_check.expect_status, ElementsAre(200));
  EXPECT_FALSE(pool.health_check.verify_tls);
}

TEST(Services, keep_every_key_that_is_given) {
  const Services services = parsed(R"({
    "vips": [{"id": "web", "address": "198.51.100.0/24", "ping": "drop", "owner": "web-team",
              "description": "ü", "services": [
                {"protocol": "tcp", "port": 443, "backend_pool": "web", "scheduler": "round_robin",
                 "affinity": "flow", "tracking": "all",
                 "routes": [{"source": "203.0.113.0/24", "backend_pool": "canary"},
                            {"source": "2001:db8::/32", "backend_pool": "web"}],
                 "split": [{"backend_pool": "web", "weight": 95},
                           {"backend_pool": "canary", "weight": 0}]},
                {"protocol": "any", "port": 0, "backend_pool": "web", "affinity": "client_ip",
                 "tracking": "exceptions"}]}],
    "pools": [{"id": "web", "method": "nat", "table_size": 31, "table_seed": "0xff",
               "fill": "paper", "on_down": "skip", "fail": "open", "snat": true,
               "include": ["canary"],
               "backends": [{"ip": "10.0.0.1", "port": 8443, "weight": 0, "state": "draining"},
                            {"ip": "10.0.0.2", "port": 8443, "state": "disabled"}],
               "health_check": {"type": "https", "path": "/healthz?full=1",
                                "expect_status": [200, 204], "host": "web.example",
                                "verify_tls": true, "interval": "1s", "timeout": "300ms",
                                "healthy_threshold": 5, "unhealthy_threshold": 7}},
              {"id": "canary", "table_seed": 7, "backends": [{"ip": "10.0.0.3", "port": 443}],
               "health_check": {"type": "none"}}]})");
  const Vip& vip = services.vips.at(0);
  EXPECT_EQ(vip.address, parse_prefix("198.51.100.0/24"));
  EXPECT_EQ(vip.ping, Ping::drop);
  EXPECT_EQ(vip.owner, "web-team");
  EXPECT_EQ(vip.description, "ü");
  const Service& service = vip.services.at(0);
  EXPECT_EQ(service.scheduler, Scheduler::round_robin);
  EXPECT_EQ(service.affinity, Affinity::flow);
  ASSERT_THAT(service.routes, SizeIs(2));
  EXPECT_EQ(service.routes[0].source, parse_prefix("203.0.113.0/24"));
  EXPECT_EQ(service.routes[1].backend_pool, "web");
  ASSERT_THAT(service.split, SizeIs(2));
  EXPECT_EQ(service.split[0].weight, 95u);
  EXPECT_EQ(vip.services.at(1).protocol, 0);
  EXPECT_EQ(vip.services.at(1).affinity, Affinity::client_ip);
  EXPECT_EQ(vip.services.at(1).tracking, Tracking::exceptions);
  const Pool& pool = services.pools.at(0);
  EXPECT_EQ(pool.method, core::Method::nat);
  EXPECT_EQ(pool.table_size, 31u);
  EXPECT_EQ(pool.table_seed, 255u);
  EXPECT_EQ(pool.fill, FillKind::paper);
  EXPECT_EQ(pool.on_down, OnDown::skip);
  EXPECT_EQ(pool.fail, Fail::open);
  EXPECT_TRUE(pool.snat);
  EXPECT_THAT(pool.include, ElementsAre("canary"));
  EXPECT_EQ(pool.backends.at(0).port, 8'443);
  EXPECT_EQ(pool.backends.at(0).weight, 0u);
  EXPECT_EQ(pool.backends.at(0).state, BackendState::draining);
  EXPECT_EQ(pool.backends.at(1).state, BackendState::disabled);
  EXPECT_EQ(pool.health_check.type, CheckType::https);
  EXPECT_EQ(pool.health_check.path, "/healthz?full=1");
  EXPECT_THAT(pool.health_check.expect_status, ElementsAre(200, 204));
  EXPECT_EQ(pool.health_check.host, "web.example");
  EXPECT_TRUE(pool.health_check.verify_tls);
  EXPECT_EQ(pool.health_check.interval, Milliseconds(1'000));
  EXPECT_EQ(pool.health_check.timeout, Milliseconds(300));
  EXPECT_EQ(pool.health_check.healthy_threshold, 5u);
  EXPECT_EQ(pool.health_check.unhealthy_threshold, 7u);
  EXPECT_EQ(services.pools.at(1).table_seed, 7u);
}

TEST(Services, may_be_none_yet) {
  EXPECT_THAT(parsed(R"({"vips": [], "pools": []})").vips, IsEmpty());
}

TEST(Services, take_what_the_health_check_does_not_say_from_the_node) {
  NodeConfig with = node();
  with.health_check_defaults.interval = Milliseconds(700);
  with.health_check_defaults.timeout = Milliseconds(70);
  with.health_check_defaults.healthy_threshold = 7;
  with.health_check_defaults.unhealthy_threshold = 8;
  const Services services = parsed(R"({"vips": [], "pools": [
    {"id": "a", "backends": [{"ip": "10.0.0.1"}]},
    {"id": "b", "backends": [{"ip": "10.0.0.1"}],
     "health_check": {"interval": "5s", "unhealthy_threshold": 3}}]})",
                                   with);
  const HealthCheck& a = services.pools.at(0).health_check;
  EXPECT_EQ(a.interval, Milliseconds(700));
  EXPECT_EQ(a.timeout, Milliseconds(70));
  EXPECT_EQ(a.healthy_threshold, 7u);
  EXPECT_EQ(a.unhealthy_threshold, 8u);
  const HealthCheck& b = services.pools.at(1).health_check;
  EXPECT_EQ(b.interval, Milliseconds(5'000)) << "given, though it is what the model says";
  EXPECT_EQ(b.timeout, Milliseconds(70));
  EXPECT_EQ(b.healthy_threshold, 7u);
  EXPECT_EQ(b.unhealthy_threshold, 3u);
}

class BrokenServices : public testing::TestWithParam<Mistake> {};

TEST_P(BrokenServices, have_each_problem_at_its_place) {
  const auto services = parse_services(marked(GetParam().text).text, "services.json", node());
  ASSERT_FALSE(services);
  EXPECT_EQ(formatted(services.error()), GetParam().expected("services.json"));
}

INSTANTIATE_TEST_SUITE_P(
    whole, BrokenServices,
    testing::Values(
        Mistake{"an empty object",
                "^^{}",
                {"vips: missing, expected a list of at most 65535, each a table",
                 "pools: missing, expected a list of at most 16384, each a table"}},
        Mistake{"lists that are none",
                R"({"vips": ^{}, "pools": ^null})",
                {"vips: is a table, expected a list of at most 65535, each a table",
                 "pools: is null, expected a list of at most 16384, each a table"}},
        Mistake{"elements that are no tables",
                R"({"vips": [^1], "pools": [^"web", {"id": "a", "backends": [^[]]}]})",
                {"vips[0]: is 1, expected a table", "pools[0]: is \"web\", expected a table",
                 "pools[1].backends[0]: is an empty list, expected a table"}},
        Mistake{"what is missing everywhere",
                R"({"vips": [^^^{}, {"id": "v", "address": "198.51.100.1", "services": [^^^{}]}],
                    "pools": [^{"backends": [^{}]}]})",
                {"vips[0].id: missing, expected a name of letters, digits and . _ - :",
                 "vips[0].address: missing, expected an address or a prefix such as "
                 "\"198.51.100.0/24\"",
                 "vips[0].services: missing, expected a list, each a table",
                 "vips[1].services[0].protocol: missing, expected \"tcp\" | \"udp\" | \"any\"",
                 "vips[1].services[0].port: missing, expected an integer from 0 to 65535",
                 "vips[1].services[0].backend_pool: missing, expected a name of letters, digits "
                 "and . _ - :",
                 "pools[0].id: missing, expected a name of letters, digits and . _ - :",
                 "pools[0].backends[0].ip: missing, expected an IPv4 or IPv6 address"}},
        Mistake{"bytes that are not UTF 8",
                "{\"vips\": [\n\"^\xc3\"]}",
                {"byte 0xc3 is no text, expected UTF-8"}},
        Mistake{"text that is not JSON", "^vips: []", {"not JSON: invalid literal"}}),
    test_name);

constexpr std::string_view web = R"({"id": "web", "backends": [{"ip": "10.0.0.1"}]})";

Mistake in_vips(std::string sentence, std::string_view vips, std::vector<std::string> problems) {
  return {std::move(sentence), services_file(vips, web), std::move(problems)};
}

// A service of the only VIP.
Mistake in_service(std::string sentence, std::string_view service,
                   std::vector<std::string> problems) {
  for (std::string& problem : problems) problem = "vips[0].services[0]." + problem;
  return {std::move(sentence),
          services_file(R"({"id": "a", "address": "198.51.100.1", "services": [)" +
                            std::string(service) + "]}",
                        web),
          std::move(problems)};
}

Mistake in_pools(std::string sentence, std::string_view pools, std::vector<std::string> problems) {
  return {std::move(sentence), services_file("", pools), std::move(problems)};
}

INSTANTIATE_TEST_SUITE_P(
    vips, BrokenServices,
    testing::Values(
        in_vips("unknown keys",
                R"({"id": "a", "address": "198.51.100.1", ^"service": [], "services": [],
                    ^"pings": "reply"})",
                {"vips[0].service: unknown key, did you mean \"services\"?",
                 "vips[0].pings: unknown key, did you mean \"ping\"?"}),
        in_vips("ids that cannot be",
                R"({"id": ^"", "address": "198.51.100.1", "services": []},
                   {"id": ^"a b", "address": "198.51.100.2", "services": []},
                   {"id": ^7, "address": "198.51.100.3", "services": []})",
                {"vips[0].id: is \"\", expected a name of letters, digits and . _ - :",
                 "vips[1].id: is \"a b\", expected a name of letters, digits and . _ - :",
                 "vips[2].id: is 7, expected a name of letters, digits and . _ - :"}),
        in_vips("an id given twice",
                R"({"id": "a", "address": "198.51.100.1", "services": []},
                   {"id": ^"a", "address": "198.51.100.2", "services": []})",
                {"vips[1].id: is \"a\" like vips[0] in line 2, expected an id of its own"}),
        in_vips("an address given twice",
                R"({"id": "a", "address": "2001:db8::1", "services": []},
                   {"id": "b", "address": ^"2001:DB8:0::1/128", "services": []})",
                {"vips[1].address: is \"2001:db8::1\" like that of vips[0] in line 2, expected one "
                 "VIP for each address, with all its services"}),
        in_vips("addresses that are none",
                R"({"id": "a", "address": ^"198.51.100", "services": []},
                   {"id": "b", "address": ^"198.51.100.10/24", "services": []},
                   {"id": "c", "address": ^"2001:db8::1/64", "services": []},
                   {"id": "d", "address": ^"0.0.0.0", "services": []},
                   {"id": "e", "address": ^"10.0.0.0/33", "services": []})",
                {"vips[0].address: is \"198.51.100\", expected an address or a prefix such as "
                 "\"198.51.100.0/24\"",
                 "vips[1].address: is \"198.51.100.10/24\" with bits set behind the prefix, "
                 "expected \"198.51.100.0/24\" or one address",
                 "vips[2].address: is \"2001:db8::1/64\" with bits set behind the prefix, expected "
                 "\"2001:db8::/64\" or one address",
                 "vips[3].address: is \"0.0.0.0\", expected an address that one host has",
                 "vips[4].address: is \"10.0.0.0/33\", expected an address or a prefix such as "
                 "\"198.51.100.0/24\""}),
        in_vips("the addresses of the node",
                R"({"id": "a", "address": ^"192.0.2.11", "services": []},
                   {"id": "b", "address": ^"2001:db8:f::11", "services": []})",
                {"vips[0].address: is \"192.0.2.11\", the node's own address, expected one that "
                 "only clients use",
                 "vips[1].address: is \"2001:db8:f::11\", the node's own address, expected one "
                 "that only clients use"}),
        in_vips("a ping that is neither",
                R"({"id": "a", "address": "198.51.100.1", "services": [], "ping": ^"repyl"})",
                {"vips[0].ping: is \"repyl\", did you mean \"reply\"?"}),
        in_vips("a service given twice",
                R"({"id": "a", "address": "198.51.100.1", "services": [
                     {"protocol": "tcp", "port": 80, "backend_pool": "web"},
                     {"protocol": "udp", "port": 80, "backend_pool": "web"},
                    ^{"protocol": "tcp", "port": 80, "backend_pool": "web"}]})",
                {"vips[0].services[2]: is tcp/80 like services[0] in line 3, expected one service "
                 "for each protocol and port"})),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    service, BrokenServices,
    testing::Values(
        in_service("a protocol that is none",
                   R"({"protocol": ^"sctp", "port": 80, "backend_pool": "web"})",
                   {"protocol: is \"sctp\", expected one of \"tcp\", \"udp\", \"any\""}),
        in_service("ports out of range",
                   R"({"protocol": "tcp", "port": ^65536, "backend_pool": "web"})",
                   {"port: is 65536, expected an integer from 0 to 65535"}),
        in_service("a port in quotes",
                   R"({"protocol": "tcp", "port": ^"443", "backend_pool": "web"})",
                   {"port: is \"443\", expected an integer from 0 to 65535"}),
        in_service("a port with a fraction",
                   R"({"protocol": "tcp", "port": ^443.5, "backend_pool": "web"})",
                   {"port: is 443.5, expected an integer from 0 to 65535"}),
        in_service("a port of any protocol",
                   R"({"protocol": "any", "port": ^80, "backend_pool": "web"})",
                   {"port: is 80, expected 0: protocol any has no ports"}),
        in_service("exceptions without maglev",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "tracking": ^"exceptions", "scheduler": "least_connections"})",
                   {"tracking: is \"exceptions\" with scheduler least_connections, expected "
                    "\"all\": only maglev says where a flow is without a record"}),
        in_service("affinity without maglev",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "affinity": ^"client_ip", "scheduler": "round_robin"})",
                   {"affinity: is \"client_ip\" with scheduler round_robin, expected \"flow\": "
                    "only maglev gives all flows of a client to one backend"}),
        in_service("a pool with a typing mistake",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": ^"wbe"})",
                   {"backend_pool: there is no pool \"wbe\", did you mean \"web\"?"}),
        in_service("pools that do not exist in routes and split",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "routes": [{"source": "203.0.113.0/24", "backend_pool": "web"},
                                  {"source": "203.0.0.0/16", "backend_pool": ^"canary"}],
                       "split": [{"backend_pool": ^"webb", "weight": 1}]})",
                   {"routes[1].backend_pool: there is no pool \"canary\", expected \"web\"",
                    "split[0].backend_pool: there is no pool \"webb\", did you mean \"web\"?"}),
        in_service("a route from a host with a mask",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "routes": [{"source": ^"203.0.113.7/24", "backend_pool": "web"},
                                  ^{"source": "203.0.113.0/24"}]})",
                   {"routes[0].source: is \"203.0.113.7/24\" with bits set behind the prefix, "
                    "expected \"203.0.113.0/24\" or one address",
                    "routes[1].backend_pool: missing, expected a name of letters, digits and . _ "
                    "- :"}),
        in_service("more branches than one service can have",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "split": ^[)" +
                       [] {
                         std::string shares = R"({"backend_pool": "web", "weight": 1})";
                         for (int i = 1; i < 64; i++)
                           shares += R"(, {"backend_pool": "web", "weight": 1})";
                         return shares;
                       }() +
                       "]}",
                   {"split: makes 64 branches of the service together with its routes, expected "
                    "at most 63"}),
        in_service("a split by which nothing flows",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "split": ^[{"backend_pool": "web", "weight": 0}]})",
                   {"split: has only branches of weight 0, expected one that takes flows"}),
        in_service("weights out of range",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "split": [{"backend_pool": "web", "weight": ^65536},
                                 {"backend_pool": "web", "weight": ^-1},
                                 ^{"backend_pool": "web"}]})",
                   {"split[0].weight: is 65536, expected an integer from 0 to 65535",
                    "split[1].weight: is -1, expected an integer from 0 to 65535",
                    "split[2].weight: missing, expected an integer from 0 to 65535"}),
        in_service("words that are none",
                   R"({"protocol": "tcp", "port": 80, "backend_pool": "web",
                       "scheduler": ^"maglve", "affinity": ^"client", "tracking": ^true})",
                   {"scheduler: is \"maglve\", did you mean \"maglev\"?",
                    "affinity: is \"client\", did you mean \"client_ip\"?",
                    "tracking: is true, expected one of \"all\", \"exceptions\""})),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    pools, BrokenServices,
    testing::Values(
        in_pools("an id given twice",
                 R"({"id": "web", "backends": [{"ip": "10.0.0.1"}]},
                    {"id": ^"web", "backends": [{"ip": "10.0.0.2"}]})",
                 {"pools[1].id: is \"web\" like pools[0] in line 4, expected an id of its own"}),
        in_pools("pools that are empty",
                 R"(^{"id": "a"}, {"id": "b", "backends": ^[]},
                    {"id": "c", "backends": ^[], "include": ["b"]})",
                 {"pools[0].backends: no backends here nor in an included pool, expected at least "
                  "one",
                  "pools[1].backends: no backends here nor in an included pool, expected at least "
                  "one",
                  "pools[2].backends: no backends here nor in an included pool, expected at least "
                  "one"}),
        in_pools("a table size that is no prime",
                 R"({"id": "a", "table_size": ^65536, "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "b", "table_size": ^1048576, "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "c", "table_size": ^1, "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "d", "table_size": ^4, "backends": [{"ip": "10.0.0.1"}]})",
                 {"pools[0].table_size: is 65536, expected a prime; the nearest is 65537",
                  "pools[1].table_size: is 1048576, expected a prime from 2 to 1048573",
                  "pools[2].table_size: is 1, expected a prime from 2 to 1048573",
                  "pools[3].table_size: is 4, expected a prime; the nearest is 5"}),
        in_pools("a table with less slots than backends",
                 R"({"id": "a", "table_size": ^2, "include": ["b"],
                     "backends": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
                    {"id": "b", "table_size": 2, "backends": [{"ip": "10.0.0.3"}]})",
                 {"pools[0].table_size: is 2, less than the 3 backends, expected a slot for each, "
                  "better 100"}),
        in_pools("words that are none",
                 R"({"id": "a", "method": ^"gree", "fill": ^"line", "on_down": ^"rebuilt",
                     "fail": ^"close", "snat": ^1, "table_seed": ^"seed",
                     "backends": [{"ip": "10.0.0.1", "state": ^"drain"}]})",
                 {"pools[0].method: is \"gree\", did you mean \"gre\"?",
                  "pools[0].fill: is \"line\", did you mean \"lines\"?",
                  "pools[0].on_down: is \"rebuilt\", did you mean \"rebuild\"?",
                  "pools[0].fail: is \"close\", did you mean \"closed\"?",
                  "pools[0].snat: is 1, expected true or false",
                  "pools[0].table_seed: is \"seed\", expected up to 16 hexadecimal digits such as "
                  "\"0x5eed\"",
                  "pools[0].backends[0].state: is \"drain\", expected one of \"active\", "
                  "\"draining\", \"disabled\""}),
        in_pools("backends that cannot be",
                 R"({"id": "a", "backends": [{"ip": ^"10.0.0.300"}, {"ip": ^"255.255.255.255"},
                     {"ip": "10.0.0.1", "port": ^0, "weight": ^1.5, ^"wieght": 1}]})",
                 {"pools[0].backends[0].ip: is \"10.0.0.300\", expected an IPv4 or IPv6 address",
                  "pools[0].backends[1].ip: is \"255.255.255.255\", expected an address that one "
                  "host has",
                  "pools[0].backends[2].port: is 0, expected an integer from 1 to 65535",
                  "pools[0].backends[2].weight: is 1.5, expected an integer from 0 to 65535",
                  "pools[0].backends[2].wieght: unknown key, did you mean \"weight\"?"}),
        in_pools("backends without a port in nat",
                 R"({"id": "a", "method": "nat", "include": ["b"],
                     "backends": [^{"ip": "10.0.0.1"}, {"ip": "10.0.0.2", "port": 80}]},
                    {"id": "b", "backends": [^{"ip": "10.0.0.3"}]})",
                 {"pools[0].backends[0].port: missing, expected the port for method nat",
                  "pools[1].backends[0].port: missing, expected the port for method nat of pool "
                  "\"a\""}),
        in_pools("snat without nat",
                 R"({"id": "a", "snat": ^true, "backends": [{"ip": "10.0.0.1"}]})",
                 {"pools[0].snat: is true with method gre, expected method nat"}),
        in_pools("an include that does not exist",
                 R"({"id": "aa", "include": [^"ab"], "backends": [{"ip": "10.0.0.1"}]})",
                 {"pools[0].include[0]: there is no pool \"ab\", did you mean \"aa\"?"}),
        in_pools("pools that include each other",
                 R"({"id": "a", "include": ["b"], "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "b", "include": ["d", "c"], "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "c", "include": ["d", ^"a"], "backends": [{"ip": "10.0.0.1"}]},
                    {"id": "d", "include": [^"d"], "backends": [{"ip": "10.0.0.1"}]})",
                 {"pools[2].include[1]: closes a cycle: a -> b -> c -> a, expected pools that do "
                  "not include themselves",
                  "pools[3].include[0]: closes a cycle: d -> d, expected pools that do not include "
                  "themselves"}),
        in_pools(
            "health checks that cannot be",
            R"({"id": "a", "backends": [{"ip": "10.0.0.1"}], "health_check":
                     {"type": ^"htpp", "path": ^"healthz", "expect_status": ^[], "interval": ^"5",
                      "timeout": ^"5 s", "healthy_threshold": ^0, ^"intervall": "5s"}},
                    {"id": "b", "backends": [{"ip": "10.0.0.1"}], "health_check":
                     {"expect_status": [200, ^99], "path": ^"/a b", "unhealthy_threshold": ^101,
                      "host": ^"a\r\nX: b"}})",
            {"pools[0].health_check.type: is \"htpp\", did you mean \"http\"?",
             "pools[0].health_check.path: is \"healthz\", expected a path that begins with /",
             "pools[0].health_check.expect_status: is an empty list, expected a list that is "
             "not empty, each an integer from 100 to 599",
             "pools[0].health_check.interval: is \"5\", expected a duration such as \"5s\" or "
             "\"100ms\" from 10ms to 1h",
             "pools[0].health_check.timeout: is \"5 s\", expected a duration such as \"5s\" "
             "or \"100ms\" from 10ms to 1h",
             "pools[0].health_check.healthy_threshold: is 0, expected an integer from 1 to "
             "100",
             "pools[0].health_check.intervall: unknown key, did you mean \"interval\"?",
             "pools[1].health_check.expect_status[1]: is 99, expected an integer from 100 to "
             "599",
             "pools[1].health_check.path: is \"/a b\", expected a path that begins with /",
             "pools[1].health_check.unhealthy_threshold: is 101, expected an integer from 1 "
             "to 100",
             "pools[1].health_check.host: is \"a\\u000d\\u000aX: b\", expected a host name such as "
             "\"web.example\""})),
    test_name);

TEST(ServicesKeys, are_listed_with_their_defaults) {
  const std::vector<KeyLine> keys = services_keys();
  const auto find = [&](std::string_view path) {
    const auto found = std::ranges::find(keys, path, &KeyLine::path);
    EXPECT_NE(found, keys.end()) << path;
    return found == keys.end() ? KeyLine{} : *found;
  };
  EXPECT_EQ(find("pools[].table_size").default_value, "65537");
  EXPECT_EQ(find("pools[].backends[].port").default_value, "");
  EXPECT_EQ(find("vips[].services[].protocol").default_value, "");
  EXPECT_TRUE(find("vips[].services[].protocol").required);
  EXPECT_EQ(find("pools[].health_check.interval").default_value, "\"5s\"");
  for (const KeyLine& key : keys) EXPECT_NE(key.meaning, "") << key.path;
}

}  // namespace
}  // namespace fairlead::config
