// SPDX-License-Identifier: MIT
#include "control/path_mtu/message.h"

#include <algorithm>
#include <cstring>

#include "core/wire.h"

namespace fairlead::path_mtu {
namespace {

using core::Family;
using core::Method;
using core::to_host;
namespace wire = core::wire;
using Bytes = std::span<const uint8_t>;

constexpr uint8_t v4_unreachable = 3, v4_fragmentation_needed = 4;
constexpr uint8_t v6_packet_too_big = 2;
constexpr uint16_t gue_port = 6080;

template <class Header>
std::optional<Header> read(Bytes bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// RFC 1071; 0 over a message that holds its own right checksum.
uint16_t checksum_of(Bytes bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i++) sum += uint32_t{bytes[i]} << (i % 2 ? 0 : 8);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// What of the packet behind its outer IP header is quoted, nothing at all included.
std::optional<Method> method_of(uint8_t protocol, Bytes quoted) {
  switch (protocol) {
    case wire::protocol_ipv4:
    case wire::protocol_ipv6: return Method::ipip;
    case wire::protocol_gre: {
      const auto gre = read<wire::Gre>(quoted);
      const bool wrong = gre && (gre->flags != 0 || (gre->protocol != wire::type_ipv4 &&
                                                     gre->protocol != wire::type_ipv6));
      return wrong ? std::nullopt : std::optional(Method::gre);
    }
    case wire::protocol_udp: {
      const auto udp = read<wire::Udp>(quoted);
      const bool wrong = udp && to_host(udp->destination_port) != gue_port;
      return wrong ? std::nullopt : std::optional(Method::gue);
    }
    default: return std::nullopt;
  }
}

IpAddress address_of(const core::be32 (&words)[4]) {
  return {Family::v6, {{words[0], words[1], words[2], words[3]}}};
}

}  // namespace

std::optional<TooBig> read_icmp(Bytes packet) {
  const auto outside = read<wire::Ipv4>(packet);
  if (!outside) return std::nullopt;
  const size_t header = (outside->version_length & 15u) * 4;
  const size_t total = to_host(outside->total_length);
  if (header < sizeof *outside || total > packet.size() || total < header) return std::nullopt;
  const Bytes message = packet.subspan(header, total - header);
  const auto icmp = read<wire::Icmp>(message);
  if (!icmp || icmp->type != v4_unreachable || icmp->code != v4_fragmentation_needed ||
      checksum_of(message) != 0) {
    return std::nullopt;
  }
  const Bytes quote = message.subspan(sizeof *icmp);
  const auto ip = read<wire::Ipv4>(quote);
  if (!ip || ip->version_length != 0x45 || to_host(ip->fragment) != wire::fragment_dont) {
    return std::nullopt;
  }
  const auto method = method_of(ip->protocol, quote.subspan(sizeof *ip));
  if (!method) return std::nullopt;
  return TooBig{.told_by = {Family::v4, {{outside->source, 0, 0, 0}}},
                .source = {Family::v4, {{ip->source, 0, 0, 0}}},
                .destination = {Family::v4, {{ip->destination, 0, 0, 0}}},
                .method = *method,
                .length = to_host(ip->total_length),
                .mtu = to_host(icmp->rest) & 0xffff};
}

std::optional<TooBig> read_icmpv6(Bytes message, const IpAddress& from) {
  const auto icmp = read<wire::Icmp>(message);
  if (!icmp || icmp->type != v6_packet_too_big) return std::nullopt;
  const Bytes quote = message.subspan(sizeof *icmp);
  const auto ip = read<wire::Ipv6>(quote);
  if (!ip || to_host(ip->version_class_label) >> 28 != 6) return std::nullopt;
  const auto method = method_of(ip->next_header, quote.subspan(sizeof *ip));
  if (!method) return std::nullopt;
  return TooBig{
      .told_by = from,
      .source = address_of(ip->source),
      .destination = address_of(ip->destination),
      .method = *method,
      .length = static_cast<uint32_t>(sizeof *ip + to_host(ip->payload_length)),
      .mtu = to_host(icmp->rest),
  };
}

}  // namespace fairlead::path_mtu
