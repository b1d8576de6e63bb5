// SPDX-License-Identifier: MIT
// The decapsulation program in the kernel's own test run: frames in, verdict and frame out.
#include "backend/decap.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "backend/vip.h"

namespace fairlead::backend {
namespace {

using Bytes = std::basic_string<unsigned char>;
using std::uint16_t;

constexpr unsigned xdp_drop = 1, xdp_pass = 2;
constexpr uint16_t ipv4_type = 0x0800, ipv6_type = 0x86dd;

Bytes be16(unsigned value) {
  return {static_cast<unsigned char>(value >> 8), static_cast<unsigned char>(value)};
}

Bytes address(const char* text) {
  unsigned char bytes[16];
  const bool v4 = std::strchr(text, ':') == nullptr;
  EXPECT_EQ(inet_pton(v4 ? AF_INET : AF_INET6, text, bytes), 1) << text;
  return {bytes, v4 ? 4u : 16u};
}

uint16_t ones_complement_sum(const Bytes& bytes) {
  unsigned sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += static_cast<unsigned>(bytes[i]) << (i % 2 ? 0 : 8);
  }
  while (sum >> 16) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

struct Ip {
  const char* source;
  const char* destination;
  Bytes options = {};  // IPv4 options, or IPv6 extension headers that begin with type `extension`
  unsigned char extension = 0;
  unsigned char traffic_class = 0;
  unsigned fragment = 0x4000;

  bool v4() const { return std::strchr(source, ':') == nullptr; }
  uint16_t type() const { return v4() ? ipv4_type : ipv6_type; }

  Bytes with(unsigned char protocol, const Bytes& payload) const {
    if (!v4()) {
      const auto high = static_cast<unsigned char>(0x60 | traffic_class >> 4);
      const auto low = static_cast<unsigned char>(traffic_class << 4);
      return Bytes{high, low, 0, 1} + be16(static_cast<unsigned>(options.size() + payload.size())) +
             Bytes{options.empty() ? protocol : extension, 64} + address(source) +
             address(destination) + options + payload;
    }
    const size_t header = 20 + options.size();
    Bytes bytes = Bytes{static_cast<unsigned char>(0x40 | header / 4), traffic_class} +
                  be16(static_cast<unsigned>(header + payload.size())) + Bytes{0, 7} +
                  be16(fragment) + Bytes{64, protocol, 0, 0} + address(source) +
                  address(destination) + options;
    bytes.replace(10, 2, be16(static_cast<uint16_t>(~ones_complement_sum(bytes))));
    return bytes + payload;
  }
};

const Ip outer4{"192.0.2.11", "10.0.0.1"}, outer6{"2001:db8::11", "2001:db8::1"};
const Ip client4{"203.0.113.5", "198.51.100.10"}, client6{"2001:db8:9::5", "2001:db8:1::10"};
const Bytes tcp =
    Bytes{0x30, 0x39, 0, 80} + Bytes(8, 7) + Bytes{0x50, 0x10} + Bytes(6, 9) + Bytes(40, 'x');
const Bytes no_tags, one_tag{0x81, 0, 0, 7}, two_tags{0x88, 0xa8, 0, 3, 0x81, 0, 0, 7};

Bytes frame(uint16_t type, const Bytes& packet, const Bytes& tags = no_tags) {
  return Bytes(6, 0x0a) + Bytes(6, 0x0b) + tags + be16(type) + packet;
}

struct Kind {
  const char* name;
  Outcome outcome;

  Bytes wrap(const Ip& outer, const Ip& inner, const Bytes& packet) const {
    const unsigned char number = inner.v4() ? 4 : 41;
    switch (outcome) {
      case Outcome::gre: return outer.with(47, be16(0) + be16(inner.type()) + packet);
      case Outcome::gue:
        return outer.with(17, be16(50'000) + be16(6080) +
                                  be16(static_cast<unsigned>(packet.size() + 12)) + be16(0) +
                                  Bytes{0, number, 0, 0} + packet);
      default: return outer.with(number, packet);
    }
  }
};
const Kind gre{"gre", Outcome::gre}, ipip{"ipip", Outcome::ipip}, gue{"gue", Outcome::gue};

struct Ran {
  unsigned verdict;
  Bytes frame;
};

class DecapProgram : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Decap::load("");
    if (!loaded && geteuid() != 0) {
      GTEST_SKIP() << loaded.error().message;
    }
    ASSERT_TRUE(loaded) << loaded.error().message;
    decap_.emplace(std::move(*loaded));
    for (const char* vip : {"198.51.100.10", "2001:db8:1::10"}) {
      ASSERT_TRUE(decap_->add(*parse_vip(vip)));
    }
  }

