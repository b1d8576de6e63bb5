// SPDX-License-Identifier: MIT
// Reads what a Publisher wrote the way the packet path does: which VIP, which service, which slot,
// which backend. One generation for the whole of a packet.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "core/limits.h"
#include "core/services.h"
#include "tables/memory.h"

namespace fairlead::tables {

class TestReader {
 public:
  explicit TestReader(const Memory& memory)
      : memory_(&memory), generation_(load(memory.settings->generation)) {}

  // What find_vip() and find_service() ask for.
  const core::Row& row(uint32_t i) const {
    const uint32_t rows = memory_->capacity.rows;
    return memory_->rows[generation_ * rows + (i & (rows - 1))];
  }
  const core::PrefixLengths& prefixes() const { return memory_->settings->prefixes[generation_]; }

  // Null: no VIP, or no such service.
  const core::Row* vip(core::Family family, const core::Address& address) const {
    return at(core::find_vip(*this, family, address));
  }
  const core::Row* service(const core::Row& vip, uint8_t protocol, uint16_t port) const {
    return at(core::find_service(*this, vip, protocol, core::to_be16(port), true));
  }

  core::TableRef table(uint32_t i) const { return load(memory_->tables[i]); }
  core::Slot slot(uint32_t i) const { return memory_->slots[i]; }
  uint8_t flags(uint32_t id) const { return load(memory_->backends[id].flags); }
  core::Backend line(uint32_t id) const {
    std::array<uint64_t, sizeof(core::Backend) / 8> words;
    auto* from = static_cast<uint64_t*>(static_cast<void*>(&memory_->backends[id]));
    for (size_t i = 0; i < words.size(); i++) words[i] = load(from[i]);
    return std::bit_cast<core::Backend>(words);
  }

 private:
  template <class T>
  static T load(T& word) {
    return std::atomic_ref<T>(word).load(std::memory_order_acquire);
  }
  const core::Row* at(uint32_t row_index) const {
    return row_index == core::no_row ? nullptr : &row(row_index);
  }

  const Memory* memory_;
  uint32_t generation_;
};

}  // namespace fairlead::tables
