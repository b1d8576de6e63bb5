// SPDX-License-Identifier: MIT
// The packet that an ICMP error quotes: as much of it as its sender chose to show, from the IP
// header on. RFC 792 promises 8 bytes behind that header, RFC 4443 as much as fits.
#pragma once

#include "core/path/admit.h"

namespace fairlead::core {

FAIRLEAD_INLINE constexpr bool has_ports(u8 protocol) {
  return protocol == wire::protocol_tcp || protocol == wire::protocol_udp;
}

// Destination unreachable, time exceeded, parameter problem; IPv6 has packet too big besides.
FAIRLEAD_INLINE constexpr bool is_icmp_error(Family family, u8 type) {
  return family == Family::v6 ? type >= 1 && type <= 4 : type == 3 || type == 11 || type == 12;
}

// The flow that an ICMP error is about, as the client's packets show it: the quoted packet with
// source and destination exchanged; l3 and l4 are where the quote stands. False if the quote holds
// no such flow.
template <Frame F>
FAIRLEAD_INLINE bool read_quote(const F& frame, const Packet& packet, Flow& flow) {
  const u32 at = packet.l4 + sizeof(wire::Icmp);
  u32 ports = 0;
  flow = {};
  flow.family = packet.family;
  flow.l3 = at;
  if (packet.family == Family::v6) {
    const wire::Ipv6* ip = frame.template at<wire::Ipv6>(at);
    if (!ip || to_host(ip->version_class_label) >> 28 != 6) return false;
    flow.destination = {{ip->source[0], ip->source[1], ip->source[2], ip->source[3]}};
    flow.source = {
        {ip->destination[0], ip->destination[1], ip->destination[2], ip->destination[3]}};
    flow.protocol = ip->next_header;
    ports = at + sizeof(wire::Ipv6);
    if (admit_detail::is_extension(flow.protocol)) {
      using admit_detail::walk_extensions_apart;
      be32 id = 0;
      const admit_detail::Chain chain{walk_extensions_apart(frame.handle(), flow.protocol, ports,
                                                            packet.l3 + packet.ip_length, &id)};
      using admit_detail::Chain;
      if (chain.word & (Chain::broken | Chain::later)) return false;
      flow.protocol = chain.protocol();
      ports = chain.l4();
    }
  } else {
    const wire::Ipv4* ip = frame.template at<wire::Ipv4>(at);
    const u32 header = ip ? (ip->version_length & 15u) * 4 : 0;
    if (!ip || ip->version_length >> 4 != 4 || header < sizeof(wire::Ipv4)) return false;
    if (to_host(ip->fragment) & wire::fragment_offset_mask) return false;
    flow.destination = {{ip->source, 0, 0, 0}};
    flow.source = {{ip->destination, 0, 0, 0}};
    flow.protocol = ip->protocol;
    ports = at + header;
  }
  if (ports > packet.l3 + packet.ip_length) return false;
  if (!(flow.destination == packet.destination)) return false;  // somebody else sent that
  flow.l4 = ports;
  if (!has_ports(flow.protocol)) return true;
  const wire::Udp* udp = frame.template at<wire::Udp>(ports);  // TCP has its ports there, too
  if (!udp || ports + sizeof(wire::Udp) > packet.l3 + packet.ip_length) return false;
  flow.destination_port = udp->source_port;
  flow.source_port = udp->destination_port;
  return true;
}

}  // namespace fairlead::core
