// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Lowers the MSS option of TCP packets with SYN that leave this host with a VIP as their source:
// the SYN-ACKs of its servers, which go straight to the client and never pass the balancer. What
// they announce is what the client's segments may have, and those come through the tunnel, which
// has less room than the client's link. Only lowers; a packet without the option, or with broken
// ones, stays.
//
// It stands at the egress of an interface, in tcx or as a filter of clsact, after the stack and
// before the driver. Where the driver is to make the checksum, only that of the pseudo header is
// there yet, which the option is no part of: the kernel's helper knows the difference. Always says
// "next": whatever else stands there sees the packet too. Tags are the business of the interface
// they are set on.
#include "backend/records.h"
#include "bpf/helpers.h"
#include "core/types.h"
#include "core/wire.h"

using namespace fairlead;
using namespace fairlead::core;
using backend::MssLimits;

extern "C" {

struct vips_map {  // of decap.bpf.cc: the same map
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, backend::max_vips);
  __type(key, backend::VipKey);
  __type(value, u8);
} vips SEC(".maps");

struct mss_limits_map {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, MssLimits);
} mss_limits SEC(".maps");

struct mss_clamped_map {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u64);
} mss_clamped SEC(".maps");

}  // extern "C"

namespace {

constexpr int next_program = -1;  // TCX_NEXT and TC_ACT_UNSPEC
constexpr u32 option_end = 0, option_nop = 1, option_mss = 2;
constexpr u32 most_options = 40;  // bytes
constexpr u32 checksum_at = 16;   // in the TCP header

struct FAIRLEAD_WIRE_HALF Option {
  u8 kind, length;
  be16 value;
};

template <class T>
FAIRLEAD_INLINE bool read(__sk_buff* skb, u32 offset, T& to) {
  return bpf::detail::call<long, const __sk_buff*, u32, void*, u32>(
             BPF_FUNC_skb_load_bytes, skb, offset, &to, u32{sizeof to}) == 0;
}

// Where the TCP header of a packet of a whole datagram is, and who sent it; 0: there is none.
FAIRLEAD_INLINE u32 find_tcp(__sk_buff* skb, backend::VipKey& source) {
  constexpr u32 ip_at = sizeof(wire::Ethernet);
  if (skb->protocol == wire::type_ipv4) {
    wire::Ipv4 ip;
    if (!read(skb, ip_at, ip) || ip.protocol != wire::protocol_tcp) return 0;
    if (to_host(ip.fragment) & wire::fragment_offset_mask) return 0;
    source = {4, {{ip.source, 0, 0, 0}}};
    return ip_at + (ip.version_length & 15u) * 4;
  }
  if (skb->protocol != wire::type_ipv6) return 0;
  wire::Ipv6 ip;
  if (!read(skb, ip_at, ip) || ip.next_header != wire::protocol_tcp) return 0;
  source = {6, {{ip.source[0], ip.source[1], ip.source[2], ip.source[3]}}};
  return ip_at + u32{sizeof ip};
}

// Where the MSS option is, and what it says; 0: there is none.
FAIRLEAD_INLINE u32 find_mss(__sk_buff* skb, u32 at, u32 end, Option& option) {
  for (u32 i = 0; i < most_options; i++) {
    if (at + sizeof option > end || !read(skb, at, option)) return 0;
    if (option.kind == option_mss) return option.length == sizeof option ? at : 0;
    if (option.kind == option_end || (option.kind != option_nop && option.length < 2)) return 0;
    at += option.kind == option_nop ? 1 : option.length;
  }
  return 0;
}

constexpr be16 swapped(be16 value) { return static_cast<be16>(value << 8 | value >> 8); }

FAIRLEAD_INLINE bool replace(__sk_buff* skb, u32 tcp, u32 at, be16 from, be16 to) {
  if (bpf::detail::call<long, __sk_buff*, u32, const void*, u32, u64>(
          BPF_FUNC_skb_store_bytes, skb, at, &to, u32{sizeof to}, 0) != 0) {
    return false;
  }
  const bool odd = (at - tcp) & 1;  // the halves belong to two words of the sum
  return bpf::detail::call<long, __sk_buff*, u32, u64, u64, u64>(
             BPF_FUNC_l4_csum_replace, skb, tcp + checksum_at, odd ? swapped(from) : from,
             odd ? swapped(to) : to, sizeof to) == 0;
}

}  // namespace

extern "C" {

SEC("tc") int clamp_mss(__sk_buff* skb) {
  backend::VipKey source;
  const u32 tcp_at = find_tcp(skb, source);
  wire::Tcp tcp;
  if (tcp_at == 0 || !read(skb, tcp_at, tcp) || !(tcp.flags & wire::tcp_syn)) return next_program;
  if (!bpf::map_lookup_elem<u8>(&vips, &source)) return next_program;
  const u32 key = 0;
  const MssLimits* limits = bpf::map_lookup_elem<MssLimits>(&mss_limits, &key);
  if (!limits) return next_program;
  const u32 limit = source.family == 4 ? limits->v4 : limits->v6;
  Option option;
  const u32 at = find_mss(skb, tcp_at + u32{sizeof tcp}, tcp_at + (tcp.offset >> 4) * 4u, option);
  if (at == 0 || limit == 0 || to_host(option.value) <= limit) return next_program;
  if (replace(skb, tcp_at, at + 2, option.value, to_be16(static_cast<u16>(limit)))) {
    if (u64* count = bpf::map_lookup_elem<u64>(&mss_clamped, &key)) ++*count;
  }
  return next_program;
}

}  // extern "C"

BPF_LICENSE("Dual MIT/GPL");
