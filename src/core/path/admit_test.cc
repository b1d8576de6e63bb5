// SPDX-License-Identifier: MIT
// What a frame is: every kind of packet, every way in which one can be wrong, and every length at
// which one can be cut. Frames lie in heap blocks that begin and end with them, so that under
// AddressSanitizer a read beside a frame ends the test.
#include "core/path/admit.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

const std::string client = "203.0.113.7", vip = "198.51.100.10";
const std::string client6 = "2001:db8::7", vip6 = "2001:db8:1::10";
const IpSpec v4{.source = client, .destination = vip};
const IpSpec v6{.source = client6, .destination = vip6};

IpSpec with(IpSpec spec, u8 protocol) {
  spec.protocol = protocol;
  return spec;
}
IpSpec fragmented(u16 word) {
  IpSpec spec = v4;
  spec.fragment = word;
  return spec;
}
IpSpec chained(std::vector<std::pair<u8, Bytes>> extensions, u8 protocol = 6) {
  IpSpec spec = with(v6, protocol);
  spec.extensions = std::move(extensions);
  return spec;
}

struct Admitted {
  Shape shape;
  Packet packet;
};
Admitted admitted(const Bytes& bytes) {
  const HeapFrame block(bytes, 0);
  const TestFrame frame = block.frame();
  Admitted result{};
  result.shape = admit(frame, result.packet);
  return result;
}

// A valid frame, where its headers are, and what it is.
struct Kind {
  std::string name;
  Bytes bytes;
  u32 l3;
  u32 l4;  // 0: not looked at
  Shape shape;
};

std::vector<Kind> kinds() {
  constexpr u32 customer = 0x81000000, service = 0x88a80000;
  const u8 data[] = {'d', 'a', 't', 'a'};
  const Bytes payload(data, data + 4);
  const Bytes options{2, 4, 0x05, 0xb4, 1, 1, 1, 0};
  const Bytes segment = tcp({.payload = payload}), with_options = tcp({.options = options});
  IpSpec routed = v4;
  routed.options = {7, 7, 4, 0, 0, 0, 0, 0};
  const auto many =
      std::vector{hop_by_hop(),          routing(), destination_options(1), authentication(),
                  destination_options(), routing(), authentication(0),      hop_by_hop(2)};
  return {
      {"TCP", frame(v4, segment), 14, 34, Shape::flow},
      {"TCP with options", frame(v4, with_options), 14, 34, Shape::flow},
      {"TCP behind IPv4 options", frame(routed, segment), 14, 42, Shape::flow},
      {"UDP", frame(with(v4, 17), udp()), 14, 34, Shape::flow},
      {"UDP without payload", frame(with(v4, 17), udp(1, 2, {})), 14, 34, Shape::flow},
      {"another protocol", frame(with(v4, 132), payload), 14, 34, Shape::flow},
      {"another protocol, empty", frame(with(v4, 132), {}), 14, 34, Shape::flow},
      {"ICMP", frame(with(v4, 1), icmp(8)), 14, 34, Shape::icmp},
      {"one tag", ethernet(ip(v4, segment), {customer | 42}), 18, 38, Shape::flow},
      {"a service tag", ethernet(ip(v4, segment), {service | 42}), 18, 38, Shape::flow},
      {"two tags", ethernet(ip(v4, segment), {service | 7, customer | 42}), 22, 42, Shape::flow},
      {"IPv6 behind two tags", ethernet(ip(v6, segment), {customer | 7, customer | 42}), 22, 62,
       Shape::flow},
      {"IPv6 TCP", frame(v6, segment), 14, 54, Shape::flow},
      {"IPv6 UDP", frame(with(v6, 17), udp()), 14, 54, Shape::flow},
      {"ICMPv6", frame(with(v6, 58), icmp(128)), 14, 54, Shape::icmp},
      {"ICMP in IPv6 is no ICMPv6", frame(with(v6, 1), icmp(8)), 14, 54, Shape::flow},
      {"ICMPv6 in IPv4 is no ICMP", frame(with(v4, 58), icmp(128)), 14, 34, Shape::flow},
      {"no next header", frame(with(v6, 59), {}), 14, 54, Shape::flow},
      {"hop-by-hop options", frame(chained({hop_by_hop(1)}), segment), 14, 70, Shape::flow},
      {"eight extension headers", frame(chained(many), segment), 14,
       54 + 8 + 24 + 16 + 24 + 8 + 24 + 12 + 24, Shape::flow},
      {"an atomic fragment", frame(chained({fragment_header(0, false)}), segment), 14, 62,
       Shape::flow},
      {"a first fragment", frame(fragmented(0x2000), segment), 14, 34, Shape::flow},
      {"a first IPv6 fragment", frame(chained({fragment_header(0, true)}), segment), 14, 62,
       Shape::flow},
      {"a later fragment", frame(fragmented(0x2003), payload), 14, 0, Shape::later_fragment},
      {"the last fragment", frame(fragmented(0x0003), payload), 14, 0, Shape::later_fragment},
      {"a later fragment without payload", frame(fragmented(0x1fff), {}), 14, 0,
       Shape::later_fragment},
      {"a later IPv6 fragment", frame(chained({fragment_header(64, true)}), payload), 14, 0,
       Shape::later_fragment},
      {"the last IPv6 fragment, behind options",
       frame(chained({hop_by_hop(), fragment_header(8, false)}), payload), 14, 0,
       Shape::later_fragment},
  };
}

