// SPDX-License-Identifier: MIT
// Which line of a backend is whose, over changes of the configuration. A backend (an identity) has
// a line, and so an id, for each pool it is in, as weight, drain and health are the pool's; its
// lines are told apart by their turn: 0, 1, ... A connection names a line. So that the names of
// pools decide nothing about connections (CONTRACT section 11):
//   - a pool keeps the line that it has, or had last;
//   - a pool that has none takes over one of the same kind (method, snat) that lost its pool;
//   - a line without a pool follows those of its kind while there are any: their header, and live
//     connections stay while all of them keep theirs; it takes no new ones.
// What is left is gone. A backend never has more lines than there were pools with it at one time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tables/record_keys.h"
#include "tables/snapshot.h"

namespace fairlead::tables {

struct Line {
  static constexpr uint32_t nobody = ~0u;

  uint32_t turn = 0;
  std::string pool;  // that has it, or had it last
  core::Method method = core::Method::gre;
  bool snat = false;
  uint32_t member = nobody;  // by position, pool after pool
};

using Lines = std::unordered_map<Identity, std::vector<Line>, KeyHash>;

struct Follower {
  uint32_t key = 0;               // position in Holding::keys
  std::vector<uint32_t> members;  // whom it follows, by position; at least one
};

struct Holding {
  Lines lines;                   // of all backends there are, for the next time
  std::vector<BackendKey> keys;  // of all members, pool after pool; then of the followers
  std::vector<Follower> followers;
};

Holding hold(const Lines& before, std::span<const Pool> pools);

}  // namespace fairlead::tables
