// SPDX-License-Identifier: MIT
#include "control/health/monitor.h"

#include <algorithm>
#include <utility>

namespace fairlead::health {

Monitor::Monitor(uint64_t seed, uint32_t in_flight) : random_(seed), in_flight_(in_flight) {}

Actions Monitor::step(Time now, Input input) {
  Actions actions;
  if (auto* wanted = std::get_if<Want>(&input)) want(now, std::move(wanted->checks));
  if (const auto* answered = std::get_if<Answer>(&input)) answer(now, *answered, actions);
  start_due(now, actions);
  return actions;
}

std::optional<Time> Monitor::deadline() const {
  if (queue_.empty() || open_.size() >= in_flight_) return std::nullopt;
  return queue_.begin()->first;
}

const Known* Monitor::find(const Check& check) const {
  const auto found = entries_.find(check);
  return found == entries_.end() ? nullptr : &found->second.known;
}

void Monitor::want(Time now, std::map<Check, Timing> wanted) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    const auto still = wanted.find(at->first);
    if (still == wanted.end()) {
      queue_.erase({entry.due, entry.id});
      by_id_.erase(entry.id);
      at = entries_.erase(at);
      continue;
    }
    if (entry.timing != still->second) {
      entry.timing = still->second;
      if (!entry.open) {
        queue_.erase({entry.due, entry.id});
        entry.due = std::min(entry.due, now + entry.timing.interval);
        entry.beat = std::min(entry.beat, entry.due);
        queue_.emplace(entry.due, entry.id);
      }
    }
    ++at;
  }
  for (auto& [check, timing] : wanted) {
    const auto [at, fresh] = entries_.try_emplace(check);
    if (!fresh) continue;
    Entry& entry = at->second;
    entry.id = next_id_++;
    entry.timing = timing;
    entry.known.since = entry.beat = entry.due = now;
    entry.known.last.reason = "not checked yet";
    by_id_.emplace(entry.id, at);
    queue_.emplace(entry.due, entry.id);
  }
}

void Monitor::answer(Time now, const Answer& answer, Actions& actions) {
  open_.erase(answer.probe);
  const auto found = by_id_.find(answer.probe);
  if (found == by_id_.end()) return;  // the check ended while its probe was on its way
  auto& [check, entry] = *found->second;
  if (!entry.open) return;
  entry.open = false;
  entry.known.last = answer.outcome;
  if (answer.outcome.result != ProbeResult::local) {
    entry.local = 0;
    judge(now, check, entry, actions);
  } else if (++entry.local == entry.timing.unhealthy) {
    actions.stuck.push_back({check, answer.outcome.reason});
  }
  schedule(now, entry);
}

void Monitor::judge(Time now, const Check& check, Entry& entry, Actions& actions) {
  Known& known = entry.known;
  const bool passed = known.last.passed();
  const State towards = passed ? State::up : State::down;
  if (known.state == towards) {
    entry.streak = 0;
    return;
  }
  entry.streak = entry.streak != 0 && entry.last_passed == passed ? entry.streak + 1 : 1;
  entry.last_passed = passed;
  if (entry.streak < (passed ? entry.timing.healthy : entry.timing.unhealthy)) return;
  actions.flips.push_back({check, known.state, towards, known.last.reason});
  if (known.state == State::unknown) entry.beat = now + random_below(entry.timing.interval);
  known.state = towards;
  known.since = now;
  entry.streak = 0;
}

void Monitor::schedule(Time now, Entry& entry) {
  const Duration interval = entry.timing.interval;
  if (entry.known.state == State::unknown) {
    entry.beat = entry.due = now + std::min(interval, limits::first_interval);
  } else {
    if (entry.beat <= now) {
      // Intervals that a slow answer or a full house has cost are left out, not made up for.
      entry.beat += interval * ((now - entry.beat) / interval + 1);
    }
    entry.due = entry.beat + random_below(interval / 10);
  }
  queue_.emplace(entry.due, entry.id);
}

void Monitor::start_due(Time now, Actions& actions) {
  while (!queue_.empty() && queue_.begin()->first <= now && open_.size() < in_flight_ &&
         actions.probes.size() < limits::at_once) {
    const uint64_t id = queue_.begin()->second;
    queue_.erase(queue_.begin());
    auto& [check, entry] = *by_id_.at(id);
    entry.open = true;
    open_.insert(id);
    actions.probes.push_back({id, check, entry.timing.timeout});
  }
}

Duration Monitor::random_below(Duration bound) {
  if (bound <= Duration::zero()) return Duration::zero();
  return Duration(static_cast<Duration::rep>(random_() % static_cast<uint64_t>(bound.count())));
}

}  // namespace fairlead::health
