// SPDX-License-Identifier: MIT
// The state of the node as people and their tools see it: a value, made when it is asked for by the
// controller's thread. src/operator reads this and nothing else of the control plane or an engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/controller/plan.h"
#include "control/health/check.h"
#include "control/path_mtu/table.h"
#include "engine/engine.h"

namespace fairlead::controller {

// Durations counted in buckets, for metrics.
struct Histogram {
  static constexpr std::array<double, 8> bounds{0.001, 0.0025, 0.01, 0.025, 0.1, 0.25, 1, 2.5};
  std::array<uint64_t, bounds.size()> counts{};  // up to bounds[i], not cumulative
  uint64_t count = 0;
  double sum = 0;  // seconds

  void add(Duration duration);
};

struct BackendView {
  std::string name;  // "10.0.0.1:443"
  uint32_t weight = 1;
  bool draining = false;
  Health health = Health::unknown;
  std::string reason;            // of the health, for people; empty if there is nothing to say
  Duration since{};              // how long it is so
  std::string next_hop;          // MAC address; empty: there is none
  std::string missing;           // why there is no next hop
  uint32_t path_mtu = 0;         // bytes; of a tunnel, else network_mtu
  std::string path_mtu_told_by;  // a router; empty: it is network_mtu
  bool takes_new = false, keeps_known = false;
  uint64_t slots = 0;  // of the pool's table
};

struct PoolView {
  std::string id;
  std::string method;
  uint64_t slots = 0;
  std::vector<BackendView> backends;
};

struct ServiceView {
  std::string name;  // "tcp/443"
  std::string pool;
};

struct VipView {
  std::string id;
  std::string address;
  std::string owner, description;
  std::vector<ServiceView> services;
};

// How near something is to its limit.
struct Bounded {
  uint64_t now = 0, most = 0;
};

struct View {
  std::string node;
  Duration uptime{};
  bool forwarding = false;
  std::string not_forwarding;      // why not, since it began; empty: it does, or has not begun
  uint64_t config_generation = 0;  // rises with each configuration that is applied
  uint64_t table_generation = 0;   // rises with each table that is published
  uint64_t reloads_applied = 0, reloads_refused = 0;
  double last_reload = 0;    // seconds since 1970 of the last one that was applied; 0: none
  std::string last_refusal;  // why the last configuration was refused; empty: it was not
  Histogram rebuild;         // plan and publish
  Histogram check_latency;
  std::vector<VipView> vips;
  std::vector<PoolView> pools;
  std::map<std::string, std::array<uint64_t, health::probe_results>> checks;  // by pool
  path_mtu::Table::Counts path_mtu_messages{};  // by path_mtu::Table::Result
  Bounded probes;                               // of health checks, on their way
  Bounded connections;                          // of the HTTP port, which fills it in
  uint64_t log_left_out = 0;                    // lines of the log that nobody took

  engine::Status engine;
  engine::Counters counters;
};

const char* name_of(Health health);

}  // namespace fairlead::controller
