// SPDX-License-Identifier: MIT
// What is known of a packet while it is on the path, and what comes of it.
#pragma once

#include "core/records.h"
#include "core/verdict.h"

namespace fairlead::core {

// What a frame is, from its headers alone.
enum class Shape : u8 {
  not_ip,
  cut,             // IP by its ethertype, but it ends before a destination address
  malformed,       // has a destination
  flow,            // TCP, UDP, or another protocol: belongs to a service
  icmp,            // ICMP in IPv4, ICMPv6 in IPv6
  later_fragment,  // no L4 header
  tiny_fragment,   // first fragment with a cut L4 header
};

struct Packet {
  Address source;
  Address destination;
  u32 l3;         // offset of the IP header; the VLAN tags are l3 - 14 bytes
  u32 l4;         // offset of what follows the IP header and its extensions
  u32 ip_length;  // bytes of the IP packet, without Ethernet padding
  be16 source_port;
  be16 destination_port;
  Family family;
  u8 protocol;
  u8 tos;  // IPv4 TOS or IPv6 traffic class
  u8 tcp_flags;
  Shape shape;
  bool first_fragment;
  bool dont_fragment;
  u8 zero;
  be32 fragment_id;
  u64 hash;         // of the flow
  u64 reply_key;    // nat: the key of the line that replies find
  u32 translation;  // and that line
  be16 node_port;   // nat with snat: the source port that the backend sees
  u16 spare;
};

// A flow that a packet is about without being of it: what an ICMP error quotes, as the packets of
// the other direction show it. Its members are those of a Packet.
struct Flow {
  Address source;
  Address destination;
  u32 l3;  // offsets of what the quote shows
  u32 l4;
  be16 source_port;
  be16 destination_port;
  Family family;
  u8 protocol;
  u16 zero;
  u64 hash;
};

// Where a packet goes and how it is remembered. Ids that do not apply are 0.
struct Outcome {
  Reason reason;
  State state;  // of its connection; none if it is not remembered
  u16 service;
  u16 vip;
  u16 backend;
};
static_assert(sizeof(Outcome) == 8);

}  // namespace fairlead::core
