// SPDX-License-Identifier: MIT
#include "engine/host/reply.h"

#include <algorithm>
#include <cstring>

#include "core/wire.h"
#include "engine/host/checksum.h"

namespace fairlead::host {
namespace {

namespace wire = core::wire;
using core::Family;
using core::Packet;
using core::to_be16;
using core::to_be32;

constexpr uint8_t ttl = 64;
constexpr size_t largest_error_v4 = 576;
constexpr size_t largest_error_v6 = 1280;

constexpr uint8_t v4_echo_reply = 0, v4_unreachable = 3, v4_fragmentation_needed = 4;
constexpr uint8_t v6_echo_reply = 129, v6_packet_too_big = 2;

size_t ip_header_bytes(Family family) {
  return family == Family::v6 ? sizeof(wire::Ipv6) : sizeof(wire::Ipv4);
}

// Ethernet header and tags of the frame with the addresses exchanged.
void write_link(std::span<const uint8_t> frame, const Packet& packet, uint8_t* out) {
  std::memcpy(out, frame.data() + 6, 6);
  std::memcpy(out + 6, frame.data(), 6);
  std::memcpy(out + 12, frame.data() + 12, packet.l3 - 12);
}

// The IP header from the packet's destination to its source; the sum that an ICMPv6 checksum has to
// cover beside the message.
uint64_t write_ip(const Packet& packet, size_t message, uint8_t* out) {
  if (packet.family == Family::v4) {
    wire::Ipv4 ip{};
    ip.version_length = 0x45;
    ip.total_length = to_be16(static_cast<uint16_t>(sizeof ip + message));
    ip.ttl = ttl;
    ip.protocol = wire::protocol_icmp;
    ip.source = packet.destination.word[0];
    ip.destination = packet.source.word[0];
    std::memcpy(out, &ip, sizeof ip);
    ip.checksum = checksum_of(sum_of({out, sizeof ip}));
    std::memcpy(out, &ip, sizeof ip);
    return 0;
  }
  wire::Ipv6 ip{};
  ip.version_class_label = to_be32(6u << 28);
  ip.payload_length = to_be16(static_cast<uint16_t>(message));
  ip.next_header = wire::protocol_icmpv6;
  ip.hop_limit = ttl;
  std::memcpy(ip.source, packet.destination.word, sizeof ip.source);
  std::memcpy(ip.destination, packet.source.word, sizeof ip.destination);
  std::memcpy(out, &ip, sizeof ip);
  return sum_of({out + 8, 32}) + to_be16(static_cast<uint16_t>(message)) +
         to_be16(wire::protocol_icmpv6);
}

// Everything but the message, which lies behind the headers already with a checksum of 0.
size_t finish(std::span<const uint8_t> frame, const Packet& packet, size_t message, uint8_t* out) {
  write_link(frame, packet, out);
  uint8_t* ip = out + packet.l3;
  uint8_t* icmp = ip + ip_header_bytes(packet.family);
  const uint16_t checksum = checksum_of(write_ip(packet, message, ip) + sum_of({icmp, message}));
  std::memcpy(icmp + 2, &checksum, sizeof checksum);
  return packet.l3 + ip_header_bytes(packet.family) + message;
}

}  // namespace

size_t write_echo_reply(std::span<const uint8_t> frame, const Packet& packet,
                        std::span<uint8_t> out) {
  const size_t message = packet.l3 + packet.ip_length - packet.l4;
  uint8_t* icmp = out.data() + packet.l3 + ip_header_bytes(packet.family);
  std::memcpy(icmp, frame.data() + packet.l4, message);
  icmp[0] = packet.family == Family::v6 ? v6_echo_reply : v4_echo_reply;
  icmp[1] = icmp[2] = icmp[3] = 0;
  return finish(frame, packet, message, out.data());
}

size_t write_too_big(std::span<const uint8_t> frame, const Packet& packet, uint16_t mtu,
                     std::span<uint8_t> out) {
  const bool v6 = packet.family == Family::v6;
  const size_t headers = ip_header_bytes(packet.family) + sizeof(wire::Icmp);
  const size_t room = (v6 ? largest_error_v6 : largest_error_v4) - headers;
  const size_t quote = std::min<size_t>(packet.ip_length, room);
  wire::Icmp icmp{};
  icmp.type = v6 ? v6_packet_too_big : v4_unreachable;
  icmp.code = v6 ? 0 : v4_fragmentation_needed;
  icmp.rest = to_be32(mtu);  // ICMP 3/4 has it in the lower half, ICMPv6 in all of it
  uint8_t* at = out.data() + packet.l3 + ip_header_bytes(packet.family);
  std::memcpy(at, &icmp, sizeof icmp);
  std::memcpy(at + sizeof icmp, frame.data() + packet.l3, quote);
  return finish(frame, packet, sizeof icmp + quote, out.data());
}

}  // namespace fairlead::host
