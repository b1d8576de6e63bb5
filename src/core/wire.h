// SPDX-License-Identifier: MIT
// Headers as they stand in a frame. Multi-byte fields are in network byte order.
#pragma once

#include "core/types.h"

namespace fairlead::core::wire {

struct FAIRLEAD_WIRE_HALF Ethernet {
  u8 destination[6];
  u8 source[6];
  be16 type;
};
static_assert(sizeof(Ethernet) == 14);

// What follows the type 0x8100 or 0x88a8 (IEEE 802.1Q).
struct FAIRLEAD_WIRE Vlan {
  be16 tag;
  be16 type;
};
static_assert(sizeof(Vlan) == 4);

struct FAIRLEAD_WIRE Ipv4 {  // RFC 791
  u8 version_length;
  u8 tos;
  be16 total_length;
  be16 id;
  be16 fragment;
  u8 ttl;
  u8 protocol;
  be16 checksum;
  be32 source;
  be32 destination;
};
static_assert(sizeof(Ipv4) == 20);

struct FAIRLEAD_WIRE Ipv6 {  // RFC 8200
  be32 version_class_label;
  be16 payload_length;
  u8 next_header;
  u8 hop_limit;
  be32 source[4];
  be32 destination[4];
};
static_assert(sizeof(Ipv6) == 40);

// Hop-by-hop, routing, destination options (length in units of 8 bytes, the first not counted) and
// authentication (units of 4, the first two not counted); the fragment header has 8 bytes.
struct FAIRLEAD_WIRE Ipv6Extension {
  u8 next_header;
  u8 length;
  be16 fragment;  // fragment header only: offset << 3 | more
  be32 id;        // fragment header only
};
static_assert(sizeof(Ipv6Extension) == 8);

struct FAIRLEAD_WIRE Tcp {  // RFC 9293
  be16 source_port;
  be16 destination_port;
  be32 sequence;
  be32 acknowledgement;
  u8 offset;  // upper four bits, in units of 4 bytes
  u8 flags;
  be16 window;
  be16 checksum;
  be16 urgent;
};
static_assert(sizeof(Tcp) == 20);

struct FAIRLEAD_WIRE Udp {
  be16 source_port;
  be16 destination_port;
  be16 length;
  be16 checksum;
};
static_assert(sizeof(Udp) == 8);

struct FAIRLEAD_WIRE Icmp {
  u8 type;
  u8 code;
  be16 checksum;
  be32 rest;
};
static_assert(sizeof(Icmp) == 8);

struct FAIRLEAD_WIRE Gre {  // RFC 2784
  be16 flags;
  be16 protocol;
};
static_assert(sizeof(Gre) == 4);

constexpr be16 type_ipv4 = to_be16(0x0800);
constexpr be16 type_ipv6 = to_be16(0x86dd);
constexpr be16 type_vlan = to_be16(0x8100);
constexpr be16 type_service_vlan = to_be16(0x88a8);

constexpr u8 protocol_icmp = 1;
constexpr u8 protocol_ipv4 = 4;
constexpr u8 protocol_tcp = 6;
constexpr u8 protocol_udp = 17;
constexpr u8 protocol_ipv6 = 41;
constexpr u8 protocol_gre = 47;
constexpr u8 protocol_icmpv6 = 58;
constexpr u8 extension_hop_by_hop = 0;
constexpr u8 extension_routing = 43;
constexpr u8 extension_fragment = 44;
constexpr u8 extension_authentication = 51;
constexpr u8 extension_destination = 60;

constexpr u16 fragment_more = 0x2000;  // IPv4, host byte order
constexpr u16 fragment_dont = 0x4000;
constexpr u16 fragment_offset_mask = 0x1fff;

constexpr u8 tcp_fin = 0x01;
constexpr u8 tcp_syn = 0x02;
constexpr u8 tcp_rst = 0x04;
constexpr u8 tcp_ack = 0x10;

}  // namespace fairlead::core::wire
