// SPDX-License-Identifier: MIT
// Which parts of an array are taken: first fit, in units of one cache line of slots. A Maglev table
// is written into a new part while packets read the old one, so the array needs room for both. One
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace fairlead::tables {

class SlotArena {
 public:
  static constexpr uint32_t unit = 32;

  explicit SlotArena(uint32_t capacity) : capacity_(capacity / unit * unit) {}

  // The begin of a free part of n slots, n > 0; nothing if no gap is that large.
  std::optional<uint32_t> take(uint32_t n) {
    if (n > capacity_) return std::nullopt;
    const uint32_t length = (n + unit - 1) / unit * unit;
    uint32_t begin = 0;
    for (const auto& [at, taken] : parts_) {
      if (at - begin >= length) break;
      begin = at + taken;
    }
    if (capacity_ - begin < length) return std::nullopt;
    parts_.emplace(begin, length);
    used_ += length;
    return begin;
  }

  // `begin` was given by take().
  void give_back(uint32_t begin) {
    const auto part = parts_.find(begin);
    if (part == parts_.end()) return;
    used_ -= part->second;
    parts_.erase(part);
  }

  uint32_t used() const { return used_; }
  uint32_t capacity() const { return capacity_; }

 private:
  uint32_t capacity_;
  uint32_t used_ = 0;
  std::map<uint32_t, uint32_t> parts_;  // begin, length
};

}  // namespace fairlead::tables
