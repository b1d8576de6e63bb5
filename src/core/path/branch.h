// SPDX-License-Identifier: MIT
// Which of its pools a service takes for a flow: routes in their order, then the split, then its
// own pool. CONTRACT section 3. What decides is in every packet of the flow (source address, hash),
// so that all of them take the same branch, on every node.
//
// A split is weighted rendezvous hashing (Schindelhauer and Schomaker 2005): each branch draws a
// number u in (0, 1) from the flow hash and its position in the split, and the smallest -log2(u) /
// weight wins. Branches get flows by weight, and whoever raises one weight moves flows to that
// branch only: none comes back, and none changes between the others. Shares are exact; of n flows
// a branch gets as many as chance gives.
#pragma once

#include "core/hash.h"
#include "core/path/concepts.h"
#include "core/services.h"

namespace fairlead::core {

namespace branch_detail {

// -log2(u / 2^32) in units of 2^-26, rounded down and never 0, for 1 <= u < 2^32. Squares a
// mantissa of 31 bits: each time it passes 2 the next bit of the logarithm is 1 (Knuth, TAOCP
// 1.2.2, exercise 25).
FAIRLEAD_INLINE constexpr u64 minus_log2(u32 u) {
  const u32 zeros = static_cast<u32>(__builtin_clz(u));
  u64 mantissa = static_cast<u64>(u) << zeros;  // in [1, 2) * 2^31
  u64 fraction = 0;
  for (u32 bit = 0; bit < 26; bit++) {
    mantissa = mantissa * mantissa >> 31;
    const u64 one = mantissa >> 32;
    mantissa >>= one;
    fraction = fraction << 1 | one;
  }
  return (static_cast<u64>(zeros + 1) << 26) - fraction;
}

// The number that a branch of the split draws for a flow.
FAIRLEAD_INLINE constexpr u32 draw(u64 hash, u32 position) {
  using namespace hash_detail;
  const u64 mixed = mix(mix(hash, (position + 1) * k2, k1), k3, k2);
  return static_cast<u32>(mixed >> 32) | 1;
}

FAIRLEAD_INLINE bool takes(const Branch& route, Family family, const Address& source) {
  return route.family == family && masked(source, route.prefix_length) == route.source;
}

}  // namespace branch_detail

template <Tables T>
[[gnu::noinline]] u64 minus_log2_apart(const T*, u32 u) {
  return branch_detail::minus_log2(u);
}

// The pool (the index of its first TableRef) that a flow takes. `first`: where the branches of the
// service begin; the last of them is of kind `otherwise`.
template <Tables T>
FAIRLEAD_INLINE u32 branch_of(const T& tables, u32 first, Family family, const Address& source,
                              u64 hash) {
  using namespace branch_detail;
  u32 best = 0;         // of the split: the pool,
  u64 best_weight = 0;  // its weight,
  u64 best_drawn = 1;   // and what it drew
  for (u32 i = 0; i < limits::branches; i++) {
    const Branch& branch = tables.branch(first + i);
    if (branch.kind == BranchKind::otherwise) return best_weight == 0 ? branch.pool : best;
    if (branch.kind == BranchKind::route) {
      if (takes(branch, family, source)) return branch.pool;
      continue;
    }
    const u64 drawn = minus_log2_apart(&tables, draw(hash, branch.position));
    if (branch.weight * best_drawn > best_weight * drawn) {
      best = branch.pool;
      best_weight = branch.weight;
      best_drawn = drawn;
    }
  }
  return best;
}

}  // namespace fairlead::core
