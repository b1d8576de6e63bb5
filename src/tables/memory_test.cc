// SPDX-License-Identifier: MIT
#include "tables/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

namespace fairlead::tables {
namespace {

using testing::HasSubstr;

Capacity small() {
  return {.workers = 3,
          .rows = 8,
          .tables = 4,
          .slots = 4096,
          .backends = 16,
          .services = 8,
          .narrow_lines = 32,
          .wide_lines = 64};
}

template <class T>
std::span<std::byte> bytes(T* array, size_t count) {
  return std::as_writable_bytes(std::span(array, count));
}

std::vector<std::span<std::byte>> arrays(const Memory& m) {
  const Capacity& c = m.capacity;
  return {bytes(m.settings, 1),
          bytes(m.rows, size_t{2} * c.rows),
          bytes(m.tables, c.tables),
          bytes(m.slots, c.slots),
          bytes(m.backends, c.backends),
          bytes(m.narrow, size_t{c.workers} * c.narrow_lines),
          bytes(m.wide, size_t{c.workers} * c.wide_lines),
          bytes(m.workers, c.workers),
          bytes(m.backend_counters, size_t{c.workers} * c.backends),
          bytes(m.service_counters, size_t{c.workers} * c.services)};
}

TEST(OwnMemory, is_zero_and_writable_and_its_arrays_do_not_overlap) {
  auto memory = OwnMemory::make(small());
  ASSERT_TRUE(memory) << memory.error().message;
  const auto all = arrays(memory->view());
  for (const auto& array : all) {
    EXPECT_TRUE(std::ranges::all_of(array, [](std::byte b) { return b == std::byte{0}; }));
  }
  for (size_t i = 0; i < all.size(); i++) std::ranges::fill(all[i], static_cast<std::byte>(i + 1));
  for (size_t i = 0; i < all.size(); i++) {
    EXPECT_TRUE(std::ranges::all_of(all[i], [&](std::byte b) { return b == std::byte(i + 1); }))
        << i;
  }
}

TEST(OwnMemory, puts_every_record_on_its_cache_line) {
  auto memory = OwnMemory::make(small());
  ASSERT_TRUE(memory) << memory.error().message;
  for (const auto& array : arrays(memory->view())) {
    EXPECT_EQ(std::bit_cast<uint64_t>(array.data()) % 4096, 0u);
  }
}

TEST(OwnMemory, begins_large_arrays_at_a_huge_page) {
  auto memory = OwnMemory::make(Capacity{});
  ASSERT_TRUE(memory) << memory.error().message;
  const Memory& m = memory->view();
  EXPECT_EQ(std::bit_cast<uint64_t>(m.slots) % (2u << 20), 0u);
  EXPECT_EQ(std::bit_cast<uint64_t>(m.narrow) % (2u << 20), 0u);
  EXPECT_EQ(std::bit_cast<uint64_t>(m.wide) % (2u << 20), 0u);
}

TEST(OwnMemory, moves_without_moving_the_records) {
  auto made = OwnMemory::make(small());
  ASSERT_TRUE(made) << made.error().message;
  core::Backend* const backends = made->view().backends;
  OwnMemory moved = std::move(*made);
  EXPECT_EQ(moved.view().backends, backends);
  auto other = OwnMemory::make(small());
  ASSERT_TRUE(other) << other.error().message;
  *other = std::move(moved);
  EXPECT_EQ(other->view().backends, backends);
  other->view().backends[15].flags = 1;
}

TEST(OwnMemory, refuses_capacities_that_cannot_be) {
  Capacity odd = small();
  odd.rows = 12;
  auto memory = OwnMemory::make(odd);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message, HasSubstr("capacity of rows: 12 is not a power of two"));

  Capacity none = small();
  none.workers = 0;
  EXPECT_FALSE(OwnMemory::make(none));
  Capacity ids = small();
  ids.backends = 1u << 17;  // more than an id of 16 bits can name
  EXPECT_FALSE(OwnMemory::make(ids));
}

TEST(OwnMemory, says_how_much_it_wanted_when_there_is_too_little) {
  Capacity huge = small();
  huge.workers = 64;
  huge.narrow_lines = 1u << 26;
  huge.wide_lines = 1u << 26;
  auto memory = OwnMemory::make(huge);  // 512 GB: refused, unless the kernel overcommits
  if (!memory) {
    EXPECT_THAT(memory.error().message, HasSubstr("MB of memory"));
  } else {
    EXPECT_NE(memory->view().wide, nullptr);
  }
}

}  // namespace
}  // namespace fairlead::tables
