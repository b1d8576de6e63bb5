// SPDX-License-Identifier: MIT
// Method nat, there and back: addresses, ports and every checksum over them, the connections by
// which replies find back, and what happens when there is no room for them.
#include "core/path/translate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/path/path.h"
#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

struct Names {
  std::string client, vip, other_vip, backend, node;
};
const Names v4{"203.0.113.7", "198.51.100.10", "198.51.100.11", "10.0.0.1", "192.0.2.11"};
const Names v6{"2001:db8:c::7", "2001:db8:1::10", "2001:db8:1::11", "2001:db8:b::1",
               "2001:db8:2::11"};
constexpr u16 http = 80, dns = 53, inside = 8080;

// Sums up the pseudo-header and what is behind the IP header: 0 if the checksum is right.
u16 residual(const Bytes& packet) {
  const bool six = packet[0] >> 4 == 6;
  const size_t header = six ? 40 : 20;
  Bytes all(packet.begin() + (six ? 8 : 12), packet.begin() + static_cast<long>(header));
  put16(all, six ? packet[6] : packet[9]);
  put16(all, static_cast<u32>(packet.size() - header));
  all.insert(all.end(), packet.begin() + static_cast<long>(header), packet.end());
  return internet_checksum(all, 0, all.size());
}

// A packet whose L4 checksum is right.
Bytes sealed(IpSpec spec, Bytes payload) {
  const size_t at = spec.protocol == 6 ? 16 : spec.protocol == 17 ? 6 : 2;
  Bytes packet = ip(spec, payload);
  const size_t header = packet.size() - payload.size();
  const bool icmp4 = spec.protocol == 1;
  patch16(packet, header + at,
          icmp4 ? internet_checksum(packet, header, packet.size()) : residual(packet));
  return packet;
}

class Nat : public testing::TestWithParam<bool> {
 protected:
  Nat() {
    const Family family = six() ? Family::v6 : Family::v4;
    u16 service = 1;
    for (const std::string& vip : {n().vip, n().other_vip}) {
      tables.add_vip(address(vip), family, host_length(family), service);
      tables.add_service(address(vip), family, host_length(family), 6, http, service, service, 0);
      service++;
      tables.add_service(address(vip), family, host_length(family), 17, dns, service, 1, 0);
      service++;
    }
    tables.add_pool(0, 0, 251, {1});
    tables.set().clock = 1000;
    tables.set().translates = 1;
    set_backend(false);
  }
  bool six() const { return GetParam(); }
  const Names& n() const { return six() ? v6 : v4; }

  void set_backend(bool snat) {
    Backend& line = tables.set_backend(1);
    const NatEnds ends{address(n().backend), snat ? address(n().node) : Address{}, to_be16(inside)};
    line = {};
    line.method = Method::nat;
    line.inner_mtu = 1500;
    line.mss = 1460;
    line.flags = static_cast<u8>(usable | (six() ? backend_flag::outer_v6 : 0) |
                                 (snat ? backend_flag::snat : 0));
    __builtin_memcpy(line.outer, &ends, sizeof ends);
    for (u32 i = 0; i < 6; i++) line.macs[i] = static_cast<u8>(i), line.macs[6 + i] = 0x10;
  }

