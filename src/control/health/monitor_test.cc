// SPDX-License-Identifier: MIT
#include "control/health/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace fairlead::health {
namespace {

using namespace std::chrono_literals;

Check check_of(uint32_t host) {
  return {.target = {.address = {{host}}, .family = core::Family::v4, .port = 80}};
}

const Outcome good{ProbeResult::passed, "connected", 1ms};
const Outcome bad{ProbeResult::refused, "refused", 1ms};

// A monitor with a clock of its own, and backends that answer after a while as they are told.
class Simulation {
 public:
  explicit Simulation(uint32_t in_flight = limits::in_flight) : monitor(1, in_flight) {}

  void want(std::map<Check, Timing> checks) { take(monitor.step(at, Want{std::move(checks)})); }

  void run(Duration duration) {
    const Time end = at + duration;
    for (;;) {
      Time next = end;
      if (const auto deadline = monitor.deadline()) next = std::min(next, *deadline);
      if (!answers.empty()) next = std::min(next, answers.begin()->first);
      at = std::max(at, next);
      if (!answers.empty() && answers.begin()->first <= at) {
        const Answer answer = answers.begin()->second;
        answers.erase(answers.begin());
        take(monitor.step(at, answer));
      } else if (next == end) {
        return;
      } else {
        take(monitor.step(at, Tick{}));
      }
    }
  }

  void take(const Actions& actions) {
    for (const Probe& probe : actions.probes) {
      started.emplace_back(at, probe.check);
      const auto told = backends.find(probe.check);
      answers.emplace(at + latency, Answer{probe.id, told == backends.end() ? good : told->second});
      most_open = std::max(most_open, answers.size());
    }
    for (const Flip& flip : actions.flips) flips.push_back(flip);
    for (const Stuck& one : actions.stuck) stuck.push_back(one);
  }

  size_t probes_of(const Check& check) const {
    return static_cast<size_t>(std::ranges::count(started, check, &std::pair<Time, Check>::second));
  }
  State state(const Check& check) const { return monitor.find(check)->state; }

  Monitor monitor;
  Time at{};
  Duration latency = 1ms;
  std::map<Check, Outcome> backends;
  std::multimap<Time, Answer> answers;
  std::deque<std::pair<Time, Check>> started;
  std::vector<Flip> flips;
  std::vector<Stuck> stuck;
  size_t most_open = 0;
};

const Timing timing{.interval = 5s, .timeout = 2s, .healthy = 2, .unhealthy = 3};

TEST(Monitor, AnUnknownTargetIsUpAfterAsManyGoodAnswersAsTheThreshold) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, timing}});
  EXPECT_EQ(simulation.state(check), State::unknown);
  simulation.run(100ms);
  EXPECT_EQ(simulation.state(check), State::unknown) << "one answer is not enough";
  simulation.run(200ms);
  EXPECT_EQ(simulation.state(check), State::up);
  ASSERT_EQ(simulation.flips.size(), 1u);
  EXPECT_EQ(simulation.flips[0].before, State::unknown);
}

TEST(Monitor, AnUnknownTargetIsDownAfterAsManyBadAnswersAsTheThreshold) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.backends[check] = bad;
  simulation.want({{check, timing}});
  simulation.run(300ms);
  EXPECT_EQ(simulation.state(check), State::unknown);
  simulation.run(200ms);
  EXPECT_EQ(simulation.state(check), State::down);
  EXPECT_EQ(simulation.flips.at(0).reason, "refused");
}

TEST(Monitor, ATargetGoesDownWithinThresholdTimesIntervalAndNotBefore) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, timing}});
  simulation.run(60s);
  const Time broke = simulation.at;
  simulation.backends[check] = bad;
  const size_t probes = simulation.probes_of(check);
  while (simulation.state(check) == State::up) simulation.run(10ms);
  EXPECT_EQ(simulation.probes_of(check) - probes, 3u);
  EXPECT_LE(simulation.at - broke, 3 * 5s + 500ms + 20ms);
  EXPECT_GE(simulation.at - broke, 2 * 5s - 500ms);
}

