// SPDX-License-Identifier: MIT
#include "tables/row_table.h"

#include <gtest/gtest.h>

#include "tables/test_random.h"

namespace fairlead::tables {
namespace {

using core::Family;
using core::Row;
using core::RowKind;

// What find_row() asks of an engine's tables.
struct Reader {
  const RowTable& table;
  const Row& row(uint32_t i) const { return table.rows()[i & (table.rows().size() - 1)]; }
};

const Row* find(const RowTable& table, const Row& wanted) {
  const uint32_t at = core::find_row(Reader{table}, wanted.address, wanted.id);
  return at == core::no_row ? nullptr : &Reader{table}.row(at);
}

Row service_row(Random& random, uint16_t id) {
  const Family family = random.one_in(2) ? Family::v4 : Family::v6;
  Row row{};
  row.address.word[0] = random.below(50);
  if (family == Family::v6) row.address.word[3] = random.below(50);
  row.id = core::row_id(RowKind::service, family, core::host_length(family), 6,
                        static_cast<uint16_t>(random()));
  row.service = id;
  return row;
}

TEST(RowTable, makes_every_row_findable_at_a_load_of_a_quarter) {
  for (uint32_t seed = 0; seed < 100; seed++) {
    Random random(seed);
    RowTable table(8192);
    std::vector<Row> rows;
    for (uint16_t i = 0; i < 2048; i++) {
      const Row row = service_row(random, i);
      if (find(table, row)) continue;  // drawn twice
      ASSERT_TRUE(table.insert(row)) << "row " << i << ", seed " << seed;
      rows.push_back(row);
    }
    for (const Row& row : rows) {
      const Row* found = find(table, row);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->service, row.service);
    }
  }
}

TEST(RowTable, finds_nothing_that_was_not_put_in) {
  Random random(5);
  RowTable table(1024);
  for (uint16_t i = 0; i < 500; i++) table.insert(service_row(random, i));
  for (int i = 0; i < 1000; i++) {
    Row row = service_row(random, 0);
    row.id.protocol = 17;
    EXPECT_EQ(find(table, row), nullptr);
  }
}

TEST(RowTable, says_when_a_row_is_out_of_reach) {
  Random random(6);
  RowTable table(16);
  int placed = 0;
  bool fits = true;
  for (uint16_t i = 0; i < 17 && fits; i++) {
    fits = table.insert(service_row(random, i));
    placed += fits;
  }
  EXPECT_FALSE(fits);
  EXPECT_GE(placed, 8);
}

}  // namespace
}  // namespace fairlead::tables
