// SPDX-License-Identifier: MIT
#include "engine/host/held.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fairlead::host {

bool HeldFragments::add(uint64_t datagram, uint64_t ticket, uint64_t now_us,
                        std::span<const uint8_t> frame) {
  if (frame.size() > most_bytes - used_ || fragments_.size() == fragments_.capacity()) return false;
  const auto of_datagram = [&](const Fragment& held) { return held.datagram == datagram; };
  const bool known = std::ranges::any_of(fragments_, of_datagram);
  if (!known && datagrams() >= most_datagrams) return false;
  std::memcpy(store_.get() + used_, frame.data(), frame.size());
  fragments_.push_back({datagram, ticket, now_us, used_, static_cast<uint32_t>(frame.size())});
  used_ += static_cast<uint32_t>(frame.size());
  return true;
}

// Distinct ones; there are never more than most_datagrams.
uint32_t HeldFragments::datagrams() const {
  std::array<uint64_t, most_datagrams> seen;
  uint32_t count = 0;
  for (const Fragment& fragment : fragments_) {
    const auto end = seen.begin() + count;
    if (std::find(seen.begin(), end, fragment.datagram) == end) seen[count++] = fragment.datagram;
  }
  return count;
}

HeldFragments::Fragment HeldFragments::move_to(Fragment fragment, uint32_t offset) {
  if (offset != fragment.offset) {
    std::memmove(store_.get() + offset, store_.get() + fragment.offset, fragment.length);
  }
  fragment.offset = offset;
  return fragment;
}

}  // namespace fairlead::host
