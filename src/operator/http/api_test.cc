// SPDX-License-Identifier: MIT
#include "operator/http/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace fairlead::http {
namespace {

using controller::Health;
using controller::View;
using nlohmann::json;
using testing::HasSubstr;

View sample() {
  View view;
  view.node = "n1";
  view.forwarding = true;
  view.config_generation = 3;
  view.engine = {.engine = "xdp", .interface = "eth0", .mode = engine::Mode::native, .workers = 2};
  view.vips = {{"v", "198.51.100.10", "", "", {{"tcp/80", "web"}}}};
  view.pools = {{"web",
                 "gre",
                 251,
                 {{.name = "10.0.0.1:80",
                   .health = Health::up,
                   .reason = "connected",
                   .next_hop = "02:00:00:00:00:01",
                   .takes_new = true,
                   .keeps_known = true,
                   .slots = 251},
                  {.name = "10.0.0.2:80",
                   .health = Health::down,
                   .reason = "refused",
                   .missing = "no route to 10.0.0.2"}}}};
  view.counters.total.reason[static_cast<size_t>(core::Reason::fresh)] = 5;
  view.counters.total.reason[static_cast<size_t>(core::Reason::known)] = 7;
  view.counters.total.reason[static_cast<size_t>(core::Reason::malformed)] = 2;
  view.counters.worker_packets = {10, 4};
  view.counters.backends.push_back({"web", "10.0.0.1:80", {.packets = 12}});
  view.counters.services.push_back({"v", "tcp/80", {.packets = 12, .new_connections = 5}});
  return view;
}

Response ask(const std::string& path, const std::string& method = "GET", View view = sample()) {
  return make_api([view] { return view; })({.method = method, .path = path});
}

TEST(Api, HealthzAnswersAlwaysAndReadyzOnceItForwards) {
  EXPECT_EQ(ask("/healthz", "GET", View{}).status, 200u);
  EXPECT_EQ(ask("/readyz", "GET", View{}).status, 503u);
  EXPECT_EQ(ask("/readyz").status, 200u);
}

TEST(Api, StatusTellsEngineGenerationsAndSums) {
  const json status = json::parse(ask("/v1/status").body);
  EXPECT_EQ(status["node"], "n1");
  EXPECT_EQ(status["engine"]["mode"], "native");
  EXPECT_EQ(status["engine"]["workers"], 2);
  EXPECT_EQ(status["engine"]["text"], "xdp on eth0: native XDP, 2 workers");
  EXPECT_EQ(status["generation"], 3);
  EXPECT_EQ(status["packets"]["forward"], 12);
  EXPECT_EQ(status["packets"]["drop"], 2);
  EXPECT_EQ(status["reasons"]["new"], 5);
  EXPECT_EQ(status["backends"]["up"], 1);
  EXPECT_EQ(status["backends"]["down"], 1);
}

TEST(Api, PoolsShowEachBackendWithItsHealthAndTheReason) {
  const json pools = json::parse(ask("/v1/pools").body);
  ASSERT_EQ(pools.size(), 1u);
  const json& backends = pools[0]["backends"];
  EXPECT_EQ(backends[0]["health"], "up");
  EXPECT_EQ(backends[0]["packets"], 12);
  EXPECT_EQ(backends[0]["next_hop"], "02:00:00:00:00:01");
  EXPECT_EQ(backends[1]["reason"], "refused");
  EXPECT_EQ(backends[1]["no_next_hop"], "no route to 10.0.0.2");
  EXPECT_EQ(backends[1]["takes_new"], false);
}

TEST(Api, OnePoolAndOneVipMayBeAskedForByTheirId) {
  EXPECT_EQ(json::parse(ask("/v1/pools/web").body)["id"], "web");
  EXPECT_EQ(json::parse(ask("/v1/vips/v").body)["services"][0]["new_connections"], 5);
  EXPECT_EQ(ask("/v1/pools/other").status, 404u);
}

TEST(Api, BackendsAreListedOverAllPools) {
  const json backends = json::parse(ask("/v1/backends").body);
  ASSERT_EQ(backends.size(), 2u);
  EXPECT_EQ(backends[0]["pool"], "web");
}

TEST(Api, WhatIsNotThereIsAProblem) {
  const Response response = ask("/v2/nothing");
  EXPECT_EQ(response.status, 404u);
  EXPECT_EQ(response.type, "application/problem+json");
  const json problem = json::parse(response.body);
  EXPECT_EQ(problem["status"], 404);
  EXPECT_EQ(problem["title"], "Not Found");
  EXPECT_EQ(problem["detail"], "nothing is served at /v2/nothing");
}

TEST(Api, AnotherMethodIsAProblemThatNamesTheRightOnes) {
  const Response response = ask("/v1/status", "POST");
  EXPECT_EQ(response.status, 405u);
  EXPECT_EQ(response.allow, "GET, HEAD");
}

TEST(Api, NoAnswerIsMadeForAMethodThatIsRefused) {
  const Handler handler = make_api([]() -> View {
    ADD_FAILURE() << "the view was made";
    return {};
  });
  EXPECT_EQ(handler({.method = "POST", .path = "/metrics"}).status, 405u);
  EXPECT_EQ(handler({.method = "DELETE", .path = "/v1/pools/web"}).status, 405u);
  EXPECT_EQ(handler({.method = "POST", .path = "/nothing"}).status, 404u);
}

TEST(Api, TextThatIsNotUtf8DoesNotBreakTheAnswer) {
  View view = sample();
  view.pools[0].backends[0].reason = "status \xff";
  const json pools = json::parse(ask("/v1/pools", "GET", view).body);
  EXPECT_EQ(pools[0]["backends"][0]["reason"], "status \xef\xbf\xbd") << "U+FFFD in its place";
}

TEST(Api, MetricsAreServedAsPrometheusWantsThem) {
  const Response response = ask("/metrics");
  EXPECT_THAT(response.type, HasSubstr("version=0.0.4"));
  EXPECT_THAT(response.body,
              HasSubstr("fairlead_packets_total{verdict=\"forward\",reason=\"known\"} 7\n"));
}

}  // namespace
}  // namespace fairlead::http
