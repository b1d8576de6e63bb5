// SPDX-License-Identifier: MIT
// Weighted round robin as a list: each backend as often as it weighs, spread as evenly as can be,
// so that whoever goes through it step by step serves them in turn (A A B A A B, not A A A A B B).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::tables {

// Indices into `weights`; a weight of 0 gets no turn. As long as the sum of the weights over their
// greatest common divisor. Where that is beyond core::limits::longest_turns, weights are rounded to
// about so many turns in all, none to 0.
std::vector<uint16_t> build_turns(std::span<const uint32_t> weights);

// The most turns that any part of these weights makes.
uint64_t most_turns(std::span<const uint32_t> weights);

}  // namespace fairlead::tables
