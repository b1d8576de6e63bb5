// SPDX-License-Identifier: MIT
#include "control/controller/checks.h"

#include <gtest/gtest.h>

#include "control/config/address.h"
#include "control/config/parse.h"

namespace fairlead::controller {
namespace {

using namespace std::chrono_literals;

constexpr const char* node_text = R"(
[node]
id = "n1"
address = "192.0.2.11"
[forwarder]
interface = "eth0"
)";

config::Services services_of(const std::string& services, const std::string& pools) {
  const std::string text = R"({"vips":[{"id":"v","address":"198.51.100.10","services":[)" +
                           services + R"(]}],"pools":[)" + pools + "]}";
  const auto node = config::parse_node(node_text, "node.toml");
  auto parsed = config::parse_services(text, "services.json", *node);
  EXPECT_TRUE(parsed) << parsed.error().front().format();
  return parsed ? *parsed : config::Services{};
}

health::Check tcp(uint16_t port) {
  return {.target = endpoint_of(*config::parse_address("10.0.0.1"), port)};
}

constexpr const char* on_80 = R"({"protocol":"tcp","port":80,"backend_pool":"a"})";

TEST(Checks, PoolsThatAskTheSameShareACheckAndTheStricterTimingCounts) {
  const auto services = services_of(
      on_80,
      R"({"id":"a","backends":[{"ip":"10.0.0.1","port":80}]},)"
      R"({"id":"b","backends":[{"ip":"10.0.0.1","port":80}],"health_check":{"interval":"1s"}})");
  const auto wanted = Checks(services).wanted();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted.begin()->first, tcp(80));
  EXPECT_EQ(wanted.begin()->second.interval, 1s);
}

TEST(Checks, AnotherPathIsAnotherCheck) {
  const std::string http = R"("health_check":{"type":"http","path":)";
  const auto services = services_of(
      on_80, R"({"id":"a","backends":[{"ip":"10.0.0.1","port":80}],)" + http + R"("/a"}},)" +
                 R"({"id":"b","backends":[{"ip":"10.0.0.1","port":80}],)" + http + R"("/b"}})");
  EXPECT_EQ(Checks(services).wanted().size(), 2u);
}

TEST(Checks, WithoutAPortThatOfTheServiceIsChecked) {
  const auto services =
      services_of(R"({"protocol":"udp","port":53,"backend_pool":"a"},)" + std::string(on_80),
                  R"({"id":"a","include":["b"],"backends":[{"ip":"10.0.0.1"}]},)"
                  R"({"id":"b","backends":[{"ip":"10.0.0.1"}]})");
  const auto wanted = Checks(services).wanted();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted.begin()->first, tcp(80)) << "TCP before UDP, through the pool that includes it";
}

TEST(Checks, WithoutAnyPortItSaysSo) {
  const auto services = services_of(R"({"protocol":"tcp","port":0,"backend_pool":"a"})",
                                    R"({"id":"a","backends":[{"ip":"10.0.0.1"}]})");
  EXPECT_TRUE(Checks(services).wanted().empty());
  ASSERT_EQ(Checks(services).complaints().size(), 1u);
  EXPECT_EQ(
      Checks(services).complaints()[0],
      "pool a: backend 10.0.0.1 is not checked, which counts as up: no port to check: give the "
      "backend one");
}

TEST(Checks, DisabledBackendsAreNotChecked) {
  const auto services = services_of(on_80, R"({"id":"a","backends":[{"ip":"10.0.0.1","port":80},)"
                                           R"({"ip":"10.0.0.2","port":80,"state":"disabled"}]})");
  EXPECT_EQ(Checks(services).wanted().size(), 1u);
}

}  // namespace
}  // namespace fairlead::controller
