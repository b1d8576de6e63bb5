// SPDX-License-Identifier: MIT
// The two ways to fill a Maglev table. Both get the same claims and hand out exactly the quotas;
// they differ in who gets which slot, hence in how many slots move when backends change, and in
// time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tables/maglev.h"

namespace fairlead::tables {

// What one backend is to get. Claims come in ascending order of identity; quotas are at least 1 and
// add up to the size of the table.
struct Claim {
  uint64_t identity;
  uint32_t weight;
  uint32_t quota;
  uint16_t owner;  // what is written into its slots
};

// Without those that get nothing; empty if nobody has weight. maglev_claims.cc.
std::vector<Claim> make_claims(std::span<const MaglevBackend> backends, uint32_t size);

// The turns of the paper, maglev_paper.cc.
std::vector<uint16_t> fill_paper(std::span<const Claim> claims, uint32_t size);

// A clock instead of turns, lines instead of slots, maglev_lines.cc.
std::vector<uint16_t> fill_lines(std::span<const Claim> claims, uint32_t size);

// A bijection of 64-bit numbers that spreads each bit over all others (the finaliser of SplitMix64;
// Steele et al., OOPSLA '14).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// A number below n from 32 bits that are evenly spread, without the bias and time of a remainder.
constexpr uint32_t below(uint32_t n, uint32_t bits) {
  return static_cast<uint32_t>(uint64_t{bits} * n >> 32);
}

}  // namespace fairlead::tables
