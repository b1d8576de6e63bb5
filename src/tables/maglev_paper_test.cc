// SPDX-License-Identifier: MIT
// The fill of the paper against the paper: algorithm 1 as it is printed, and the same with the
// turns of different weights sorted by their times.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tables/maglev.h"
#include "tables/maglev_fill.h"
#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

constexpr uint16_t nobody = 0xffff;

// permutation[i][j] of the paper.
uint32_t preference(const Claim& claim, uint32_t j, uint32_t size) {
  const uint64_t hash = mix(claim.identity);
  const uint32_t offset = below(size, static_cast<uint32_t>(hash));
  const uint32_t skip = below(size - 1, static_cast<uint32_t>(hash >> 32)) + 1;
  return static_cast<uint32_t>((offset + uint64_t{j} * skip) % size);
}

std::vector<uint16_t> algorithm_1(std::span<const Claim> claims, uint32_t size) {
  std::vector<uint32_t> next(claims.size(), 0);
  std::vector<uint16_t> entry(size, nobody);
  uint32_t n = 0;
  for (;;) {
    for (size_t i = 0; i < claims.size(); i++) {
      uint32_t c = preference(claims[i], next[i], size);
      while (entry[c] != nobody) {
        next[i]++;
        c = preference(claims[i], next[i], size);
      }
      entry[c] = claims[i].owner;
      next[i]++;
      n++;
      if (n == size) return entry;
    }
  }
}

std::vector<Claim> make_claims_of(Random& random, uint32_t n, uint32_t heaviest, uint32_t size) {
  std::vector<MaglevBackend> backends;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t identity = random();
    backends.push_back({identity, 1 + random.below(heaviest)});
  }
  return make_claims(backends, size);
}

TEST(MaglevPaper, equals_algorithm_1_for_equal_weights) {
  Random random(1);
  for (const uint32_t size : {2u, 3u, 31u, 4093u, 65'537u}) {
    for (const uint32_t n : {1u, 2u, 7u, 100u, 1000u}) {
      const auto claims = make_claims_of(random, n, 1, size);
      EXPECT_EQ(fill_paper(claims, size), algorithm_1(claims, size)) << size << " slots, of " << n;
    }
  }
}

struct Turn {
  uint32_t k;
  const Claim* claim;
};

std::vector<uint16_t> turns_sorted_by_time(std::span<const Claim> claims, uint32_t size) {
  std::vector<Turn> turns;
  for (const Claim& claim : claims) {
    for (uint32_t k = 1; k <= claim.quota; k++) turns.push_back({k, &claim});
  }
  std::ranges::sort(turns, [](const Turn& a, const Turn& b) {
    const uint64_t left = uint64_t{a.k} * b.claim->weight;
    const uint64_t right = uint64_t{b.k} * a.claim->weight;
    if (left != right) return left < right;
    if (a.claim->weight != b.claim->weight) return a.claim->weight > b.claim->weight;
    return a.claim->identity < b.claim->identity;
  });
  std::vector<uint16_t> entry(size, nobody);
  for (const Turn& turn : turns) {
    uint32_t j = 0;
    while (entry[preference(*turn.claim, j, size)] != nobody) j++;
    entry[preference(*turn.claim, j, size)] = turn.claim->owner;
  }
  return entry;
}

TEST(MaglevPaper, takes_turns_as_often_as_the_weights_say) {
  Random random(2);
  constexpr uint32_t sizes[] = {31, 61, 251, 509};
  for (int round = 0; round < 1000; round++) {
    const uint32_t size = sizes[random.below(4)];
    const uint32_t heaviest = random.one_in(3) ? 4'000'000'000 : 10;
    const auto claims = make_claims_of(random, 1 + random.below(20), heaviest, size);
    ASSERT_EQ(fill_paper(claims, size), turns_sorted_by_time(claims, size)) << "round " << round;
  }
}

}  // namespace
}  // namespace fairlead::tables
