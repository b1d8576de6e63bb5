// SPDX-License-Identifier: MIT
// The fill by lines against its own definition, written down without a bitmap, a queue or a mask:
// all visits of all backends, sorted by their times, each looking at every slot of its word.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "tables/maglev.h"
#include "tables/maglev_fill.h"
#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

constexpr uint16_t nobody = 0xffff;

uint32_t parity(uint32_t v) {
  uint32_t sum = 0;
  for (; v != 0; v /= 2) sum += v % 2;
  return sum % 2;
}

// Powers of b in GF(64), modulo b^6 + b + 1.
uint32_t power_of_b(uint32_t exponent) {
  uint32_t v = 1;
  for (uint32_t i = 0; i < exponent; i++) {
    v *= 2;
    if (v >= 64) v ^= 64 + 2 + 1;
  }
  return v;
}

uint32_t line_of(uint32_t family, uint32_t slot) {
  return parity(slot % 64 & power_of_b(family)) + 2 * parity(slot % 64 & power_of_b(family + 1));
}

struct Visit {
  uint64_t time;  // times weight, in units of 2^-28
  const Claim* claim;
  uint32_t line;  // word * 4 + line in the word
  uint32_t number;
};

std::vector<Visit> visits_in_order(std::span<const Claim> claims, uint32_t lists) {
  std::vector<Visit> out;
  for (const Claim& claim : claims) {
    const uint64_t hash = mix(claim.identity);
    const uint64_t position = (hash % (uint64_t{1} << 32)) * lists >> 32;
    const uint64_t skip = 1 + ((hash >> 32) * (lists - 1) >> 32);
    uint64_t time = 0;
    for (uint32_t n = 0; n < lists; n++) {
      time += (1u << 28) / (lists - n);
      out.push_back({time, &claim, static_cast<uint32_t>((position + n * skip) % lists), n});
    }
  }
  std::ranges::sort(out, [](const Visit& a, const Visit& b) {
    const uint64_t left = a.time * b.claim->weight, right = b.time * a.claim->weight;
    if (left != right) return left < right;
    if (a.claim->weight != b.claim->weight) return a.claim->weight > b.claim->weight;
    return a.claim->identity < b.claim->identity;
  });
  return out;
}

std::vector<uint16_t> by_definition(std::span<const Claim> claims, uint32_t size) {
  const uint32_t words = (size + 63) / 64;
  uint32_t lists = 4 * words;
  while (!is_prime(lists)) lists++;
  std::vector<uint16_t> table(size, nobody);
  std::map<const Claim*, uint32_t> left;
  for (const Claim& claim : claims) left[&claim] = claim.quota;
  uint32_t open = size;

  std::pair<uint32_t, uint32_t> round{0, 0};  // a weight and the number of a visit
  for (const Visit& visit : visits_in_order(claims, lists)) {
    const std::pair<uint32_t, uint32_t> its_round{visit.claim->weight, visit.number};
    if (its_round != round && open <= size / 200) break;  // a round that has begun is finished
    round = its_round;
    const uint32_t family = static_cast<uint32_t>(mix(visit.claim->identity) % 64);
    for (uint32_t s = 0; s < 64; s++) {
      const uint32_t slot = visit.line / 4 * 64 + s;
      if (slot >= size || line_of(family, s) != visit.line % 4) continue;
      if (table[slot] != nobody || left[visit.claim] == 0) continue;
      table[slot] = visit.claim->owner;
      left[visit.claim]--;
      open--;
    }
  }
  for (uint32_t slot = 0; slot < size; slot++) {
    if (table[slot] != nobody) continue;
    const Claim* best = nullptr;
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (const Claim& claim : claims) {
      const uint64_t hash = mix(claim.identity ^ mix(slot + 1));
      if (left[&claim] != 0 && hash < least) {
        best = &claim;
        least = hash;
      }
    }
    table[slot] = best->owner;
    left[best]--;
  }
  return table;
}

// Claims with quotas that add up, not necessarily the fair ones: any must be handed out exactly.
std::vector<Claim> random_claims(Random& random, uint32_t n, uint32_t heaviest, uint32_t size) {
  std::vector<Claim> claims;
  std::set<uint64_t> identities;
  for (uint32_t i = 0; i < n; i++) identities.insert(random());
  for (const uint64_t identity : identities) {
    const uint16_t owner = static_cast<uint16_t>(claims.size());
    claims.push_back({identity, 1 + random.below(heaviest), 1, owner});
  }
  uint32_t left = size - n;
  for (Claim& claim : claims) {
    const uint32_t more = std::min(left, random.below(2 * size / n));
    claim.quota += more;
    left -= more;
  }
  claims.front().quota += left;
  return claims;
}

TEST(MaglevLines, equal_their_definition_for_a_thousand_inputs) {
  Random random(11);
  constexpr uint32_t sizes[] = {31, 61, 127, 251, 509};
  for (int round = 0; round < 1000; round++) {
    const uint32_t size = sizes[random.below(5)];
    const uint32_t n = 1 + random.below(12);
    const uint32_t heaviest = random.one_in(3) ? 1 : random.one_in(3) ? 4'000'000'000 : 10;
    const auto claims = random_claims(random, n, heaviest, size);
    ASSERT_EQ(fill_lines(claims, size), by_definition(claims, size)) << "round " << round;
  }
}

TEST(MaglevLines, equal_their_definition_for_a_large_table) {
  Random random(12);
  const auto claims = random_claims(random, 40, 10, 16'381);
  EXPECT_EQ(fill_lines(claims, 16'381), by_definition(claims, 16'381));
}

TEST(MaglevLines, part_every_word_into_four_lines_of_sixteen) {
  for (uint32_t family = 0; family < 64; family++) {
    std::vector<uint32_t> counts(4);
    for (uint32_t s = 0; s < 64; s++) counts[line_of(family, s)]++;
    EXPECT_EQ(counts, std::vector<uint32_t>(4, 16)) << "family " << family;
  }
}

}  // namespace
}  // namespace fairlead::tables
