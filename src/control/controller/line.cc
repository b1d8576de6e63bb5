// SPDX-License-Identifier: MIT
#include "control/controller/line.h"

#include <cstring>

#include "control/config/mtu.h"
#include "core/wire.h"

namespace fairlead::controller {
namespace {

using core::Backend;
using core::Family;
using core::Method;
namespace wire = core::wire;

constexpr uint8_t hop_limit = 64;
constexpr uint8_t protocol_udp = 17;

uint8_t protocol_of(Method method) {
  switch (method) {
    case Method::gre: return wire::protocol_gre;
    case Method::gue: return protocol_udp;
    case Method::ipip:  // the packet inside decides
    case Method::l2:
    case Method::nat: return 0;
  }
  return 0;
}

// RFC 1071: the sum of the 16-bit words as they lie in memory, folded, not inverted.
uint16_t folded_sum(const wire::Ipv4& header) {
  uint16_t words[sizeof header / 2];
  std::memcpy(words, &header, sizeof header);
  uint32_t sum = 0;
  for (const uint16_t word : words) sum += word;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

void put_ipv4(Backend& line, uint8_t protocol, const core::Address& from, const core::Address& to) {
  wire::Ipv4 header{};
  header.version_length = 0x45;
  header.fragment = core::to_be16(wire::fragment_dont);
  header.ttl = hop_limit;
  header.protocol = protocol;
  header.source = from.word[0];
  header.destination = to.word[0];
  std::memcpy(line.outer, &header, sizeof header);
  line.partial_sum = folded_sum(header);
}

void put_ipv6(Backend& line, uint8_t protocol, const core::Address& from, const core::Address& to) {
  wire::Ipv6 header{};
  header.version_class_label = core::to_be32(6u << 28);
  header.next_header = protocol;
  header.hop_limit = hop_limit;
  std::memcpy(header.source, from.word, sizeof header.source);
  std::memcpy(header.destination, to.word, sizeof header.destination);
  std::memcpy(line.outer, &header, sizeof header);
}

}  // namespace

Backend line_of(Method method, const config::IpAddress& backend, const config::NodeConfig& node,
                const NextHop& next_hop, uint32_t path_mtu) {
  Backend line{};
  line.method = method;
  std::memcpy(line.macs, next_hop.destination.data(), next_hop.destination.size());
  std::memcpy(line.macs + 6, next_hop.source.data(), next_hop.source.size());
  const uint32_t mtu = config::is_tunnel(method) ? path_mtu : node.forwarder.network_mtu;
  const uint32_t inner_mtu = mtu - config::overhead(method, backend.family);
  line.inner_mtu = static_cast<uint16_t>(inner_mtu);
  line.mss = static_cast<uint16_t>(inner_mtu - config::ip_tcp_bytes(Family::v4));
  if (!config::is_tunnel(method)) return line;

  const bool v6 = backend.family == Family::v6;
  const auto& source = v6 ? node.node.address6 : node.node.address;
  const core::Address from =
      source ? source->bytes : core::Address{};  // parse_services() asks for it
  if (v6) {
    put_ipv6(line, protocol_of(method), from, backend.bytes);
  } else {
    put_ipv4(line, protocol_of(method), from, backend.bytes);
  }
  return line;
}

void put_nat(Backend& line, const tables::Identity& backend, bool snat,
             const config::NodeConfig& node) {
  core::NatEnds ends{.backend = backend.address, .node = {}, .port = core::to_be16(backend.port)};
  if (snat) {
    const auto& source = backend.family == Family::v6 ? node.node.address6 : node.node.address;
    if (source) ends.node = source->bytes;  // parse_services() asks for it
    line.flags |= core::backend_flag::snat;
  }
  std::memcpy(line.outer, &ends, sizeof ends);
}

}  // namespace fairlead::controller
