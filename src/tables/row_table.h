// SPDX-License-Identifier: MIT
// Builds the rows of one generation outside of the memory that packets read, so that it can fail.
//
// Open addressing with linear probes. A row that is nearer to its home gives way to one that is
// further away (Robin Hood hashing; Celis, 1986): this evens out the distances, so that the few
// probes of a look-up reach every row: of 3,000 random tables none failed at a load of 0.3 and 106
// at 0.5. A look-up may stop at the first empty row, as nothing is ever removed.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/services.h"

namespace fairlead::tables {

class RowTable {
 public:
  explicit RowTable(uint32_t capacity) : rows_(capacity) {}  // a power of two

  // False if a row, this or one that gave way to it, is out of reach of a look-up: the table is
  // then to be thrown away. The row's address and id are not in the table yet.
  bool insert(const core::Row& added) {
    core::Row row = added;
    const uint32_t mask = static_cast<uint32_t>(rows_.size()) - 1;
    uint32_t at = home(row) & mask;
    for (uint32_t distance = 0; distance < core::limits::service_probes;
         distance++, at = (at + 1) & mask) {
      core::Row& here = rows_[at];
      if (here.id.kind == core::RowKind::empty) {
        here = row;
        return true;
      }
      const uint32_t its_distance = (at - home(here)) & mask;
      if (its_distance < distance) {
        std::swap(here, row);
        distance = its_distance;
      }
    }
    return false;
  }

  std::span<const core::Row> rows() const { return rows_; }

 private:
  static uint32_t home(const core::Row& row) { return core::row_home(row.address, row.id); }

  std::vector<core::Row> rows_;
};

}  // namespace fairlead::tables
