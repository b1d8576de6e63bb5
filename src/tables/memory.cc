// SPDX-License-Identifier: MIT
#include "tables/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/limits.h"

namespace fairlead::tables {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t huge_page = 2u << 20;

constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

// Lays arrays one behind the other. Large ones begin at a huge page, so that a worker's connections
// share none with another array; the others begin at a page of their own.
class Layout {
 public:
  template <class T>
  uint64_t add(uint64_t count) {
    const uint64_t bytes = count * sizeof(T);
    const uint64_t at = round_up(end_, bytes >= huge_page ? huge_page : page);
    end_ = at + bytes;
    return at;
  }
  uint64_t bytes() const { return round_up(end_, huge_page); }

 private:
  uint64_t end_ = 0;
};

// Where each array begins, in bytes from the base.
struct Offsets {
  explicit Offsets(const Capacity& c) {
    const uint64_t workers = c.workers;
    settings = layout.add<core::Settings>(1);
    rows = layout.add<core::Row>(2ull * c.rows);
    branches = layout.add<core::Branch>(2ull * c.branches);
    tables = layout.add<core::TableRef>(c.tables);
    turns = layout.add<core::u64>(c.tables);
    live = layout.add<core::u64>(c.backends);
    backends = layout.add<core::Backend>(c.backends);
    counters = layout.add<core::WorkerCounters>(workers);
    backend_counters = layout.add<core::BackendCounters>(workers * c.backends);
    service_counters = layout.add<core::ServiceCounters>(workers * c.services);
    slots = layout.add<core::Slot>(c.slots);
    narrow = layout.add<core::NarrowBucket>(workers * c.narrow_lines);
    wide = layout.add<core::WideBucket>(workers * c.wide_lines);
    fragments = layout.add<core::NarrowBucket>(c.fragment_lines);
    translations = layout.add<core::Translation>(c.translations);
  }

  Layout layout;
  uint64_t settings, rows, branches, tables, turns, live, backends, counters, backend_counters,
      service_counters, slots, narrow, wide, fragments, translations;
};

// Reserved huge pages if there are enough, else memory that the kernel may back with huge pages.
// Nothing is touched here: each page comes to be on the NUMA node of the thread that first uses it.
void* map(uint64_t bytes) {
  constexpr int protection = PROT_READ | PROT_WRITE;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* reserved = ::mmap(nullptr, bytes, protection, flags | MAP_HUGETLB, -1, 0);
  if (reserved != MAP_FAILED) return reserved;

  // One huge page more than needed; what lies outside the aligned part is given back.
  void* loose = ::mmap(nullptr, bytes + huge_page, protection, flags, -1, 0);
  if (loose == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(loose);
  const uint64_t address = std::bit_cast<uint64_t>(begin);
  const uint64_t skip = round_up(address, huge_page) - address;
  if (skip != 0) ::munmap(begin, skip);
  if (skip != huge_page) ::munmap(begin + skip + bytes, huge_page - skip);
  ::madvise(begin + skip, bytes, MADV_HUGEPAGE);  // only a wish
  return begin + skip;
}

Result<void> examine(const Capacity& c) {
  struct Size {
    std::string_view name;
    uint32_t value, most;
    bool power_of_two = true;
  };
  const std::array sizes{
      Size{"workers", c.workers, core::limits::workers, false},
      Size{"rows", c.rows, 1u << 20},
      Size{"branches", c.branches, 1u << 16},
      Size{"tables", c.tables, 1u << 18},
      Size{"slots", c.slots, 1u << 30},
      Size{"backends", c.backends, core::limits::backends + 1},
      Size{"services", c.services, core::limits::services + 1},
      Size{"narrow_lines", c.narrow_lines, 1u << 26},
      Size{"wide_lines", c.wide_lines, 1u << 26},
      Size{"fragment_lines", c.fragment_lines, 1u << 16},
      Size{"translations", c.translations, 1u << 21},
  };
  for (const Size& size : sizes) {
    if (size.value == 0 || size.value > size.most) {
      return failure(fmt::format("capacity of {}: {} is not within 1 and {}", size.name, size.value,
                                 size.most));
    }
    if (size.power_of_two && !std::has_single_bit(size.value)) {
      return failure(
          fmt::format("capacity of {}: {} is not a power of two", size.name, size.value));
    }
  }
  return {};
}

}  // namespace

Capacity rounded(Capacity c) {
  for (uint32_t* size : {&c.rows, &c.branches, &c.tables, &c.slots, &c.backends, &c.services,
                         &c.narrow_lines, &c.wide_lines, &c.fragment_lines, &c.translations}) {
    *size = std::bit_ceil(*size);
  }
  return c;
}

Result<OwnMemory> OwnMemory::make(const Capacity& capacity) {
  if (auto fine = examine(capacity); !fine) return std::unexpected(fine.error());
  const Offsets at(capacity);
  const uint64_t bytes = at.layout.bytes();
  auto* base = static_cast<std::byte*>(map(bytes));
  if (base == nullptr) {
    return failure(
        fmt::format("no {} MB of memory for the tables of {} workers: {}; choose a smaller "
                    "connection_table_size or fewer threads",
                    bytes >> 20, capacity.workers, std::strerror(errno)));
  }
  OwnMemory memory;
  memory.base_ = base;
  memory.bytes_ = bytes;
  // Anonymous memory is zero, which is a valid value of every record.
  auto array = [base]<class T>(T*& pointer, uint64_t offset) {
    pointer = static_cast<T*>(static_cast<void*>(base + offset));
  };
  Memory& view = memory.view_;
  view.capacity = capacity;
  array(view.settings, at.settings);
  array(view.rows, at.rows);
  array(view.branches, at.branches);
  array(view.tables, at.tables);
  array(view.turns, at.turns);
  array(view.live, at.live);
  array(view.slots, at.slots);
  array(view.backends, at.backends);
  array(view.narrow, at.narrow);
  array(view.wide, at.wide);
  array(view.fragments, at.fragments);
  array(view.translations, at.translations);
  array(view.workers, at.counters);
  array(view.backend_counters, at.backend_counters);
  array(view.service_counters, at.service_counters);
  return memory;
}

OwnMemory::OwnMemory(OwnMemory&& other) noexcept
    : view_(std::exchange(other.view_, {})),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

OwnMemory& OwnMemory::operator=(OwnMemory&& other) noexcept {
  std::swap(view_, other.view_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

OwnMemory::~OwnMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

}  // namespace fairlead::tables
