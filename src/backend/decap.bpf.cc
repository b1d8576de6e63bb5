// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The backend's half of a tunnel: takes the outer headers off packets whose inner destination is a
// VIP of this host, and leaves every other packet as it is. It stands in XDP, so that a backend
// needs no tunnel device, and the host's stack sees the client's own packet arrive on the
// interface.
//
// Taken off: IPv4 or IPv6 (options and extension headers too) with GRE (RFC 2784, flags 0), IP in
// IP (RFC 2003, RFC 2473, RFC 4213) or GUE (UDP port 6080, variant 0, no extensions). Ethernet and
// up to two VLAN tags stay. ECN is carried inwards as RFC 6040 says. Fragments of outer packets
// are for the stack: what fairlead sends has DF.
//
// Neither the outer addresses nor the outer UDP checksum are looked at: the inner packet is
// delivered exactly as if it had come without a tunnel, its own checksum included, so whoever can
// forge the outside gains nothing that he did not have.
#include "backend/records.h"
#include "bpf/helpers.h"
#include "core/limits.h"
#include "core/types.h"

using namespace fairlead;
using namespace fairlead::core;
using backend::Outcome;

extern "C" {

struct vips_map {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, backend::max_vips);
  __type(key, backend::VipKey);
  __type(value, u8);
} vips SEC(".maps");

struct packets_map {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, backend::outcome_count);
  __type(key, u32);
  __type(value, u64);
} packets SEC(".maps");

}  // extern "C"

namespace {

constexpr u16 type_ipv4 = to_be16(0x0800), type_ipv6 = to_be16(0x86dd);
constexpr u16 type_vlan = to_be16(0x8100), type_service_vlan = to_be16(0x88a8);
constexpr u8 protocol_hop_by_hop = 0, protocol_ipv4 = 4, protocol_udp = 17, protocol_ipv6 = 41;
constexpr u8 protocol_routing = 43, protocol_gre = 47, protocol_destination_options = 60;
constexpr be16 gue_port = to_be16(6080);
constexpr u32 ethernet_size = 14, tag_size = 4;
constexpr u32 largest_offset = 2047;  // headers further inside are not read

struct FAIRLEAD_WIRE Ipv4 {
  u8 version_length, tos;
  be16 total_length, id, fragment;
  u8 ttl, protocol;
  be16 checksum;
  be32 source, destination;
};

struct FAIRLEAD_WIRE Ipv6 {
  be32 version_class_flow;
  be16 payload_length;
  u8 next, hop_limit;
  Address source, destination;
};

struct FAIRLEAD_WIRE ExtensionHeader {
  u8 next, length, rest[2];
};

struct FAIRLEAD_WIRE Gre {
  be16 flags, type;
};

struct FAIRLEAD_WIRE UdpGue {
  be16 source, destination, length, checksum;
  u8 variant_length, protocol;
  be16 flags;
};

// The first buffer of the frame, where all headers are, and the length of all of it.
struct Frame {
  u8* data;
  u8* end;
  u32 length;

  FAIRLEAD_INLINE explicit Frame(xdp_md* context)
      : data(reinterpret_cast<u8*>(static_cast<u64>(context->data))),
        end(reinterpret_cast<u8*>(static_cast<u64>(context->data_end))),
        length(static_cast<u32>(bpf::xdp_get_buff_len(context))) {}

