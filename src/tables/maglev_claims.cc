// SPDX-License-Identifier: MIT
// Quotas, by the method of the largest remainder: everyone gets the whole part of their share, and
// what is left over goes, one slot each, to those who lost most by rounding.
#include <algorithm>
#include <numeric>
#include <utility>

#include "tables/maglev_fill.h"

namespace fairlead::tables {
namespace {

void give_quotas(std::vector<Claim>& claims, uint32_t size) {
  const uint64_t sum = std::accumulate(claims.begin(), claims.end(), uint64_t{0},
                                       [](uint64_t s, const Claim& c) { return s + c.weight; });
  uint32_t left = size;
  std::vector<std::pair<uint64_t, Claim*>> remainders;
  remainders.reserve(claims.size());
  for (Claim& claim : claims) {
    const uint64_t share = uint64_t{size} * claim.weight;
    claim.quota = static_cast<uint32_t>(share / sum);
    left -= claim.quota;
    remainders.emplace_back(share % sum, &claim);
  }
  // `claims` is in order of identity, and stable sorting keeps that order among equals.
  std::ranges::stable_sort(remainders, std::ranges::greater{},
                           [](const auto& r) { return r.first; });
  for (uint32_t i = 0; i < left; i++) remainders[i].second->quota++;
}

}  // namespace

std::vector<Claim> make_claims(std::span<const MaglevBackend> backends, uint32_t size) {
  std::vector<Claim> claims;
  claims.reserve(backends.size());
  for (uint32_t i = 0; i < backends.size(); i++) {
    const MaglevBackend& backend = backends[i];
    if (backend.weight == 0) continue;
    claims.push_back({backend.identity, backend.weight, 0, static_cast<uint16_t>(i)});
  }
  std::ranges::sort(claims, {}, &Claim::identity);
  if (!claims.empty()) give_quotas(claims, size);
  std::erase_if(claims, [](const Claim& claim) { return claim.quota == 0; });
  return claims;
}

bool is_prime(uint32_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0) return false;
  for (uint32_t d = 3; uint64_t{d} * d <= n; d += 2) {
    if (n % d == 0) return false;
  }
  return true;
}

}  // namespace fairlead::tables
