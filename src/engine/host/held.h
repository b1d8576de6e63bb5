// SPDX-License-Identifier: MIT
// Later fragments that came before their first one, for a tenth of a second. Bounded in datagrams,
// bytes and time, whatever arrives; all memory is taken at the start. CONTRACT section 5.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fairlead::host {

class HeldFragments {
 public:
  static constexpr uint32_t most_datagrams = 64;
  static constexpr uint32_t most_bytes = 256 * 1024;
  static constexpr uint64_t longest_us = 100'000;

  struct Fragment {
    uint64_t datagram;  // its fragment_hash()
    uint64_t ticket;    // the caller's
    uint64_t since_us;
    uint32_t offset;  // in the store
    uint32_t length;
  };

  HeldFragments() : store_(new uint8_t[most_bytes]) { fragments_.reserve(most_bytes / 64); }

  bool empty() const { return fragments_.empty(); }
  size_t count() const { return fragments_.size(); }

  // False: there is no room.
  bool add(uint64_t datagram, uint64_t ticket, uint64_t now_us, std::span<const uint8_t> frame);

  // Calls take(fragment, bytes) for each in order of arrival and forgets those for which it says
  // so.
  template <class Take>
  void sweep(Take take) {
    uint32_t kept = 0;
    size_t next = 0;
    for (const Fragment& fragment : fragments_) {
      const std::span<const uint8_t> bytes(store_.get() + fragment.offset, fragment.length);
      if (take(fragment, bytes)) continue;
      fragments_[next] = move_to(fragment, kept);
      kept += fragment.length;
      next++;
    }
    fragments_.resize(next);
    used_ = kept;
  }

 private:
  uint32_t datagrams() const;
  Fragment move_to(Fragment fragment, uint32_t offset);

  std::unique_ptr<uint8_t[]> store_;
  uint32_t used_ = 0;
  std::vector<Fragment> fragments_;
};

}  // namespace fairlead::host