TEST(Admit, KnowsEveryKindOfPacket) {
  for (const Kind& kind : kinds()) {
    const Admitted result = admitted(kind.bytes);
    EXPECT_EQ(result.shape, kind.shape) << kind.name;
    EXPECT_EQ(result.packet.l3, kind.l3) << kind.name;
    if (kind.l4 != 0) {
      EXPECT_EQ(result.packet.l4, kind.l4) << kind.name;
    }
    EXPECT_EQ(result.packet.ip_length, kind.bytes.size() - kind.l3) << kind.name;
  }
}

TEST(Admit, ReadsWhatIsThereAtWhateverLengthAFrameIsCut) {
  for (const Kind& kind : kinds()) {
    const bool is_v6 = kind.bytes[kind.l3] >> 4 == 6;
    for (u32 length = 0; length < kind.bytes.size(); length++) {
      const Shape shape = admitted(Bytes(kind.bytes.begin(), kind.bytes.begin() + length)).shape;
      Shape want = Shape::malformed;  // the length field says more than there is
      if (length < kind.l3)
        want = Shape::not_ip;
      else if (length < kind.l3 + (is_v6 ? 40 : 20))
        want = Shape::cut;
      ASSERT_EQ(shape, want) << kind.name << " cut to " << length;
    }
  }
}

// The length field says the truth about a packet that ends early.
Bytes shortened(Bytes bytes, u32 l3, u32 ip_length) {
  const bool is_v6 = bytes[l3] >> 4 == 6;
  bytes.resize(l3 + ip_length);
  patch16(bytes, l3 + (is_v6 ? 4 : 2), is_v6 ? ip_length - 40 : ip_length);
  return bytes;
}

TEST(Admit, APacketThatEndsWithinItsHeadersIsMalformedOrATinyFragment) {
  for (const Kind& kind : kinds()) {
    if (kind.l4 == 0) continue;
    const bool is_v6 = kind.bytes[kind.l3] >> 4 == 6;
    const u8 protocol = admitted(kind.bytes).packet.protocol;
    const bool first = admitted(kind.bytes).packet.first_fragment;
    u32 header = 0;  // of the transport
    if (protocol == 6) header = static_cast<u32>(kind.bytes[kind.l4 + 12] >> 4) * 4;
    if (protocol == 17 || kind.shape == Shape::icmp) header = 8;
    for (u32 length = is_v6 ? 40 : 20; length <= kind.bytes.size() - kind.l3; length++) {
      const Admitted result = admitted(shortened(kind.bytes, kind.l3, length));
      const u32 end = kind.l3 + length;
      Shape want = kind.shape;
      if (end < kind.l4)
        want = Shape::malformed;
      else if (end < kind.l4 + header)
        want = first ? Shape::tiny_fragment : Shape::malformed;
      ASSERT_EQ(result.shape, want) << kind.name << " of " << length << " bytes";
      // The same with padding behind, which counts for nothing.
      Bytes padded = shortened(kind.bytes, kind.l3, length);
      padded.resize(padded.size() + 80, 0xa5);
      ASSERT_EQ(admitted(padded).shape, want) << kind.name << " of " << length << " bytes, padded";
      ASSERT_EQ(admitted(padded).packet.ip_length, length);
    }
  }
}