TEST(Monitor, AGoodAnswerInBetweenBeginsTheCountAnew) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, timing}});
  simulation.run(10s);
  ASSERT_EQ(simulation.state(check), State::up);
  for (int round = 0; round < 5; round++) {
    const auto run_probes = [&](size_t count) {
      const size_t until = simulation.probes_of(check) + count;
      while (simulation.probes_of(check) < until) simulation.run(5ms);
      simulation.run(5ms);
    };
    simulation.backends[check] = bad;
    run_probes(2);
    simulation.backends[check] = good;
    run_probes(1);
    EXPECT_EQ(simulation.state(check), State::up);
  }
}

TEST(Monitor, AFailureOfTheCheckerItselfTakesNobodyOut) {
  Simulation simulation;
  const Check check = check_of(1), fresh = check_of(2);
  simulation.want({{check, timing}});
  simulation.run(10s);
  simulation.backends[check] =
      simulation.backends[fresh] = {ProbeResult::local, "no descriptor", 0s};
  simulation.want({{check, timing}, {fresh, timing}});
  simulation.run(100s);
  EXPECT_EQ(simulation.state(check), State::up);
  EXPECT_EQ(simulation.state(fresh), State::unknown);
  EXPECT_EQ(simulation.monitor.find(check)->last.reason, "no descriptor");
}

TEST(Monitor, ADownTargetComesBackAfterTheHealthyThreshold) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.backends[check] = bad;
  simulation.want({{check, timing}});
  simulation.run(20s);
  ASSERT_EQ(simulation.state(check), State::down);
  simulation.backends[check] = good;
  simulation.run(11s);
  EXPECT_EQ(simulation.state(check), State::up);
  ASSERT_EQ(simulation.flips.size(), 2u);
  EXPECT_EQ(simulation.flips[1].before, State::down);
}

TEST(Monitor, ProbesKeepTheirBeatHoweverSlowTheAnswersAre) {
  Simulation simulation;
  simulation.latency = 900ms;
  const Check check = check_of(1);
  simulation.want({{check, {.interval = 1s, .timeout = 2s, .healthy = 1, .unhealthy = 1}}});
  simulation.run(1000s);
  EXPECT_NEAR(static_cast<double>(simulation.probes_of(check)), 1000, 3);
}

TEST(Monitor, AProbeNeverOverlapsTheOneBefore) {
  Simulation simulation;
  simulation.latency = 2500ms;
  const Check check = check_of(1);
  simulation.want({{check, {.interval = 1s, .timeout = 3s, .healthy = 1, .unhealthy = 1}}});
  simulation.run(300s);
  EXPECT_EQ(simulation.most_open, 1u);
  EXPECT_NEAR(static_cast<double>(simulation.probes_of(check)), 100, 3);
}

TEST(Monitor, TargetsThatBeginTogetherAreSpreadOverTheInterval) {
  Simulation simulation;
  std::map<Check, Timing> wanted;
  for (uint32_t i = 1; i <= 1000; i++) wanted.emplace(check_of(i), timing);
  simulation.want(wanted);
  simulation.run(20s);
  simulation.started.clear();
  std::vector<size_t> in_second;
  for (int second = 0; second < 5; second++) {
    const size_t before = simulation.started.size();
    simulation.run(1s);
    in_second.push_back(simulation.started.size() - before);
  }
  EXPECT_THAT(in_second, testing::Each(testing::AllOf(testing::Ge(120u), testing::Le(280u))));
}

TEST(Monitor, OpenProbesAreBoundedAndTheOthersWaitTheirTurn) {
  Simulation simulation(10);
  simulation.latency = 10ms;
  std::map<Check, Timing> wanted;
  for (uint32_t i = 1; i <= 500; i++) wanted.emplace(check_of(i), timing);
  simulation.want(wanted);
  simulation.run(2s);
  EXPECT_EQ(simulation.most_open, 10u);
  for (const auto& [check, unused] : wanted) EXPECT_EQ(simulation.state(check), State::up);
}

TEST(Monitor, ThousandsThatAreDueAtOnceBeginInSeveralSteps) {
  std::map<Check, Timing> checks;
  for (uint32_t i = 0; i < 1000; i++) checks[check_of(i)] = timing;
  Monitor monitor(1);
  const Time at{};
  size_t begun = monitor.step(at, Want{checks}).probes.size();
  EXPECT_EQ(begun, limits::at_once);
  while (monitor.deadline() && *monitor.deadline() <= at) {
    const size_t more = monitor.step(at, Tick{}).probes.size();
    ASSERT_GT(more, 0u);
    EXPECT_LE(more, limits::at_once);
    begun += more;
  }
  EXPECT_EQ(begun, 1000u);
}

