// SPDX-License-Identifier: MIT
// Which pools a pool lives from: itself and, through `include`, others. Used by the rules of
// services.json and by the controller, so that both mean the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "control/config/model.h"

namespace fairlead::config {

class PoolIndex {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  // Of two pools with one id the first counts. `pools` must outlive the index.
  explicit PoolIndex(std::span<const Pool> pools);

  uint32_t find(std::string_view id) const;  // index into pools, or none

  // `pool` first, then the pools it includes, each once, in the order in which the file names them.
  // Unknown names and cycles, which parse_services() refuses, are stepped over.
  std::vector<uint32_t> with_included(uint32_t pool) const;

  // For each include that closes a cycle the pools of the cycle, the first named again at the end;
  // at most 32 of them.
  std::vector<std::vector<uint32_t>> cycles() const;

 private:
  std::unordered_map<std::string_view, uint32_t> by_id_;
  std::vector<std::vector<uint32_t>> includes_;  // by pool
};

}  // namespace fairlead::config
