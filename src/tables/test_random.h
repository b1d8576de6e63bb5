// SPDX-License-Identifier: MIT
// Random numbers for tests: the same ones for the same seed, with every library.
#pragma once

#include <cstdint>

#include "tables/maglev_fill.h"

namespace fairlead::tables {

class Random {
 public:
  using result_type = uint64_t;
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15); }
  uint32_t below(uint32_t n) { return tables::below(n, static_cast<uint32_t>((*this)())); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

 private:
  uint64_t state_;
};

}  // namespace fairlead::tables
