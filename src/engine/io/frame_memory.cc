// SPDX-License-Identifier: MIT
// FrameMemory: see frame_memory.h.
#include "engine/io/frame_memory.h"

#include <sys/mman.h>

#include <bit>

namespace fairlead::engine {
namespace {

constexpr size_t huge_page = 2u << 20;
constexpr size_t round_up(size_t n) { return (n + huge_page - 1) / huge_page * huge_page; }

}  // namespace

FrameMemory::FrameMemory(size_t bytes) : size_(round_up(bytes)) {
  constexpr int protection = PROT_READ | PROT_WRITE;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* memory = ::mmap(nullptr, size_, protection, flags | MAP_HUGETLB, -1, 0);
  if (memory != MAP_FAILED) {
    data_ = static_cast<uint8_t*>(memory);
    return;
  }
  // No reserved ones: memory at a border of huge pages, which the kernel may back with them.
  memory = ::mmap(nullptr, size_ + huge_page, protection, flags, -1, 0);
  if (memory == MAP_FAILED) {
    return;
  }
  auto* loose = static_cast<uint8_t*>(memory);
  const auto address = std::bit_cast<uintptr_t>(loose);
  const size_t skip = round_up(address) - address;
  if (skip != 0) {
    ::munmap(loose, skip);
  }
  if (skip != huge_page) {
    ::munmap(loose + skip + size_, huge_page - skip);
  }
  data_ = loose + skip;
  ::madvise(data_, size_, MADV_HUGEPAGE);  // only a wish
}

FrameMemory::~FrameMemory() {
  if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace fairlead::engine
