// SPDX-License-Identifier: MIT
#include "tables/maglev.h"

#include "base/check.h"
#include "core/limits.h"
#include "tables/maglev_fill.h"

namespace fairlead::tables {

std::vector<uint16_t> build_maglev(std::span<const MaglevBackend> backends, uint32_t size,
                                   Fill fill) {
  check(
      size >= core::limits::smallest_table && size <= core::limits::largest_table && is_prime(size),
      "a Maglev table of {} slots", size);
  check(backends.size() <= core::limits::backends, "a Maglev table for {} backends",
        backends.size());
  const std::vector<Claim> claims = make_claims(backends, size);
  if (claims.empty()) return {};
  return fill == Fill::paper ? fill_paper(claims, size) : fill_lines(claims, size);
}

}  // namespace fairlead::tables