TEST(Monitor, TenThousandTargetsAtFiveSecondsKeepTheirRate) {
  Simulation simulation;
  std::map<Check, Timing> wanted;
  for (uint32_t i = 1; i <= 10'000; i++) wanted.emplace(check_of(i), timing);
  simulation.want(wanted);
  simulation.run(30s);
  simulation.started.clear();
  simulation.run(60s);
  EXPECT_NEAR(static_cast<double>(simulation.started.size()), 120'000, 1'200);
}

TEST(Monitor, ATargetThatIsNoLongerWantedIsForgottenAndItsLateAnswerIgnored) {
  Simulation simulation;
  simulation.latency = 1s;
  const Check gone = check_of(1), stays = check_of(2);
  simulation.want({{gone, timing}, {stays, timing}});
  simulation.run(100ms);  // both probes are on their way
  simulation.want({{stays, timing}});
  simulation.run(30s);
  EXPECT_EQ(simulation.monitor.find(gone), nullptr);
  EXPECT_EQ(simulation.probes_of(gone), 1u);
  EXPECT_EQ(simulation.state(stays), State::up);
  EXPECT_EQ(simulation.flips.size(), 1u);
}

TEST(Monitor, ATargetThatComesBackIsUnknownAgain) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, timing}});
  simulation.run(10s);
  simulation.want({});
  simulation.want({{check, timing}});
  EXPECT_EQ(simulation.state(check), State::unknown);
  simulation.run(1s);
  EXPECT_EQ(simulation.state(check), State::up);
}

TEST(Monitor, AShorterIntervalCountsAtOnceAndKeepsTheState) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, {.interval = 3600s, .timeout = 2s, .healthy = 1, .unhealthy = 1}}});
  simulation.run(1s);
  ASSERT_EQ(simulation.state(check), State::up);
  simulation.want({{check, {.interval = 1s, .timeout = 1s, .healthy = 1, .unhealthy = 1}}});
  EXPECT_EQ(simulation.state(check), State::up);
  const size_t before = simulation.probes_of(check);
  simulation.run(10s);
  EXPECT_GE(simulation.probes_of(check) - before, 9u);
}

TEST(Monitor, TheSameSeedGivesTheSameRun) {
  std::deque<std::pair<Time, Check>> runs[2];
  for (auto& run : runs) {
    Simulation simulation;
    simulation.want({{check_of(1), timing}, {check_of(2), timing}, {check_of(3), timing}});
    simulation.run(100s);
    run = simulation.started;
  }
  EXPECT_EQ(runs[0], runs[1]);
}

TEST(Timing, ASharedCheckTakesTheShortestTimesAndTheSmallestThresholds) {
  const Timing one{.interval = 5s, .timeout = 1s, .healthy = 1, .unhealthy = 5};
  const Timing other{.interval = 2s, .timeout = 2s, .healthy = 3, .unhealthy = 2};
  const Timing both{.interval = 2s, .timeout = 1s, .healthy = 1, .unhealthy = 2};
  EXPECT_EQ(most_demanding(one, other), both);
}

TEST(Monitor, AFailureOnThisSideThatGoesOnIsToldOnceAndAgainAfterItWasOver) {
  Simulation simulation;
  const Check check = check_of(1);
  simulation.want({{check, timing}});
  simulation.run(1min);
  ASSERT_EQ(simulation.state(check), State::up);
  simulation.backends[check] = {ProbeResult::local, "Too many open files", 1ms};
  simulation.run(9s);
  EXPECT_TRUE(simulation.stuck.empty()) << "two of three";
  simulation.run(1min);
  ASSERT_EQ(simulation.stuck.size(), 1u);
  EXPECT_EQ(simulation.stuck[0].reason, "Too many open files");
  EXPECT_EQ(simulation.state(check), State::up) << "it says nothing of the target";
  simulation.backends[check] = good;
  simulation.run(1min);
  simulation.backends[check] = {ProbeResult::local, "Operation not permitted", 1ms};
  simulation.run(1min);
  EXPECT_EQ(simulation.stuck.size(), 2u);
}

}  // namespace
}  // namespace fairlead::health
