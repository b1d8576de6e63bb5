// SPDX-License-Identifier: MIT
// A router's word that a tunnel packet of this node was too big for its next link, as read from the
// wire: ICMP 3/4 (RFC 792, RFC 1191) or ICMPv6 2 (RFC 4443). It quotes the packet, at least the IP
// header and, of an IPv4 router that follows RFC 792 to the letter, 8 bytes more: the GRE header
// and 4 bytes of the client's packet. The IP header alone is enough here.
//
// What is no whole message, has a wrong checksum, or quotes nothing that a tunnel of fairlead sends
// (CONTRACT section 4: protocol, DF, GRE without flags, the port of GUE) gives nothing. Whether the
// packet was this node's is for control/path_mtu/table. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "control/config/model.h"

namespace fairlead::path_mtu {

using config::IpAddress;

struct TooBig {
  IpAddress told_by;              // the router
  IpAddress source, destination;  // of the packet that it quotes
  core::Method method{};          // gre, ipip or gue, as far as the quote shows
  uint32_t length = 0;            // bytes of that packet, by its IP header
  uint32_t mtu = 0;               // bytes; 0: IPv4 router from before RFC 1191, which does not say
};

// An IPv4 packet, header included, as a raw socket receives it. The kernel has not looked at the
// checksum of the message; this does.
std::optional<TooBig> read_icmp(std::span<const uint8_t> packet);

// An ICMPv6 message without IP header, as a raw socket receives it; the kernel has checked its sum.
std::optional<TooBig> read_icmpv6(std::span<const uint8_t> message, const IpAddress& from);

}  // namespace fairlead::path_mtu
