// SPDX-License-Identifier: MIT
// What the daemon decides: a state machine that is told what happened and when, and answers with
// what is to be done. control/controller/daemon does it, with an engine, sockets and timers.
//
//   configuration --> next hops asked for, checks begun --> plan --> Publish
//   health flip, next hop --> SetFlags at once --> 50 ms of collecting --> plan --> Publish
//
// A new configuration waits for the next hops of its backends, `patience` at most, so that a pool
// is not without them for the first moments. It takes the place of the old one when the engine has
// published it, never in parts: what the engine refuses is forgotten, the old one stays. Backends
// are checked from before they are published until after they are withdrawn.
//
// A flip from unknown to up changes no flag before its plan: else the first backend of a pool that
// is known to be up would get all flows, until the others have answered a moment later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "control/config/model.h"
#include "control/controller/plan.h"
#include "control/controller/roster.h"
#include "control/controller/view.h"
#include "control/health/monitor.h"

namespace fairlead::controller {

namespace limits {
constexpr Duration debounce = std::chrono::milliseconds(50);
constexpr Duration patience = std::chrono::milliseconds(300);  // for next hops
}  // namespace limits

// Inputs.
struct Configure {
  config::Services services;           // valid
  std::vector<config::IpAddress> own;  // addresses of the host
};
struct HealthSeen {
  health::Flip flip;
};
struct HopsSeen {
  struct Hop {
    config::IpAddress backend;
    std::optional<config::MacAddress> mac;
    std::string missing;  // why there is no MAC
  };
  std::vector<Hop> hops;
};
struct Published {  // the answer to Publish, before any other input
  std::optional<Error> refused;
};
struct Tick {};
using Event = std::variant<Configure, HealthSeen, HopsSeen, Published, Tick>;

// Actions, to be done in their order.
struct SetFlags {
  uint32_t pool = 0, member = 0;
  uint8_t flags = 0;
};
struct Publish {
  std::shared_ptr<const tables::Snapshot> snapshot;
  bool new_configuration = false;  // not only new health or next hops
};
struct Watch {  // all checks that are wanted from now on
  std::map<health::Check, health::Timing> checks;
};
struct Resolve {  // all addresses whose next hop is wanted from now on
  std::vector<config::IpAddress> backends;
};
struct Tell {
  log::Level level = log::Level::info;
  std::string message;
};
using Action = std::variant<SetFlags, Publish, Watch, Resolve, Tell>;
using Actions = std::vector<Action>;

class Controller {
 public:
  // `source`: MAC address of the interface that the engine forwards on.
  Controller(config::NodeConfig node, config::MacAddress source);

  Actions step(Time now, Event event);
  std::optional<Time> deadline() const;  // of the next Tick

  bool published() const { return active_ != nullptr; }
  const config::NodeConfig& node() const { return node_; }

  // Pools that an answer to `check` counts for.
  std::set<std::string> pools_of(const health::Check& check) const;

  // What is known here, without the engine's part.
  View view(Time now) const;

 private:
  using ServicesPtr = std::shared_ptr<const config::Services>;
  using AddressKey = std::array<uint32_t, 5>;
  struct Candidate {  // waits for next hops
    ServicesPtr services;
    std::vector<config::IpAddress> own;
    Time until{};
  };
  struct Active {
    ServicesPtr services;
    std::vector<config::IpAddress> own;
    Plan plan;
    Roster roster;
    std::vector<std::vector<uint8_t>> flags;        // as the engine has them, by pool and member
    std::vector<std::vector<uint64_t>> slots = {};  // by pool and member; made for the first view
  };
  struct Seen {
    Health health = Health::unknown;
    Time since{};
    std::string reason;
  };

  void configure(Time now, Configure event, Actions& actions);
  void health_seen(Time now, const health::Flip& flip, Actions& actions);
  void hops_seen(Time now, const HopsSeen& event, Actions& actions);
  void published(const Published& event, Actions& actions);
  void publish_if_due(Time now, Actions& actions);
  void publish(ServicesPtr services, std::vector<config::IpAddress> own, Actions& actions);

  void watch_and_resolve(Actions& actions);
  void touch(const std::set<uint32_t>& pools, Actions& actions);
  void plan_soon(Time now);
  bool has_hops(const config::Services& services) const;
  Health health_of(const HealthSource& source) const;
  NextHop hop_of(const config::IpAddress& backend) const;
  MemberState state_of(const Active& active, MemberId id) const;
  BackendView view_of(Time now, MemberId id) const;
  static void count_slots(Active& active);
  void tell_flip(const health::Flip& flip, Actions& actions) const;
  static AddressKey key_of(const config::IpAddress& address);

  config::NodeConfig node_;
  config::MacAddress source_;
  std::unique_ptr<Active> active_;
  std::optional<Candidate> candidate_;
  std::unique_ptr<Active> publishing_;
  bool publishing_new_services_ = false;
  std::optional<Time> plan_at_;
  std::map<health::Check, Seen> seen_;
  std::map<AddressKey, HopsSeen::Hop> hops_;
  uint64_t table_generation_ = 0, config_generation_ = 0;
};

}  // namespace fairlead::controller