  Ran run(const Bytes& in) const {
    Bytes out(in.size() + 256, 0);
    bpf_test_run_opts options;
    std::memset(&options, 0, sizeof options);
    options.sz = sizeof options;
    options.data_in = in.data();
    options.data_size_in = static_cast<__u32>(in.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<__u32>(out.size());
    EXPECT_EQ(bpf_prog_test_run_opts(decap_->program(), &options), 0) << std::strerror(errno);
    out.resize(options.data_size_out);
    return {options.retval, out};
  }

  std::uint64_t count(Outcome outcome) const {
    return (*decap_->packets())[static_cast<size_t>(outcome)];
  }

  void expect_untouched(const Bytes& in, const std::string& what) const {
    const Ran ran = run(in);
    EXPECT_EQ(ran.verdict, xdp_pass) << what;
    EXPECT_EQ(ran.frame, in) << what;
  }

  std::optional<Decap> decap_;
};

TEST_F(DecapProgram, EveryTunnelInEveryPairOfFamiliesAndWithTagsGivesTheInnerPacket) {
  for (const Kind& kind : {gre, ipip, gue}) {
    const auto before = count(kind.outcome);
    for (const Ip& outer : {outer4, outer6}) {
      for (const Ip& inner : {client4, client6}) {
        for (const Bytes& tags : {no_tags, one_tag, two_tags}) {
          const Bytes packet = inner.with(6, tcp);
          const Ran ran = run(frame(outer.type(), kind.wrap(outer, inner, packet), tags));
          EXPECT_EQ(ran.verdict, xdp_pass) << kind.name;
          EXPECT_EQ(ran.frame, frame(inner.type(), packet, tags)) << kind.name;
        }
      }
    }
    EXPECT_EQ(count(kind.outcome), before + 12) << kind.name;
  }
}

TEST_F(DecapProgram, OptionsOfTheOuterHeaderGoAndThoseOfTheInnerStay) {
  Ip outer = outer4, inner = client4;
  outer.options = Bytes(40, 1);
  inner.options = Bytes(8, 1);
  Bytes packet = inner.with(6, tcp);
  EXPECT_EQ(run(frame(ipv4_type, gre.wrap(outer, inner, packet))).frame, frame(ipv4_type, packet));

  outer = outer6;
  outer.extension = 60;  // two headers of destination options, then GRE
  outer.options = Bytes{60, 0, 1, 4, 0, 0, 0, 0, 47, 1} + Bytes(14, 0);
  inner = client6;
  inner.extension = 60;
  inner.options = Bytes{6, 0, 1, 4, 0, 0, 0, 0};
  packet = inner.with(6, tcp);
  EXPECT_EQ(run(frame(ipv6_type, gre.wrap(outer, inner, packet))).frame, frame(ipv6_type, packet));
}

TEST_F(DecapProgram, PaddingBehindTheOuterPacketStaysBehindTheInner) {
  const Bytes packet = client4.with(6, tcp), padding(9, 0xee);
  EXPECT_EQ(run(frame(ipv4_type, gre.wrap(outer4, client4, packet) + padding)).frame,
            frame(ipv4_type, packet + padding));
}

TEST_F(DecapProgram, WhatIsNotOursIsUntouched) {
  const Bytes packet = client4.with(6, tcp);
  expect_untouched(frame(ipv4_type, packet), "a packet to the VIP without a tunnel");
  expect_untouched(frame(ipv4_type, outer4.with(6, tcp)), "a packet to the host");
  expect_untouched(frame(0x0806, Bytes(28, 1)), "ARP");
  expect_untouched(
      frame(ipv4_type, outer4.with(47, be16(0x2000) + be16(ipv4_type) + Bytes(4, 0) + packet)),
      "GRE with a key");
  expect_untouched(frame(ipv4_type, outer4.with(47, be16(0) + be16(0x6558) + packet)),
                   "GRE with an Ethernet frame");
  Ip fragment = outer4;
  fragment.fragment = 0x2000;
  expect_untouched(frame(ipv4_type, gre.wrap(fragment, client4, packet)), "an outer fragment");
  const Bytes to_6080 = be16(50'000) + be16(6080) + be16(static_cast<unsigned>(packet.size() + 12));
  expect_untouched(
      frame(ipv4_type, outer4.with(17, to_6080 + be16(0) + Bytes{1, 4, 0, 0} + packet)),
      "GUE with extensions");
  expect_untouched(
      frame(ipv4_type, outer4.with(17, to_6080 + be16(0) + Bytes{0x20, 4, 0, 0} + packet)),
      "a GUE control message");
  const Bytes to_6081 = be16(50'000) + be16(6081) + be16(static_cast<unsigned>(packet.size() + 12));
  expect_untouched(
      frame(ipv4_type, outer4.with(17, to_6081 + be16(0) + Bytes{0, 4, 0, 0} + packet)),
      "another UDP port");
  expect_untouched(frame(ipv4_type, gre.wrap(outer4, client4, packet),
                         Bytes{0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3}),
                   "three VLAN tags");
}

TEST_F(DecapProgram, AnInnerDestinationThatIsNoVipIsUntouchedAndCounted) {
  for (const Kind& kind : {gre, ipip, gue}) {
    for (const char* destination : {"198.51.100.11", "10.0.0.1"}) {
      const Ip inner{"203.0.113.5", destination};
      expect_untouched(frame(ipv4_type, kind.wrap(outer4, inner, inner.with(6, tcp))), destination);
    }
    for (const char* destination : {"2001:db8:1::11", "::ffff:198.51.100.10"}) {
      const Ip inner{"2001:db8:9::5", destination};
      expect_untouched(frame(ipv6_type, kind.wrap(outer6, inner, inner.with(6, tcp))), destination);
    }
  }
  EXPECT_EQ(count(Outcome::other_vip), 12u);
}

TEST_F(DecapProgram, AVipThatWasRemovedIsUntouched) {
  ASSERT_TRUE(decap_->remove(*parse_vip("198.51.100.10")));
  expect_untouched(frame(ipv4_type, gre.wrap(outer4, client4, client4.with(6, tcp))), "removed");
}

TEST_F(DecapProgram, AFrameThatIsCutAnywhereIsUntouched) {
  for (const Kind& kind : {gre, ipip, gue}) {
    for (const Ip& outer : {outer4, outer6}) {
      for (const Ip& inner : {client4, client6}) {
        const Bytes whole =
            frame(outer.type(), kind.wrap(outer, inner, inner.with(6, tcp)), one_tag);
        for (size_t length = 14; length < whole.size(); ++length) {
          expect_untouched(whole.substr(0, length), kind.name + std::to_string(length));
        }
      }
    }
  }
}

TEST_F(DecapProgram, AnInnerPacketThatIsBrokenOrLongerThanTheOuterIsUntouchedAndCounted) {
  const Bytes whole = client4.with(6, tcp);
  Bytes version = whole, header = whole, total = whole;
  version[0] = 0x65;
  header[0] = 0x44;
  total.replace(2, 2, be16(static_cast<unsigned>(whole.size() + 1)));
  for (const Bytes& packet : {version, header, total, Bytes(whole, 0, 12)}) {
    // Padding: the missing byte is in the frame, but not in the outer packet.
    expect_untouched(frame(ipv4_type, gre.wrap(outer4, client4, packet) + Bytes(20, 0)), "broken");
  }
  EXPECT_EQ(count(Outcome::malformed), 4u);
}

TEST_F(DecapProgram, AnyBytesGiveEitherTheSameFrameOrAShorterOne) {
  std::mt19937 random(1);
  const std::vector<Kind> kinds{gre, ipip, gue};
  for (int round = 0; round < 20'000; ++round) {
    const Ip& outer = round % 2 ? outer4 : outer6;
    const Ip& inner = round % 3 ? client4 : client6;
    Bytes bytes =
        frame(outer.type(), kinds[random() % 3].wrap(outer, inner, inner.with(6, tcp)), no_tags);
    const size_t headers = 110;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % std::min(headers, bytes.size())] = static_cast<unsigned char>(random());
    }
    const Ran ran = run(bytes);
    ASSERT_TRUE(ran.verdict == xdp_pass || ran.verdict == xdp_drop);
    if (ran.frame.size() == bytes.size()) {
      ASSERT_TRUE(ran.frame == bytes);
    } else {
      ASSERT_LE(ran.frame.size() + 20, bytes.size());
    }
  }
}

TEST_F(DecapProgram, CongestionSeenByTheOuterHeaderReachesTheInner) {
  struct {
    unsigned char outer, inner, result;
  } const cases[] = {{3, 1, 3}, {3, 2, 3}, {3, 3, 3}, {1, 2, 1}, {1, 0, 0},
                     {2, 1, 1}, {0, 2, 2}, {2, 0, 0}, {0, 3, 3}};
  for (const auto& [outer_ecn, inner_ecn, result] : cases) {
    for (const Ip& from : {client4, client6}) {
      Ip outer = outer4, inner = from, expected = from;
      outer.traffic_class = outer_ecn;
      inner.traffic_class = static_cast<unsigned char>(0xb8 | inner_ecn);
      expected.traffic_class = static_cast<unsigned char>(0xb8 | result);
      const Ran ran = run(frame(ipv4_type, gre.wrap(outer, inner, inner.with(6, tcp))));
      EXPECT_EQ(ran.frame, frame(from.type(), expected.with(6, tcp)))
          << int{outer_ecn} << " outside, " << int{inner_ecn} << " inside";
    }
  }
}

TEST_F(DecapProgram, CongestionThatTheInnerHeaderCannotSayDropsThePacket) {
  Ip outer = outer6;
  outer.traffic_class = 3;
  EXPECT_EQ(run(frame(ipv6_type, gre.wrap(outer, client4, client4.with(6, tcp)))).verdict,
            xdp_drop);
  EXPECT_EQ(count(Outcome::congested), 1u);
}

TEST_F(DecapProgram, TheMapGivesBackTheVipsThatWereAdded) {
  ASSERT_TRUE(decap_->add(*parse_vip("198.51.100.10")));  // again
  EXPECT_THAT(*decap_->vips(), testing::UnorderedElementsAre(*parse_vip("198.51.100.10"),
                                                             *parse_vip("2001:db8:1::10")));
}

TEST_F(DecapProgram, AnInterfaceThatDoesNotExistIsAnErrorWithARemedy) {
  const auto attached = decap_->attach("no-such-if0");
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().message, "interface no-such-if0: does not exist; see `ip link`");
}

}  // namespace
}  // namespace fairlead::backend