  // A header at `offset`, or null when it is not wholly there.
  template <class Header>
  FAIRLEAD_INLINE Header* at(u32 offset) const {
    BPF_BARRIER(offset);
    if (offset > largest_offset) return nullptr;
    u8* header = data + offset;
    if (header + sizeof(Header) > end) return nullptr;
    return reinterpret_cast<Header*>(header);
  }
};

// One IP packet, outer or inner: where it is and what follows its header.
struct Packet {
  u32 offset, payload, end;  // from the start of the frame
  u8 protocol, ecn;
};

struct Tunnel {
  Outcome kind;
  u32 inner;  // offset of the inner IP header
  be16 type;  // its ethertype
};

FAIRLEAD_INLINE void count(Outcome outcome) {
  u32 index = static_cast<u32>(outcome);
  if (u64* counter = bpf::map_lookup_elem<u64>(&packets, &index)) ++*counter;
}

// The offset of the IP header and its ethertype; 0 when the tags are cut short.
FAIRLEAD_INLINE u32 skip_link_header(const Frame& frame, be16& type) {
  u32 offset = ethernet_size;
  const be16* next = frame.at<be16>(ethernet_size - 2);
  if (!next) return 0;
  type = *next;
  for (u32 tag = 0; tag < limits::vlan_tags; ++tag) {
    if (type != type_vlan && type != type_service_vlan) break;
    next = frame.at<be16>(offset + 2);
    if (!next) return 0;
    type = *next;
    offset += tag_size;
  }
  return offset;
}

// Reads one IPv4 packet at `offset`, which must end at or before `limit`.
FAIRLEAD_INLINE bool read_ipv4(const Frame& frame, u32 offset, u32 limit, Packet& packet) {
  const Ipv4* ip = frame.at<Ipv4>(offset);
  if (!ip) return false;
  const u32 header = (ip->version_length & 15u) * 4;
  const u32 total = to_host(ip->total_length);
  if (ip->version_length >> 4 != 4 || header < sizeof(Ipv4) || total < header) return false;
  packet = {offset, offset + header, offset + total, ip->protocol, static_cast<u8>(ip->tos & 3)};
  return packet.end <= limit;
}

FAIRLEAD_INLINE bool read_ipv6(const Frame& frame, u32 offset, u32 limit, Packet& packet) {
  const Ipv6* ip = frame.at<Ipv6>(offset);
  if (!ip) return false;
  const u32 word = to_host(ip->version_class_flow);
  if (word >> 28 != 6) return false;
  packet = {offset, offset + static_cast<u32>(sizeof(Ipv6)),
            offset + static_cast<u32>(sizeof(Ipv6)) + to_host(ip->payload_length), ip->next,
            static_cast<u8>(word >> 20 & 3)};
  return packet.end <= limit;
}

// Moves over the extension headers of an outer IPv6 packet, e.g. the tunnel encapsulation limit.
FAIRLEAD_INLINE bool skip_extension_headers(const Frame& frame, Packet& packet) {
  for (u32 i = 0; i < limits::ipv6_extension_headers; ++i) {
    if (packet.protocol != protocol_hop_by_hop && packet.protocol != protocol_routing &&
        packet.protocol != protocol_destination_options)
      return true;
    const ExtensionHeader* header = frame.at<ExtensionHeader>(packet.payload);
    if (!header) return false;
    packet.protocol = header->next;
    packet.payload += (header->length + 1u) * 8;
  }
  return true;
}

FAIRLEAD_INLINE bool read_outer(const Frame& frame, u32 offset, be16 type, Packet& packet) {
  if (type == type_ipv4) {
    if (!read_ipv4(frame, offset, frame.length, packet)) return false;
    const Ipv4* ip = frame.at<Ipv4>(offset);
    return ip && !(ip->fragment & to_be16(0x3fff));
  }
  return type == type_ipv6 && read_ipv6(frame, offset, frame.length, packet) &&
         skip_extension_headers(frame, packet);
}

// What the outer packet carries; false when it is none of our tunnels.
FAIRLEAD_INLINE bool read_tunnel(const Frame& frame, const Packet& outer, Tunnel& tunnel) {
  u8 protocol = outer.protocol;
  tunnel = {Outcome::ipip, outer.payload, 0};
  if (protocol == protocol_gre) {
    const Gre* gre = frame.at<Gre>(outer.payload);
    if (!gre || gre->flags) return false;
    tunnel = {Outcome::gre, outer.payload + static_cast<u32>(sizeof(Gre)), gre->type};
    return gre->type == type_ipv4 || gre->type == type_ipv6;
  }
  if (protocol == protocol_udp) {
    const UdpGue* gue = frame.at<UdpGue>(outer.payload);
    if (!gue || gue->destination != gue_port || gue->variant_length || gue->flags) return false;
    protocol = gue->protocol;
    tunnel.kind = Outcome::gue;
    tunnel.inner += static_cast<u32>(sizeof(UdpGue));
  }
  tunnel.type = protocol == protocol_ipv4 ? type_ipv4 : type_ipv6;
  return protocol == protocol_ipv4 || protocol == protocol_ipv6;
}

FAIRLEAD_INLINE bool read_inner(const Frame& frame, const Packet& outer, const Tunnel& tunnel,
                                Packet& inner, backend::VipKey& vip) {
  if (tunnel.type == type_ipv4) {
    if (!read_ipv4(frame, tunnel.inner, outer.end, inner)) return false;
    const Ipv4* ip = frame.at<Ipv4>(tunnel.inner);
    if (!ip) return false;
    vip = {4, {{ip->destination, 0, 0, 0}}};
    return true;
  }
  if (!read_ipv6(frame, tunnel.inner, outer.end, inner)) return false;
  const Ipv6* ip = frame.at<Ipv6>(tunnel.inner);
  if (!ip) return false;
  vip = {6, ip->destination};
  return true;
}

// Writes the inner ECN field (RFC 1624 for the checksum of IPv4).
FAIRLEAD_INLINE void set_ecn(const Frame& frame, const Tunnel& tunnel, u8 ecn) {
  if (tunnel.type == type_ipv4) {
    Ipv4* ip = frame.at<Ipv4>(tunnel.inner);
    if (!ip) return;
    const u8 tos = static_cast<u8>((ip->tos & ~3) | ecn);
    u32 sum = static_cast<u16>(~to_host(ip->checksum)) +
              static_cast<u32>(static_cast<u16>(~ip->tos)) + tos;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip->checksum = to_be16(static_cast<u16>(~sum));
    ip->tos = tos;
  } else if (Ipv6* ip = frame.at<Ipv6>(tunnel.inner)) {
    ip->version_class_flow =
        (ip->version_class_flow & ~to_be32(3u << 20)) | to_be32(static_cast<u32>(ecn) << 20);
  }
}

// RFC 6040, section 4.2: congestion seen by the outer header reaches the inner one. False: the
// inner packet cannot say it and must be dropped.
FAIRLEAD_INLINE bool carry_ecn(const Frame& frame, const Packet& outer, const Packet& inner,
                               const Tunnel& tunnel) {
  constexpr u8 not_ect = 0, ect_1 = 1, ect_0 = 2, congestion = 3;
  if (outer.ecn == congestion) {
    if (inner.ecn == not_ect) return false;
    if (inner.ecn != congestion) set_ecn(frame, tunnel, congestion);
  } else if (outer.ecn == ect_1 && inner.ecn == ect_0) {
    set_ecn(frame, tunnel, ect_1);
  }
  return true;
}

// Moves the link header of `size` bytes up to the inner packet.
template <u32 size>
FAIRLEAD_INLINE int strip(xdp_md* context, const Tunnel& tunnel) {
  Frame before(context);
  u8 link[size];
  if (before.data + size > before.end) return XDP_ABORTED;
  __builtin_memcpy(link, before.data, size);
  __builtin_memcpy(link + size - 2, &tunnel.type, 2);
  if (bpf::xdp_adjust_head(context, static_cast<int>(tunnel.inner - size))) return XDP_ABORTED;
  Frame after(context);
  if (after.data + size > after.end) return XDP_ABORTED;
  __builtin_memcpy(after.data, link, size);
  return XDP_PASS;
}

}  // namespace

extern "C" SEC("xdp.frags") int decapsulate(xdp_md* context) {
  const Frame frame(context);
  Packet outer, inner;
  Tunnel tunnel;
  backend::VipKey vip;
  be16 type = 0;
  const u32 link = skip_link_header(frame, type);
  if (!link || !read_outer(frame, link, type, outer) || !read_tunnel(frame, outer, tunnel))
    return XDP_PASS;
  if (!read_inner(frame, outer, tunnel, inner, vip)) {
    count(Outcome::malformed);
    return XDP_PASS;
  }
  if (!bpf::map_lookup_elem<u8>(&vips, &vip)) {
    count(Outcome::other_vip);
    return XDP_PASS;
  }
  if (!carry_ecn(frame, outer, inner, tunnel)) {
    count(Outcome::congested);
    return XDP_DROP;
  }
  count(tunnel.kind);
  if (link == ethernet_size) return strip<ethernet_size>(context, tunnel);
  if (link == ethernet_size + tag_size) return strip<ethernet_size + tag_size>(context, tunnel);
  return strip<ethernet_size + 2 * tag_size>(context, tunnel);
}

BPF_LICENSE("Dual MIT/GPL");