TEST(Admit, FillsInThePacket) {
  IpSpec spec = v4;
  spec.tos = 0xb9;
  spec.id = 0x1234;
  const Packet packet =
      admitted(frame(spec, tcp({.source = 1234, .destination = 443, .flags = 0x12}))).packet;
  EXPECT_EQ(packet.family, Family::v4);
  EXPECT_EQ(packet.source, address(client));
  EXPECT_EQ(packet.destination, address(vip));
  EXPECT_EQ(packet.source_port, to_be16(1234));
  EXPECT_EQ(packet.destination_port, to_be16(443));
  EXPECT_EQ(packet.protocol, 6);
  EXPECT_EQ(packet.tos, 0xb9);
  EXPECT_EQ(packet.tcp_flags, 0x12);
  EXPECT_EQ(packet.fragment_id, to_be16(0x1234));
  EXPECT_TRUE(packet.dont_fragment);
  EXPECT_FALSE(packet.first_fragment);
}

TEST(Admit, FillsInThePacketOfIpv6) {
  IpSpec spec = chained({fragment_header(0, true, 0xa1b2c3d4)}, 17);
  spec.tos = 0xb9;
  const Packet packet = admitted(frame(spec, udp(1234, 53))).packet;
  EXPECT_EQ(packet.family, Family::v6);
  EXPECT_EQ(packet.source, address(client6));
  EXPECT_EQ(packet.destination, address(vip6));
  EXPECT_EQ(packet.source_port, to_be16(1234));
  EXPECT_EQ(packet.destination_port, to_be16(53));
  EXPECT_EQ(packet.protocol, 17);
  EXPECT_EQ(packet.tos, 0xb9);
  EXPECT_EQ(packet.fragment_id, to_be32(0xa1b2c3d4));
  EXPECT_TRUE(packet.first_fragment);
}

TEST(Admit, TakesTheDontFragmentBitAsItStands) {
  EXPECT_TRUE(admitted(frame(fragmented(0x4000), tcp())).packet.dont_fragment);
  EXPECT_FALSE(admitted(frame(fragmented(0x0000), tcp())).packet.dont_fragment);
  EXPECT_FALSE(admitted(frame(fragmented(0x8000), tcp())).packet.dont_fragment) << "reserved bit";
  EXPECT_EQ(admitted(frame(fragmented(0x8000), tcp())).shape, Shape::flow);
}

TEST(Admit, WhatIsNoIpIsNotIp) {
  const Bytes packet = ip(v4, tcp());
  for (const int type : {0x0806, 0x88cc, 0x0026, 0x05dc, 0x9100, 0x8847, 0x0801, 0x86de, 0}) {
    EXPECT_EQ(admitted(ethernet(packet, {}, type)).shape, Shape::not_ip) << std::hex << type;
    EXPECT_EQ(admitted(ethernet(packet, {0x81000001}, type)).shape, Shape::not_ip);
  }
  const std::vector<u32> three(3, 0x81000001);
  EXPECT_EQ(admitted(ethernet(packet, three)).shape, Shape::not_ip) << "more than two tags";
}

struct Wrong {
  std::string name;
  Bytes bytes;
};

Bytes patched(Bytes bytes, size_t at, u8 value) {
  bytes.at(at) = value;
  return bytes;
}
Bytes patched16(Bytes bytes, size_t at, u32 value) {
  patch16(bytes, at, value);
  return bytes;
}

