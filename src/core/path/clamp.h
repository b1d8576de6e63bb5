// SPDX-License-Identifier: MIT
// The MSS clamp: a SYN or SYN-ACK that announces more than fits into the tunnel announces what
// fits. CONTRACT section 7; RFC 9293 section 3.1 (options), RFC 6691 (MSS), RFC 1624 (checksum
// update).
#pragma once

#include "core/path/concepts.h"
#include "core/path/packet.h"

namespace fairlead::core {

namespace clamp_detail {

constexpr u8 option_end = 0;
constexpr u8 option_nop = 1;
constexpr u8 option_mss = 2;
constexpr u32 most_options = 40;  // bytes

struct FAIRLEAD_WIRE MssOption {
  u8 kind;
  u8 length;
  u8 high;
  u8 low;
};
static_assert(sizeof(MssOption) == 4);

// One byte of it at a time, wherever it stands.
struct OptionHead {
  u8 kind;
  u8 length;
};

// The offset of a well-formed MSS option between `at` and `end`; 0 if there is none, or if what
// stands before it is broken.
template <Frame F>
FAIRLEAD_INLINE u32 find_mss(const F& frame, u32 at, u32 end) {
  for (u32 i = 0; i < most_options && at + sizeof(MssOption) <= end; i++) {
    const OptionHead* option = frame.template at<OptionHead>(at);
    if (!option || option->kind == option_end) return 0;
    if (option->kind == option_nop) {
      at++;
      continue;
    }
    if (option->kind == option_mss) return option->length == sizeof(MssOption) ? at : 0;
    if (option->length < 2) return 0;
    at += option->length;
  }
  return 0;
}

template <class Handle>
[[gnu::noinline]] u32 find_mss_apart(const Handle* handle, u32 at, u32 end) {
  return find_mss(*handle, at, end);
}

}  // namespace clamp_detail

// `limit`: the largest MSS that fits. True if the packet was changed. To be called while the
// offsets in `packet` hold, before anything is put in front.
template <Frame F>
FAIRLEAD_INLINE bool clamp_mss(const F& frame, const Packet& packet, u16 limit) {
  using namespace clamp_detail;
  wire::Tcp* tcp = frame.template at<wire::Tcp>(packet.l4);
  if (!tcp) return false;
  const u32 options = packet.l4 + sizeof(wire::Tcp);
  const u32 end = packet.l4 + (tcp->offset >> 4) * 4u;
  if (options + sizeof(MssOption) > end) return false;
  u32 at = options;  // where nearly everybody puts it
  const MssOption* first = frame.template at<MssOption>(at);
  if (!first) return false;
  if (first->kind != option_mss || first->length != sizeof(MssOption)) {
    at = find_mss_apart(frame.handle(), options, end);
    if (at == 0) return false;
  }
  MssOption* option = frame.template at<MssOption>(at);
  tcp = frame.template at<wire::Tcp>(packet.l4);
  if (!option || !tcp) return false;
  const u16 before = static_cast<u16>(option->high << 8 | option->low);
  if (before <= limit) return false;
  option->high = static_cast<u8>(limit >> 8);
  option->low = static_cast<u8>(limit);
  // In the sum the value stands byte-swapped if it begins at an odd offset; a sum of words in
  // memory order swaps it once more on this machine.
  const bool odd = (at - packet.l4) & 1;
  const u32 from = odd ? before : to_be16(before);
  const u32 to = odd ? limit : to_be16(limit);
  u32 sum = (static_cast<u32>(~tcp->checksum) & 0xffff) + (~from & 0xffff) + to;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  tcp->checksum = static_cast<be16>(~sum);
  return true;
}

}  // namespace fairlead::core
