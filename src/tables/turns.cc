// SPDX-License-Identifier: MIT
// Earliest deadline first: turn k of a backend of weight w is due at (k + 1/2) / w (Webster's
// method of apportionment), so that in every stretch of the list each has its share to within
// about one turn.
#include "tables/turns.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "core/limits.h"

namespace fairlead::tables {
namespace {

struct Due {
  uint64_t weight;
  uint64_t halves;  // 2k + 1
  uint16_t backend;

  // For a queue whose top is what is due first.
  friend bool operator<(const Due& a, const Due& b) {
    const uint64_t left = a.halves * b.weight;
    const uint64_t right = b.halves * a.weight;
    return left != right ? left > right : a.backend > b.backend;
  }
};

// The same ratios in small numbers.
std::vector<uint64_t> reduced(std::span<const uint32_t> weights) {
  std::vector<uint64_t> small(weights.begin(), weights.end());
  const uint64_t divisor = std::reduce(small.begin(), small.end(), uint64_t{0},
                                       [](uint64_t a, uint64_t b) { return std::gcd(a, b); });
  const uint64_t total = std::reduce(small.begin(), small.end());
  if (total == 0) return small;
  constexpr uint64_t longest = core::limits::longest_turns;
  for (uint64_t& weight : small) {
    if (total / divisor <= longest) {
      weight /= divisor;
    } else if (weight != 0) {
      weight = std::max<uint64_t>(1, (weight * longest + total / 2) / total);
    }
  }
  return small;
}

}  // namespace

std::vector<uint16_t> build_turns(std::span<const uint32_t> weights) {
  std::priority_queue<Due> queue;
  size_t turns = 0;
  const std::vector<uint64_t> small = reduced(weights);
  for (size_t i = 0; i < small.size(); i++) {
    if (small[i] != 0) queue.push({small[i], 1, static_cast<uint16_t>(i)});
    turns += small[i];
  }
  std::vector<uint16_t> list;
  list.reserve(turns);
  while (list.size() < turns) {
    Due next = queue.top();
    queue.pop();
    list.push_back(next.backend);
    next.halves += 2;
    queue.push(next);
  }
  return list;
}

uint64_t most_turns(std::span<const uint32_t> weights) {
  const uint64_t total = std::reduce(weights.begin(), weights.end(), uint64_t{0});
  // Rounding adds at most one turn for each.
  return std::min<uint64_t>(total, core::limits::longest_turns + weights.size());
}

}  // namespace fairlead::tables
