// SPDX-License-Identifier: MIT
// What a Publisher holds, and the plan that the first half of publish() (publisher_plan.cc) makes
// for the second (publisher.cc). Private to those two files.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tables/holders.h"
#include "tables/publisher.h"
#include "tables/record_keys.h"
#include "tables/row_table.h"
#include "tables/slot_arena.h"
#include "tables/stable_ids.h"

namespace fairlead::tables {

// Slots in the arena for one of a pool's tables, and what they were made from.
struct Part {
  core::TableRef ref{};
  Pool::Owners owners;
  bool is_new = false;
};

// Of a pool: its tables, by core::by_hash, by_turn and by_load.
struct Parts {
  std::array<Part, 3> tables;
  std::vector<core::Slot> ids;  // by member
};

// A backend's line that no pool has any more but live connections name; see tables/holders.h.
struct FollowerLine {
  core::Slot id = 0;
  std::vector<uint32_t> members;  // whom it follows, by position in Plan::backends
};

// All that one publish() is going to write.
struct Plan {
  std::vector<core::Slot> backends;  // ids of all members, pool after pool
  std::vector<uint32_t> pools;       // where each pool begins in it; one more at the end
  std::vector<uint32_t> vips, services, tables;  // ids, by position in the snapshot
  std::vector<uint32_t> fresh_backends, fresh_services;
  Lines lines;
  std::vector<FollowerLine> followers;
  std::vector<Parts> parts;  // by pool
  std::optional<RowTable> rows;
  std::vector<core::Branch> branches;
  core::PrefixLengths prefixes{};
};

struct Publisher::State {
  State(const Memory& memory, Options options);

  // publisher_plan.cc: decides, and changes nothing that packets see. An error has left no trace.
  Result<Plan> prepare(const Snapshot& next, uint64_t now_ms);
  Result<void> give_ids(const Snapshot& next, uint64_t now_ms, Plan& plan);
  Result<void> make_room(const Snapshot& next, Plan& plan);
  Result<void> take_room(const Pool& pool, const Pool::Owners& owners, Part& part);
  Result<void> place_rows(const Snapshot& next, Plan& plan) const;
  static uint32_t add_branches(const Service& service, Plan& plan);
  void abandon(const Plan& plan);

  // publisher.cc: writes, and cannot fail.
  void write_backends(const Snapshot& next, const Plan& plan);
  void write_tables(const Plan& plan);
  void write_rows(const Snapshot& next, const Plan& plan);
  void follow(const FollowerLine& follower);
  void retire(const Plan& plan, uint64_t now_ms, uint64_t quarantine_ms);
  void name(const Plan& plan);
  void adopt(Plan plan);

  Memory memory;
  Options options;
  SlotArena arena;
  StableIds<BackendKey, KeyHash> backend_ids;
  StableIds<ServiceKey, KeyHash> service_ids;
  StableIds<ServiceKey, KeyHash> vip_ids;
  StableIds<std::string> table_ids;  // index of a pool's TableRefs, over table_kinds

  std::shared_ptr<const Snapshot> snapshot;
  std::unordered_map<std::string, Parts> parts;  // by pool
  std::vector<BackendName> backend_names;        // by id
  std::vector<int32_t> service_names, vip_names;
  std::vector<core::Slot> backends;  // Plan::backends and Plan::pools of `snapshot`
  std::vector<uint32_t> pools;
  Lines lines;
  std::vector<FollowerLine> followers;
  std::unordered_multimap<uint32_t, const FollowerLine*> followed;  // by position of a member
};

}  // namespace fairlead::tables