std::vector<Wrong> wrong() {
  const Bytes good = frame(v4, tcp()), good6 = frame(v6, tcp());
  std::vector<Wrong> all;
  for (u8 version = 0; version < 16; version++) {
    if (version != 4)
      all.push_back({"IPv4 version", patched(good, 14, static_cast<u8>(version << 4 | 5))});
    if (version != 6)
      all.push_back({"IPv6 version", patched(good6, 14, static_cast<u8>(version << 4))});
  }
  for (u8 words = 0; words < 5; words++) {
    all.push_back({"IPv4 header length", patched(good, 14, static_cast<u8>(0x40 | words))});
    all.push_back({"TCP offset", frame(v4, tcp({.offset = words}))});
    all.push_back({"TCP offset in IPv6", frame(v6, tcp({.offset = words}))});
    all.push_back(
        {"TCP offset in a first fragment", frame(fragmented(0x2000), tcp({.offset = words}))});
  }
  all.push_back({"IPv4 header beyond the packet", patched(good, 14, 0x4b)});
  all.push_back({"IPv4 length 0", patched16(good, 16, 0)});
  all.push_back({"IPv4 length of less than its header", patched16(good, 16, 19)});
  all.push_back({"IPv4 length beyond the frame", patched16(good, 16, 41)});
  all.push_back({"IPv4 length at its largest", patched16(good, 16, 65'535)});
  all.push_back({"IPv6 length beyond the frame", patched16(good6, 18, 21)});
  all.push_back({"IPv6 length at its largest", patched16(good6, 18, 65'535)});
  all.push_back({"IPv6 length 0, TCP", patched16(good6, 18, 0)});
  all.push_back(
      {"a later fragment beyond the frame", patched16(frame(fragmented(1), tcp()), 16, 41)});
  for (int words = 6; words < 16; words++) {
    all.push_back({"TCP options beyond the packet", frame(v4, tcp({.offset = words}))});
    all.push_back({"TCP options beyond the packet", frame(v6, tcp({.offset = words}))});
  }
  for (const int bits : {0x03, 0x06, 0x07, 0x13, 0x16}) {
    all.push_back({"SYN with FIN or RST", frame(v4, tcp({.flags = static_cast<u8>(bits)}))});
    all.push_back({"SYN with FIN or RST", frame(v6, tcp({.flags = static_cast<u8>(bits)}))});
  }
  const std::vector nine(9, hop_by_hop());
  all.push_back({"nine extension headers", frame(chained(nine), tcp())});
  auto eight_and_later = std::vector<std::pair<u8, Bytes>>(8, destination_options());
  eight_and_later.push_back(fragment_header(8, true));
  all.push_back({"a ninth header that is a fragment's", frame(chained(eight_and_later), tcp())});
  for (const u8 number : {u8{0}, u8{43}, u8{44}, u8{51}, u8{60}}) {
    all.push_back({"a chain that is cut at once", frame(with(v6, number), {})});
    all.push_back({"a chain that is cut", frame(with(v6, number), Bytes{6, 0, 0, 0, 0, 0, 0})});
    if (number == 44) continue;
    // Length 255, of which few bytes are there.
    all.push_back({"a header beyond the packet",
                   frame(with(v6, number), Bytes{6, 255, 0, 0, 0, 0, 0, 0, 1})});
    all.push_back({"a header that ends a byte beyond",
                   frame(with(v6, number), Bytes{6, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1})});
  }
  return all;
}

TEST(Admit, EveryImpossibleHeaderIsMalformed) {
  for (const Wrong& one : wrong()) {
    EXPECT_EQ(admitted(one.bytes).shape, Shape::malformed) << one.name;
    // Malformed packets must keep their destination: whose they are decides what happens.
    const Packet packet = admitted(one.bytes).packet;
    EXPECT_EQ(packet.destination, packet.family == Family::v6 ? address(vip6) : address(vip))
        << one.name;
  }
}

TEST(Admit, TheEthertypeDecidesTheFamily) {
  EXPECT_EQ(admitted(ethernet(ip(v6, tcp()), {}, 0x0800)).shape, Shape::malformed);
  EXPECT_EQ(admitted(ethernet(ip(v4, tcp()), {}, 0x86dd)).shape, Shape::malformed);
}

TEST(Admit, ChecksumsAreNotLookedAt) {
  EXPECT_EQ(admitted(patched16(frame(v4, tcp()), 24, 0xbeef)).shape, Shape::flow);
  EXPECT_EQ(admitted(patched16(frame(v4, tcp()), 50, 0xbeef)).shape, Shape::flow);
}

TEST(Admit, NoBytesMakeItReadBesideTheFrame) {
  std::mt19937_64 random(1);
  const std::vector<Kind> all = kinds();
  u32 shapes[16] = {};
  for (u32 n = 0; n < 100'000; n++) {
    Bytes bytes = all[random() % all.size()].bytes;
    const u32 l3 = 14;
    for (u64 changes = random() % 4; changes > 0; changes--) {
      // Mostly in the headers of the IP packet.
      const size_t at =
          random() % 4 ? l3 + random() % (bytes.size() - l3) : random() % bytes.size();
      bytes[at] =
          random() % 2 ? static_cast<u8>(random()) : static_cast<u8>(bytes[at] + random() % 3 - 1);
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const Admitted result = admitted(bytes);
    shapes[static_cast<u32>(result.shape)]++;
    if (result.shape != Shape::flow && result.shape != Shape::icmp) continue;
    ASSERT_LE(result.packet.l4, result.packet.l3 + result.packet.ip_length);
    ASSERT_LE(result.packet.l3 + result.packet.ip_length, bytes.size());
  }
  for (u32 shape = 0; shape <= static_cast<u32>(Shape::tiny_fragment); shape++) {
    EXPECT_GT(shapes[shape], 0u) << "shape " << shape << " never came";
  }
}

}  // namespace
}  // namespace fairlead::core::test
