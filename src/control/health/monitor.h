// SPDX-License-Identifier: MIT
// When to probe whom, and what the answers add up to: a state machine that is told the time, so
// that a seed replays a run. control/health/checker has the probing done (control/health/probe).
//
// A check begins unknown and is probed at once, then every `first_interval` until the thresholds
// have made it up or down; from then on each interval, from a random point of it on, so that checks
// which began together do not stay together. Each probe of an interval starts up to a tenth of it
// later than the last whole multiple says: the beat does not drift, and peers do not fall in step.
//
// At most `in_flight` probes are open, and `at_once` begin in one step: then deadline() has passed,
// and the next step begins more. Those that are due wait their turn, in order. A probe
// that failed on this side (ProbeResult::local) says nothing of its target and changes no state: a
// broken checker takes nobody out. When that goes on, it is told once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "control/health/check.h"
#include "control/limits.h"

namespace fairlead::health {

// What is known of a check.
struct Known {
  State state = State::unknown;
  Time since{};    // of the state
  Outcome last{};  // reason: "not checked yet" before the first answer
};

// Inputs.
struct Want {
  std::map<Check, Timing> checks;  // all of them: those not named end
};
struct Answer {
  uint64_t probe = 0;
  Outcome outcome;
};
struct Tick {};
using Input = std::variant<Want, Answer, Tick>;

// Actions.
struct Probe {
  uint64_t id = 0;
  Check check;
  Duration timeout{};  // every probe is answered, at the latest after this
};
struct Flip {
  Check check;
  State before = State::unknown, state = State::unknown;
  std::string reason;
};
struct Stuck {  // as many probes in a row as make a target down have failed on this side
  Check check;
  std::string reason;
};
struct Actions {
  std::vector<Probe> probes;
  std::vector<Flip> flips;
  std::vector<Stuck> stuck;
};

class Monitor {
 public:
  explicit Monitor(uint64_t seed, uint32_t in_flight = limits::in_flight);

  Actions step(Time now, Input input);
  std::optional<Time> deadline() const;  // of the next Tick
  const Known* find(const Check& check) const;
  size_t open() const { return open_.size(); }  // probes on their way
  uint32_t most_open() const { return in_flight_; }

 private:
  struct Entry {
    uint64_t id = 0;
    Timing timing;
    Known known;
    uint32_t streak = 0;  // answers in a row that speak against the state
    uint32_t local = 0;   // failures on this side in a row
    bool last_passed = false;
    Time beat{};  // the interval that the next probe belongs to
    Time due{};
    bool open = false;  // a probe is on its way
  };
  using Entries = std::map<Check, Entry>;

  void want(Time now, std::map<Check, Timing> wanted);
  void answer(Time now, const Answer& answer, Actions& actions);
  void judge(Time now, const Check& check, Entry& entry, Actions& actions);
  void schedule(Time now, Entry& entry);
  void start_due(Time now, Actions& actions);
  Duration random_below(Duration bound);

  std::mt19937_64 random_;
  uint32_t in_flight_;
  uint64_t next_id_ = 1;
  Entries entries_;
  std::unordered_map<uint64_t, Entries::iterator> by_id_;
  std::set<std::pair<Time, uint64_t>> queue_;  // of entries without an open probe
  std::unordered_set<uint64_t> open_;          // also of checks that ended
};

}  // namespace fairlead::health
