// SPDX-License-Identifier: MIT
#include "control/health/checker.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "control/health/probe.h"

namespace fairlead::health {
namespace {

// Half of the descriptors are for others.
uint32_t most_in_flight() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return limits::in_flight / 8;
  return static_cast<uint32_t>(std::clamp<rlim_t>(limit.rlim_cur / 2, 16, limits::in_flight));
}

}  // namespace

Checker::Checker(boost::asio::io_context& loop, uint64_t seed, Listener listener)
    : loop_(loop),
      timer_(loop),
      monitor_(seed, most_in_flight()),
      listener_(std::move(listener)),
      alive_(std::make_shared<bool>(true)) {}

Checker::~Checker() { *alive_ = false; }

void Checker::want(std::map<Check, Timing> checks) { step(Want{std::move(checks)}); }

void Checker::step(Input input) {
  const Actions actions = monitor_.step(now(), std::move(input));
  for (const Probe& probe : actions.probes) {
    start_probe(loop_, probe,
                [this, alive = alive_, id = probe.id, check = probe.check](Outcome outcome) {
                  if (!*alive) return;
                  if (listener_.answer) listener_.answer(check, outcome);
                  step(Answer{id, std::move(outcome)});
                });
  }
  for (const Flip& flip : actions.flips) {
    if (listener_.flip) listener_.flip(flip);
  }
  for (const Stuck& stuck : actions.stuck) {
    if (listener_.stuck) listener_.stuck(stuck);
  }
  const auto deadline = monitor_.deadline();
  if (!deadline) return;  // an answer that is awaited goes on
  timer_.expires_at(*deadline);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) step(Tick{});
  });
}

}  // namespace fairlead::health
