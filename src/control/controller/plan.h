// SPDX-License-Identifier: MIT
// From what the operator wants, what the health checks say and where packets go next, to what the
// packet path needs: a pure function, the same on every node for the same input. CONTRACT sections
// 3 (identities, tables) and 8 (health) are decided here; publishing is another's business.
//
// A pool's members are its backends and those of the pools it includes, each identity once, in the
// order of their identities, so that neither the order in the file nor a pool's name decides
// anything. Two entries of one identity are one member with the larger weight; it is up if either
// is, and draining only if both are. Disabled entries do not exist.
//
// Which members get flows:
//   - one without a next hop gets nothing at all, whatever its health;
//   - `unknown` counts as down once a member that may get new flows is known to be up, else as up;
//   - takes_new: up, active, weight > 0. If a pool has none and fails open, all count as up;
//   - keeps_known: up; draining and weight 0 included.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/config/model.h"
#include "control/controller/members.h"
#include "tables/maglev.h"
#include "tables/snapshot.h"

namespace fairlead::controller {

enum class Health : uint8_t { unknown, up, down };

// What is known of an entry, in the pool where it stands in the file (that pool's check is the one
// that watches it, also for the pools which include it).
using HealthOf = std::function<Health(const config::Pool& pool, const config::Backend& backend)>;

struct NextHop {
  config::MacAddress destination{};
  config::MacAddress source{};
  std::string
      missing;  // why there is none, for people: "no route to 10.0.0.1"; empty: there is one
};

using NextHopOf = std::function<NextHop(const config::IpAddress& backend)>;

// The largest packet in bytes that the way to a backend is known to take.
using PathMtuOf = std::function<uint32_t(const config::IpAddress& backend)>;

// Everything that decides one of a pool's tables. Owners are indices into `members`.
struct TableInput {
  uint32_t kind = core::by_hash;  // or by_turn, by_load: those ask for weights only
  uint32_t size = 0;
  tables::Fill fill = tables::Fill::lines;
  std::vector<uint64_t> identities;  // of all members, in their order
  std::vector<uint32_t> weights;     // 0: owns no slot
  std::vector<bool> usable;          // a slot of another goes to the first usable one behind it

  friend auto operator<=>(const TableInput&, const TableInput&) = default;
};

using Table = std::shared_ptr<const std::vector<uint16_t>>;
using Tables = std::map<TableInput, Table>;

struct MemberState {
  Health health = Health::unknown;
  bool draining = false;
  bool reachable = true;  // has a next hop
  uint32_t weight = 1;
};

// Of the members of a pool that may get new flows, how many are known to be up, and how many
// unknown: all that one member's flags depend on besides itself.
struct Tally {
  uint32_t up = 0, unknown = 0;
  void add(const MemberState& member);
  void take_off(const MemberState& member);
};

// What a pool's tally and its `fail` make of its members.
struct Reading {
  bool unknown_is_up = true, all_up = false;
  friend bool operator==(const Reading&, const Reading&) = default;
};

struct Plan {
  struct Pool {                         // what decided about each of its members
    std::vector<MergedMember> members;  // their entries point into the services
    std::vector<MemberState> states;
    Tally tally;  // of the states
  };
  std::shared_ptr<const tables::Snapshot> snapshot;
  Tables tables;            // handed to the next plan(), so that it builds only what changed
  std::vector<Pool> pools;  // as in the snapshot
};

struct Input {
  const config::NodeConfig& node;
  const config::Services& services;
  HealthOf health;  // none: all are up
  NextHopOf next_hop;
  std::vector<config::IpAddress> own;  // addresses of the node besides those in node.toml
  uint64_t generation = 0;
  PathMtuOf path_mtu = {};  // none: network_mtu fits everywhere
};

Plan plan(const Input& input, const Tables& previous = {});

// SplitMix64 (Steele, Lea, Flood 2014): the state moves by 0x9e3779b97f4a7c15, the result is
// z = state; z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9; z = (z ^ z >> 27) * 0x94d049bb133111eb;
// z ^ z >> 31.
uint64_t splitmix64(uint64_t& state);

// The two seeds of the flow hash: the first two numbers of SplitMix64 whose state is hash_seed.
std::array<uint64_t, 2> flow_seeds(uint64_t hash_seed);

// Who a backend is for the Maglev table; every node must find the same number. With next(s) as the
// first number of SplitMix64 whose state is s: next(next(next(table_seed ^ c) ^ a) ^ b), where a
// and b are the first and last 8 bytes of the address as big-endian numbers (IPv4: its 4 bytes and
// 12 zeros) and c is family (4 or 6) << 16 | port (0 but in nat).
uint64_t identity_hash(const tables::Identity& identity, uint64_t table_seed);

// The state of a member. Two entries of one backend are watched by two checks: it is up if one
// says so, else unknown if one is, else down.
MemberState state_of(const MergedMember& member, const HealthOf& health, const NextHop& next_hop);

Tally tally_of(std::span<const MemberState> members);
Reading reading_of(const Tally& tally, config::Fail fail);
// takes_new and keeps_known (core::backend_flag) of a member.
uint8_t flags_of(const MemberState& member, const Reading& reading);

// The table that `input` decides; empty if nobody is usable.
std::vector<uint16_t> build_table(const TableInput& input);

}  // namespace fairlead::controller
