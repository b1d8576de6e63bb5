// SPDX-License-Identifier: MIT
// What the daemon decides: a state machine that is told what happened and when, and answers with
// what is to be done. control/controller/daemon does it, with an engine, sockets and timers.
//
//   configuration --> next hops asked for, checks begun --> plan --> Publish
//   health flip, next hop --> SetFlags at once --> 50 ms of collecting --> plan --> Publish
//   address of the host --> 50 ms of collecting --> plan --> Publish
//   packet too big on the way --> path MTU of the backend --> plan --> Publish, at once
//
// A new configuration waits for the next hops of its backends, `patience` at most, so that a pool
// is not without them for the first moments. It takes the place of the old one when the engine has
// published it, never in parts: what the engine refuses is forgotten, the old one stays, and is
// planned again with what has changed meanwhile. Backends are checked from before they are
// published until after they are withdrawn.
//
// A flip from unknown to up changes no flag before its plan: else the first backend of a pool that
// is known to be up would get all flows, until the others have answered a moment later.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
#include "control/limits.h"
#include "control/path_mtu/table.h"

namespace fairlead::controller {

// Inputs.
struct Configure {
  config::Services services;  // valid
};
struct OwnSeen {
  std::vector<config::IpAddress> addresses;  // of the host, all
};
struct LinkSeen {  // the interface that the engine forwards on
  config::MacAddress source{};
  bool new_engine = false;  // it came again: what was published is lost
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
struct TooBigSeen {
  path_mtu::TooBig message;
};
struct Published {  // the answer to Publish, before any other input
  std::optional<Error> refused;
};
struct Tick {};
using Event =
    std::variant<Configure, OwnSeen, LinkSeen, HealthSeen, HopsSeen, TooBigSeen, Published, Tick>;

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
  // Those that are published; only after the first.
  const config::Services& services() const { return active_->intent->services; }

  // Pools that an answer to `check` counts for; sorted, valid until the next step.
  const std::vector<std::string>& pools_of(const health::Check& check) const;

  // What is known here, without the engine's part. `known` finds the reason of a health and since
  // when it is so.
  using KnownOf = std::function<const health::Known*(const health::Check& check)>;
  View view(Time now, const KnownOf& known = {}) const;

 private:
  // A configuration and the checks that follow from it, made once.
  struct Intent {
    explicit Intent(config::Services all) : services(std::move(all)), checks(services) {}
    const config::Services services;
    const Checks checks;
  };
  using IntentPtr = std::shared_ptr<const Intent>;
  struct Candidate {  // waits for next hops
    IntentPtr intent;
    Time until{};
  };
  struct Active {
    IntentPtr intent;
    Plan plan;  // the states of its members are kept up to date
    std::shared_ptr<const Roster> roster;
    std::vector<std::vector<uint8_t>> flags;        // as the engine has them, by pool and member
    std::vector<Reading> readings = {};             // that made them, by pool
    std::vector<std::vector<uint64_t>> slots = {};  // by pool and member; made for the first view
  };

  void configure(Time now, Configure event, Actions& actions);
  void health_seen(Time now, const health::Flip& flip, Actions& actions);
  void hops_seen(Time now, const HopsSeen& event, Actions& actions);
  void own_seen(Time now, OwnSeen event);
  void link_seen(Time now, const LinkSeen& event, Actions& actions);
  void path_mtus_seen(Time now, const TooBigSeen* event, Actions& actions);
  void published(Time now, const Published& event, Actions& actions);
  void refused(Time now, const Error& error, bool fresh, Actions& actions);
  void publish_if_due(Time now, Actions& actions);
  void publish(IntentPtr intent, Actions& actions);

  void watch_and_resolve(Actions& actions);
  void refresh(const std::vector<MemberId>& members);
  void touch(const std::vector<MemberId>& members, Actions& actions);
  void touch(MemberId id, Actions& actions);
  void plan_soon(Time now);
  bool has_hops(const config::Services& services) const;
  HealthOf health_in(const Intent& intent) const;
  Health health_of(const HealthSource& source) const;
  NextHop hop_of(const config::IpAddress& backend) const;
  uint32_t path_mtu_of(const config::IpAddress& backend) const;
  BackendView view_of(Time now, MemberId id, const KnownOf& known) const;
  static void count_slots(Active& active);
  void tell_flip(const health::Flip& flip, Actions& actions) const;

  config::NodeConfig node_;
  config::MacAddress source_;
  std::unique_ptr<Active> active_;
  std::optional<Candidate> candidate_;
  std::unique_ptr<Active> publishing_;
  bool publishing_new_services_ = false;
  bool table_refused_ = false;  // the last one, which was said
  std::optional<Time> plan_at_;
  std::vector<config::IpAddress> own_;
  std::map<health::Check, Health> health_;
  std::map<config::IpAddress, HopsSeen::Hop> hops_;
  path_mtu::Table path_mtus_;
  uint64_t table_generation_ = 0, config_generation_ = 0;
};

}  // namespace fairlead::controller
