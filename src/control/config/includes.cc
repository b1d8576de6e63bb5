// SPDX-License-Identifier: MIT
#include "control/config/includes.h"

#include <algorithm>

namespace fairlead::config {

constexpr size_t most_cycles = 32;

PoolIndex::PoolIndex(std::span<const Pool> pools) : includes_(pools.size()) {
  for (uint32_t i = 0; i < pools.size(); i++) by_id_.try_emplace(pools[i].id, i);
  for (uint32_t i = 0; i < pools.size(); i++) {
    for (const std::string& name : pools[i].include) {
      if (const uint32_t other = find(name); other != none) includes_[i].push_back(other);
    }
  }
}

uint32_t PoolIndex::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? none : found->second;
}

std::vector<uint32_t> PoolIndex::with_included(uint32_t pool) const {
  std::vector<uint32_t> result{pool};
  if (includes_[pool].empty()) return result;
  std::vector<bool> seen(includes_.size());
  seen[pool] = true;
  for (size_t at = 0; at < result.size(); at++) {
    for (const uint32_t next : includes_[result[at]]) {
      if (!seen[next]) result.push_back(next);
      seen[next] = true;
    }
  }
  return result;
}

// Depth first, with a stack of our own: a chain of includes may be long. A pool on the stack that
// is met again closes a cycle.
std::vector<std::vector<uint32_t>> PoolIndex::cycles() const {
  enum class Mark : uint8_t { fresh, open, done };
  struct Visit {
    uint32_t pool;
    size_t next = 0;  // of its includes
  };
  std::vector<std::vector<uint32_t>> result;
  std::vector<Mark> marks(includes_.size(), Mark::fresh);
  std::vector<Visit> stack;
  for (uint32_t start = 0; start < includes_.size(); start++) {
    if (marks[start] == Mark::fresh) stack.push_back({start});
    while (!stack.empty() && result.size() < most_cycles) {
      Visit& top = stack.back();
      marks[top.pool] = Mark::open;
      if (top.next == includes_[top.pool].size()) {
        marks[top.pool] = Mark::done;
        stack.pop_back();
        continue;
      }
      const uint32_t next = includes_[top.pool][top.next++];
      if (marks[next] == Mark::done) continue;
      if (marks[next] == Mark::fresh) {
        stack.push_back({next});
        continue;
      }
      const auto begin = std::ranges::find(stack, next, &Visit::pool);
      std::vector<uint32_t>& cycle = result.emplace_back();
      for (auto at = begin; at != stack.end(); ++at) cycle.push_back(at->pool);
      cycle.push_back(next);
    }
  }
  return result;
}

}  // namespace fairlead::config
