// SPDX-License-Identifier: MIT
#include "operator/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "core/verdict.h"

namespace fairlead::metrics {
namespace {

using controller::Health;
using controller::View;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

TEST(Metrics, EveryReasonOfTheListHasASeriesWithItsVerdict) {
  const std::string text = text_of(View{});
#define X(verdict, enumerator, name, meaning)                                                  \
  EXPECT_THAT(text, HasSubstr("fairlead_packets_total{verdict=\"" #verdict "\",reason=\"" name \
                              "\"} 0\n"));
  FAIRLEAD_REASONS(X)
#undef X
}

TEST(Metrics, CountsOfTheEngineAppearWithTheirLabels) {
  View view;
  view.counters.total.evicted_full = 3;
  view.counters.worker_packets = {7, 8};
  view.counters.backends.push_back({"web", "10.0.0.1:80", {.packets = 12}});
  view.counters.services.push_back(
      {"v", "tcp/80", {.packets = 9, .bytes = 99, .new_connections = 1}});
  const std::string text = text_of(view);
  EXPECT_THAT(text, HasSubstr("fairlead_connection_evictions_total{reason=\"full\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_worker_packets_total{worker=\"1\"} 8\n"));
  EXPECT_THAT(
      text, HasSubstr("fairlead_backend_packets_total{pool=\"web\",backend=\"10.0.0.1:80\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_service_bytes_total{vip=\"v\",service=\"tcp/80\"} 99\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE fairlead_service_new_connections_total counter\n"));
}

TEST(Metrics, ABackendIsUpIfItsChecksSaySoOrIfItCountsAsUp) {
  View view;
  view.pools = {{"p",
                 "gre",
                 0,
                 {{.name = "a", .health = Health::up},
                  {.name = "b", .health = Health::down, .keeps_known = true},  // fails open
                  {.name = "c", .health = Health::unknown, .keeps_known = true},
                  {.name = "d", .health = Health::up, .missing = "no route"}}}};
  const std::string text = text_of(view);
  EXPECT_THAT(text, HasSubstr("fairlead_backend_up{pool=\"p\",backend=\"a\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_backend_up{pool=\"p\",backend=\"b\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_backend_up{pool=\"p\",backend=\"c\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_backend_up{pool=\"p\",backend=\"d\"} 0\n"));
}

TEST(Metrics, HistogramsAreCumulative) {
  View view;
  for (const auto duration : {Duration(500us), Duration(2ms), Duration(10s)}) {
    view.rebuild.add(duration);
  }
  const std::string text = text_of(view);
  EXPECT_THAT(text, HasSubstr("fairlead_table_rebuild_seconds_bucket{le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_table_rebuild_seconds_bucket{le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_table_rebuild_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_table_rebuild_seconds_count 3\n"));
}

TEST(Metrics, AnswersToHealthChecksAreCountedByPoolAndResult) {
  View view;
  view.checks["web"][static_cast<size_t>(health::ProbeResult::refused)] = 4;
  const std::string text = text_of(view);
  EXPECT_THAT(text, HasSubstr("fairlead_health_checks_total{pool=\"web\",result=\"refused\"} 4\n"));
  EXPECT_THAT(text, Not(HasSubstr("result=\"passed\"")));
}

TEST(Metrics, WhatIsBoundedIsShownWithItsLimit) {
  View view;
  view.probes = {17, 4'096};
  view.connections = {3, 64};
  const std::string text = text_of(view);
  EXPECT_THAT(text, HasSubstr("fairlead_health_checks_in_flight 17\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_health_checks_in_flight_limit 4096\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_http_connections 3\n"));
  EXPECT_THAT(text, HasSubstr("fairlead_http_connections_limit 64\n"));
}

TEST(Metrics, AScrapeOfTenThousandBackendsIsNotSlow) {
  View view;
  auto& pool = view.pools.emplace_back();
  pool.id = "large";
  for (int i = 0; i < 10'000; i++) {
    const std::string name = "10.0.0.0:" + std::to_string(i);
    pool.backends.push_back({.name = name, .health = Health::up});
    view.counters.backends.push_back({"large", name, {}});
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = text_of(view);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GT(text.size(), 1'000'000u);
  EXPECT_LT(took, 5s) << "far more than on a machine that does nothing else, where it is 0.05 s";
}

}  // namespace
}  // namespace fairlead::metrics
