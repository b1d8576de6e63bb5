// SPDX-License-Identifier: MIT
// Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI '16, section
// 3.4, algorithm 1. Every backend has a list of preferences, a permutation of all slots: offset,
// offset + skip, offset + 2 * skip ... modulo the table's size, which is prime. In its turn a
// backend takes the first slot of its list that is free.
//
// The paper lets the frequency of turns follow the weights and leaves open how. Here turn k (from
// 1) of weight w is due at time k / w, compared exactly. At time size / sum of weights everyone has
// had the whole part of its share; what is then left over goes to those whose quota is one more.
// With equal weights these are the paper's rounds. In a round the order is that of the identities.
#include <algorithm>
#include <queue>

#include "tables/maglev_fill.h"

namespace fairlead::tables {
namespace {

constexpr uint16_t free_slot = 0xffff;  // never an owner: there are at most 65,535

// Backends of one weight. They take their turns together, so the queue below stays short: one entry
// per weight in use.
struct Group {
  uint32_t weight;
  uint32_t turn;         // the next one, from 1
  uint32_t first, last;  // its walkers: [first, last)
};

struct Walker {
  uint32_t position;  // the next slot of its list
  uint32_t skip;
  uint32_t left;  // of its quota
  uint16_t owner;
};

// Orders a queue with the earliest turn on top; equal times by weight, so that the order is total.
struct DueLater {
  bool operator()(const Group& a, const Group& b) const {
    const uint64_t left = uint64_t{a.turn} * b.weight;
    const uint64_t right = uint64_t{b.turn} * a.weight;
    return left != right ? left > right : a.weight < b.weight;
  }
};

void take_turn(Walker& walker, std::vector<uint16_t>& table) {
  const uint32_t size = static_cast<uint32_t>(table.size());
  uint32_t at = walker.position;
  while (table[at] != free_slot) {
    at += walker.skip;
    if (at >= size) at -= size;
  }
  table[at] = walker.owner;
  walker.position = at;
  walker.left--;
}

}  // namespace

std::vector<uint16_t> fill_paper(std::span<const Claim> claims, uint32_t size) {
  std::vector<Claim> order(claims.begin(), claims.end());
  std::ranges::stable_sort(order, std::ranges::greater{}, &Claim::weight);

  std::vector<Walker> walkers;
  walkers.reserve(order.size());
  std::priority_queue<Group, std::vector<Group>, DueLater> queue;
  for (uint32_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin; end < order.size() && order[end].weight == order[begin].weight; end++) {
      const uint64_t hash = mix(order[end].identity);
      walkers.push_back({below(size, static_cast<uint32_t>(hash)),
                         1 + below(size - 1, static_cast<uint32_t>(hash >> 32)), order[end].quota,
                         order[end].owner});
    }
    queue.push({order[begin].weight, 1, begin, end});
  }

  std::vector<uint16_t> table(size, free_slot);
  while (!queue.empty()) {
    Group group = queue.top();
    queue.pop();
    bool goes_on = false;
    for (uint32_t i = group.first; i < group.last; i++) {
      if (walkers[i].left == 0) continue;
      take_turn(walkers[i], table);
      goes_on |= walkers[i].left != 0;
    }
    group.turn++;
    if (goes_on) queue.push(group);
  }
  return table;
}

}  // namespace fairlead::tables