  struct Sent {
    Reason reason;
    Bytes frame;
    Bytes packet() const { return {frame.begin() + 14, frame.end()}; }
  };
  Sent send(const Bytes& packet) {
    const HeapFrame block(ethernet(packet), 0);
    TestFrame held = block.frame();
    const Decided decided = process(held, tables);
    EXPECT_FALSE(decided.slow);
    return {decided.outcome.reason, {held.bytes().begin(), held.bytes().end()}};
  }
  Sent request(u8 flags = 0x02, u16 port = 40'000, const std::string& from = "") {
    return send(sealed({.source = from.empty() ? n().client : from, .destination = n().vip},
                       tcp({.source = port, .destination = http, .flags = flags})));
  }
  Sent query(const Bytes& payload = {1, 2, 3}) {
    return send(sealed({.source = n().client, .destination = n().vip, .protocol = 17},
                       udp(40'000, dns, payload)));
  }
  Bytes reply(u8 flags = 0x12, u16 port = 40'000, const std::string& to = "") const {
    return sealed({.source = n().backend, .destination = to.empty() ? n().client : to},
                  tcp({.source = inside, .destination = port, .flags = flags}));
  }
  static u16 word(const Bytes& packet, size_t at) {
    return static_cast<u16>(packet[at] << 8 | packet[at + 1]);
  }
  size_t header() const { return six() ? 40 : 20; }

  TestTables tables;
};
INSTANTIATE_TEST_SUITE_P(Families, Nat, testing::Bool(),
                         [](const auto& test) { return test.param ? "v6" : "v4"; });

TEST_P(Nat, ARequestGoesToTheAddressAndPortOfItsBackend) {
  const Sent sent = request();
  EXPECT_EQ(sent.reason, Reason::fresh);
  EXPECT_EQ(sent.packet(), sealed({.source = n().client, .destination = n().backend},
                                  tcp({.source = 40'000, .destination = inside})));
  EXPECT_EQ(Bytes(sent.frame.begin(), sent.frame.begin() + 6), (Bytes{0, 1, 2, 3, 4, 5}));
}

TEST_P(Nat, AReplyComesFromTheVipAndGoesWhereItsClientsPacketsComeFrom) {
  request();
  const Sent sent = send(reply());
  EXPECT_EQ(sent.reason, Reason::nat_reply);
  EXPECT_EQ(sent.packet(), sealed({.source = n().vip, .destination = n().client},
                                  tcp({.source = http, .destination = 40'000, .flags = 0x12})));
  EXPECT_EQ(Bytes(sent.frame.begin(), sent.frame.begin() + 6), (Bytes{2, 0, 0, 0, 0, 0x20}));
  EXPECT_EQ(Bytes(sent.frame.begin() + 6, sent.frame.begin() + 12), (Bytes{2, 0, 0, 0, 0, 0x10}));
}

TEST_P(Nat, AReplyGoesToTheGatewayIfThereIsOne) {
  tables.set().has_gateway = 1;
  for (u8& byte : tables.set().gateway) byte = 0x77;
  request();
  EXPECT_EQ(send(reply()).frame[0], 0x77);
}

TEST_P(Nat, WhatABackendSendsBesidesIsTheHosts) {
  request();
  EXPECT_EQ(send(reply(0x10, 40'001)).reason, Reason::not_vip);
  EXPECT_EQ(send(reply(0x10, 40'000, n().node)).reason, Reason::not_vip);
}

TEST_P(Nat, WithSnatEveryFlowHasAPortOfTheNodeAndRepliesFindBack) {
  set_backend(true);
  const std::string other = six() ? "2001:db8:c::8" : "203.0.113.8";
  std::set<u16> ports;
  for (const std::string& client : {n().client, other}) {
    const Sent sent = request(0x02, 40'000, client);
    ASSERT_EQ(sent.reason, Reason::fresh);
    const u16 port = word(sent.packet(), header());
    EXPECT_GE(port, limits::first_snat_port);
    EXPECT_EQ(sent.packet(), sealed({.source = n().node, .destination = n().backend},
                                    tcp({.source = port, .destination = inside})));
    EXPECT_EQ(word(request(0x10, 40'000, client).packet(), header()), port) << "and keeps it";
    const Sent back = send(reply(0x12, port, n().node));
    EXPECT_EQ(back.reason, Reason::nat_reply);
    EXPECT_EQ(back.packet(), sealed({.source = n().vip, .destination = client},
                                    tcp({.source = http, .destination = 40'000, .flags = 0x12})));
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 2u);
}

TEST_P(Nat, SnatGivesManyFlowsDifferentPorts) {
  set_backend(true);
  std::set<u16> ports;
  u32 count = 0;
  for (u16 port = 1000; port < 1120; port++, count++) {
    const Sent sent = request(0x02, port);
    if (sent.reason != Reason::fresh) break;  // the table is full: 256 lines, two for each
    ports.insert(word(sent.packet(), header()));
  }
  EXPECT_GT(count, 64u);
  EXPECT_EQ(ports.size(), count);
}

TEST_P(Nat, AnErrorOfTheBackendAboutAQueryIsTranslatedWithWhatItQuotes) {
  query();
  const u8 protocol = six() ? 58 : 1;
  const auto error = [&](const std::string& from, const std::string& to, u16 port) {
    Bytes message = icmp(six() ? 1 : 3, six() ? 4 : 3);
    message.resize(8);
    put(message,
        sealed({.source = n().client, .destination = to, .protocol = 17}, udp(40'000, port)));
    return sealed({.source = from, .destination = n().client, .protocol = protocol}, message);
  };
  const Sent sent = send(error(n().backend, n().backend, inside));
  EXPECT_EQ(sent.reason, Reason::nat_reply);
  EXPECT_EQ(sent.packet(), error(n().vip, n().vip, dns));
  const std::string router = six() ? "2001:db8:f::1" : "10.9.9.9";
  EXPECT_EQ(send(error(router, n().backend, inside)).packet(), error(router, n().vip, dns));
}

TEST_P(Nat, LaterFragmentsOfAReplyFollowTheFirst) {
  query();
  const auto fragment = [&](const std::string& from, bool first, u16 port) {
    IpSpec spec{.source = from, .destination = n().client, .protocol = 17};
    spec.fragment = first ? 0x2000 : 0x0002;
    if (six()) spec.extensions = {fragment_header(first ? 0 : 16, first)};
    return ip(spec, first ? udp(port, 40'000, Bytes(8)) : Bytes(8, 0x5a));
  };
  EXPECT_EQ(send(fragment(n().backend, false, inside)).reason, Reason::not_vip);
  const Sent first = send(fragment(n().backend, true, inside));
  EXPECT_EQ(first.reason, Reason::nat_reply);
  EXPECT_EQ(first.packet(), fragment(n().vip, true, dns)) << "its UDP checksum is 0 and stays so";
  const Sent later = send(fragment(n().backend, false, inside));
  EXPECT_EQ(later.reason, Reason::nat_reply);
  EXPECT_EQ(later.packet(), fragment(n().vip, false, dns));
}

TEST_P(Nat, LaterFragmentsFollowTheLastReplyThatHadTheirNumber) {
  set_backend(true);
  const std::string other = six() ? "2001:db8:c::8" : "203.0.113.8";
  for (const std::string& client : {n().client, other, n().client}) {
    const Sent query = send(sealed({.source = client, .destination = n().vip, .protocol = 17},
                                   udp(40'000, dns, {1, 2, 3})));
    const auto fragment = [&](bool first) {
      IpSpec spec{.source = n().backend, .destination = n().node, .protocol = 17};
      spec.fragment = first ? 0x2000 : 0x0002;
      if (six()) spec.extensions = {fragment_header(first ? 0 : 16, first)};
      return ip(spec, first ? udp(inside, word(query.packet(), header()), Bytes(8)) : Bytes(8));
    };
    ASSERT_EQ(send(fragment(true)).reason, Reason::nat_reply);
    const Bytes later = send(fragment(false)).packet();
    const size_t destination = six() ? 24 : 16;
    EXPECT_EQ(Bytes(later.begin() + static_cast<long>(destination),
                    later.begin() + static_cast<long>(destination + (six() ? 16 : 4))),
              address_bytes(client));
  }
}

TEST_P(Nat, RepliesKeepAConnectionAliveWhoseClientIsSilent) {
  request(), request(0x10);
  for (u32 i = 0; i < 4; i++) {
    tables.set().clock += 500;  // of 600
    ASSERT_EQ(send(reply(0x10)).reason, Reason::nat_reply);
  }
  EXPECT_EQ(request(0x10).reason, Reason::known);
  tables.set().clock += 601;
  EXPECT_EQ(send(reply(0x10)).reason, Reason::not_vip) << "forgotten in time";
}

TEST_P(Nat, TheSamePortToTwoVipsOfOneBackendIsRefusedAndTheFirstFlowStays) {
  request();
  const Sent second = send(sealed({.source = n().client, .destination = n().other_vip},
                                  tcp({.source = 40'000, .destination = http})));
  EXPECT_EQ(second.reason, Reason::overload);
  EXPECT_EQ(send(reply()).packet(),
            sealed({.source = n().vip, .destination = n().client},
                   tcp({.source = http, .destination = 40'000, .flags = 0x12})));
}

TEST_P(Nat, WithoutRoomANewFlowIsDroppedAndCountedAndOldOnesGoOn) {
  u16 port = 1000;
  while (port < 2000 && request(0x02, port).reason == Reason::fresh) port++;
  ASSERT_LT(port, 2000) << "256 lines";
  EXPECT_GT(port, 1100);
  EXPECT_GT(tables.counters().translations_full, 0u);
  EXPECT_EQ(send(reply(0x12, 1000)).reason, Reason::nat_reply);
  tables.set().clock += 51;  // handshakes are over
  EXPECT_EQ(request(0x02, port).reason, Reason::fresh);
}

TEST_P(Nat, APoolOfTheOtherFamilyIsNoBackend) {
  tables.set_backend(1).flags ^= backend_flag::outer_v6;
  EXPECT_EQ(request().reason, Reason::no_backend);
}

}  // namespace
}  // namespace fairlead::core::test
