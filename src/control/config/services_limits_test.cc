// SPDX-License-Identifier: MIT
// How much a services.json may hold, and that too much of it is answered in short and in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/address.h"
#include "control/config/parse.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

NodeConfig node() {
  NodeConfig node;
  node.node.id = "lb-1";
  node.node.address = parse_address("192.0.2.11");
  node.node.address6 = parse_address("2001:db8:f::11");
  node.forwarder.interface = "eth0";
  return node;
}

std::string file(std::string_view vips, std::string_view pools) {
  return "{\"vips\": [\n" + std::string(vips) + "],\n\"pools\": [\n" + std::string(pools) + "]}";
}

TEST(ServicesLimits, have_at_most_16_prefix_lengths_of_a_family) {
  std::string vips;
  for (int length = 8; length < 8 + 16; length++) {
    const std::string id = std::to_string(length);
    vips += R"({"id": "a)" + id + R"(", "address": "0.0.0.0/)" + id + R"(", "services": []},)";
    vips += R"({"id": "b)" + id + R"(", "address": "::/)" + id + R"(", "services": []},)";
    vips += R"({"id": "c)" + id + R"(", "address": "198.51.100.)" + id + R"(", "services": []},)";
  }
  EXPECT_TRUE(parse_services(
      file(vips + R"({"id": "x", "address": "128.0.0.0/8", "services": []})", ""), "f", node()))
      << "single addresses do not count, and no length counts twice";
  const auto services = parse_services(
      file(vips + "\n" + R"({"id": "x", "address": "0.0.0.0/24", "services": []})", ""), "f",
      node());
  EXPECT_THAT(formatted(services.error()),
              ElementsAre("f:3:24: vips[48].address: is \"0.0.0.0/24\", prefix length 17 of IPv4, "
                          "expected at most 16 different ones"));
}

TEST(ServicesLimits, have_at_most_65535_backends_those_of_included_pools_counted_each_time) {
  std::string many = R"({"id": "many", "table_size": 65537, "backends": [)";
  for (int i = 0; i < 40'000; i++) {
    many += (i == 0 ? "" : ",") + std::string(R"({"ip": "10.)") + std::to_string(i / 65'536) + '.' +
            std::to_string(i / 256 % 256) + '.' + std::to_string(i % 256) + "\"}";
  }
  many += "]}";
  EXPECT_TRUE(parse_services(file("", many), "f", node()));
  const auto services =
      parse_services(file("", many + R"(, {"id": "more", "include": ["many"]})"), "f", node());
  ASSERT_FALSE(services);
  EXPECT_THAT(formatted(services.error()),
              ElementsAre(testing::EndsWith("pools[1]: makes 80000 backends of pools, expected at "
                                            "most 65535 in all, those of included pools counted "
                                            "each time")));
}

TEST(ServicesLimits, name_a_long_cycle_in_short) {
  std::string pools;
  for (int i = 0; i < 20; i++) {
    pools += (i == 0 ? "" : ",") + std::string(R"({"id": "p)") + std::to_string(i) +
             R"(", "backends": [{"ip": "10.0.0.1"}], "include": ["p)" +
             std::to_string((i + 1) % 20) + "\"]}";
  }
  const auto services = parse_services(file("", pools), "f", node());
  EXPECT_THAT(formatted(services.error()),
              ElementsAre(testing::HasSubstr(
                  "closes a cycle: p0 -> p1 -> p2 -> p3 -> p4 -> p5 -> p6 -> p7 -> p8 -> p9 -> p10 "
                  "-> p11 -> p12 -> p13 -> p14 -> p15 -> ... -> p0, expected pools")));
}

TEST(ServicesLimits, with_thousands_of_mistakes_are_answered_in_time) {
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
  const auto services = parse_services(file(vips, pools), "f", node());
  ASSERT_FALSE(services);
  EXPECT_THAT(services.error(), SizeIs(1'001));
  EXPECT_THAT(services.error().back().message, testing::StartsWith("and "));
}

}  // namespace
}  // namespace fairlead::config
