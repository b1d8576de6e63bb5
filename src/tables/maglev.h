// SPDX-License-Identifier: MIT
// The Maglev table (Eisenbud et al., NSDI '16, section 3.4): a prime number of slots, each owned by
// one backend, so that shares follow the weights and few slots change hands when a backend comes or
// goes. Identities, weights and the seed decide everything; the order of the input does not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::tables {

// Who a backend is, for the table: a hash of its address (and port in NAT) and the pool's seed.
struct MaglevBackend {
  uint64_t identity;  // different for different backends
  uint32_t weight;    // 0: owns no slot
};

enum class Fill { paper, lines };

// The owner of every slot as an index into `backends`; empty if no backend has weight. `size` is a
// prime, limits::smallest_table to limits::largest_table. Slots of backend i: within one of
// size * weight_i / sum of weights (largest remainder; ties by identity).
// Entries of `backends` have different identities. Any thread.
std::vector<uint16_t> build_maglev(std::span<const MaglevBackend> backends, uint32_t size,
                                   Fill fill);

bool is_prime(uint32_t n);

}  // namespace fairlead::tables
