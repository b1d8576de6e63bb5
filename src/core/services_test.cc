// SPDX-License-Identifier: MIT
// Which row a destination finds: exact port before any port before any protocol, the address itself
// before the longest prefix, the node's own addresses never behind a prefix.
#include "core/services.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "core/test_packets.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

constexpr u8 tcp_ = 6, udp_ = 17, sctp_ = 132;

// The id of the VIP that covers an address; 0 if none does.
u16 vip_of(const TestTables& tables, const std::string& destination) {
  const u32 row = find_vip(tables, family_of(destination), address(destination));
  return row == no_row ? u16{0} : tables.row(row).vip;
}

// The id of the service; 0 if there is none.
u16 service_of(const TestTables& tables, const std::string& destination, u8 protocol, u16 port) {
  const u32 vip = find_vip(tables, family_of(destination), address(destination));
  if (vip == no_row) return 0;
  const bool has_ports = protocol == tcp_ || protocol == udp_;
  const u32 row = find_service(tables, tables.row(vip), protocol, to_be16(port), has_ports);
  return row == no_row ? u16{0} : tables.row(row).service;
}

TEST(Services, TheExactPortComesBeforeAnyPortBeforeAnyProtocol) {
  for (const std::string vip : {"198.51.100.10", "2001:db8:1::10"}) {
    TestTables tables;
    const Family family = family_of(vip);
    const u8 whole = host_length(family);
    tables.add_vip(address(vip), family, whole, 1);
    tables.add_service(address(vip), family, whole, tcp_, 443, 11, 1, 0);
    tables.add_service(address(vip), family, whole, tcp_, 0, 12, 1, 0);
    tables.add_service(address(vip), family, whole, 0, 0, 13, 1, 0);
    EXPECT_EQ(service_of(tables, vip, tcp_, 443), 11);
    EXPECT_EQ(service_of(tables, vip, tcp_, 444), 12);
    EXPECT_EQ(service_of(tables, vip, tcp_, 0), 12);
    EXPECT_EQ(service_of(tables, vip, udp_, 443), 13) << "no UDP service of its own";
    EXPECT_EQ(service_of(tables, vip, sctp_, 0), 13);
  }
}

TEST(Services, OtherProtocolsAreTakenOnlyByAnAnyService) {
  TestTables tables;
  const Address vip = address("198.51.100.10");
  tables.add_vip(vip, Family::v4, 32, 1);
  tables.add_service(vip, Family::v4, 32, tcp_, 0, 12, 1, 0);
  tables.add_service(vip, Family::v4, 32, udp_, 0, 13, 1, 0);
  EXPECT_EQ(service_of(tables, "198.51.100.10", sctp_, 0), 0);
  EXPECT_EQ(service_of(tables, "198.51.100.10", tcp_, 9), 12);
  EXPECT_EQ(service_of(tables, "198.51.100.10", udp_, 9), 13);
}

TEST(Services, AVipWithoutAServiceForThePortHasNone) {
  TestTables tables;
  const Address vip = address("198.51.100.10");
  tables.add_vip(vip, Family::v4, 32, 1);
  tables.add_service(vip, Family::v4, 32, tcp_, 443, 11, 1, 0);
  EXPECT_EQ(vip_of(tables, "198.51.100.10"), 1);
  EXPECT_EQ(service_of(tables, "198.51.100.10", tcp_, 80), 0);
  EXPECT_EQ(service_of(tables, "198.51.100.10", udp_, 443), 0);
  EXPECT_EQ(vip_of(tables, "198.51.100.11"), 0);
}

TEST(Services, TheLongestPrefixWinsAndIsNotLeftForAWiderOneThatHasTheService) {
  TestTables tables;
  struct {
    const char* prefix;
    u8 length;
  } vips[] = {{"198.51.0.0", 16}, {"198.51.100.0", 24}, {"198.51.100.10", 32}, {"0.0.0.0", 0}};
  u16 id = 0;
  for (const auto& vip : vips) {
    id++;
    tables.add_vip(address(vip.prefix), Family::v4, vip.length, id);
    // Each has a service on another port.
    tables.add_service(address(vip.prefix), Family::v4, vip.length, tcp_, static_cast<u16>(80 + id),
                       id, id, 0);
  }
  EXPECT_EQ(vip_of(tables, "198.51.100.10"), 3);
  EXPECT_EQ(vip_of(tables, "198.51.100.11"), 2);
  EXPECT_EQ(vip_of(tables, "198.51.101.1"), 1);
  EXPECT_EQ(vip_of(tables, "203.0.113.1"), 4);
  EXPECT_EQ(vip_of(tables, "255.255.255.255"), 4);
  EXPECT_EQ(service_of(tables, "198.51.100.10", tcp_, 83), 3);
  EXPECT_EQ(service_of(tables, "198.51.100.10", tcp_, 82), 0)
      << "the /24 has it, but is no longest";
  EXPECT_EQ(service_of(tables, "198.51.100.9", tcp_, 82), 2);
  EXPECT_EQ(service_of(tables, "203.0.113.1", tcp_, 84), 4);
}

TEST(Services, PrefixesOfEveryIpv6LengthAreFound) {
  std::mt19937_64 random(1);
  for (u32 length = 0; length <= 128; length++) {
    TestTables tables;
    Address base{};
    for (be32& word : base.word) word = static_cast<u32>(random());
    tables.add_vip(base, Family::v6, static_cast<u8>(length), 9);
    Address inside = base, outside = base;
    // The last bit of the prefix and the first one behind it, in network order.
    auto flip = [](Address& a, u32 bit) { a.word[bit / 32] ^= to_be32(0x8000'0000u >> bit % 32); };
    if (length < 128) flip(inside, length);
    EXPECT_NE(find_vip(tables, Family::v6, inside), no_row) << length;
    if (length == 0) continue;
    flip(outside, length - 1);
    EXPECT_EQ(find_vip(tables, Family::v6, outside), no_row) << length;
  }
}

TEST(Services, SixteenPrefixLengthsOfAFamilyAreAllTried) {
  TestTables tables;
  for (u8 length = 1; length <= limits::prefix_lengths; length++) {
    tables.add_vip(address("128.0.0.0"), Family::v4, length, length);
  }
  for (u8 length = 1; length <= limits::prefix_lengths; length++) {
    // Within /length, beyond /length+1: only that bit is set after the leading one.
    u32 host = 0x8000'0000u;
    if (length < 32) host |= 0x8000'0000u >> length;
    const Address destination{{to_be32(host), 0, 0, 0}};
    const u32 row = find_vip(tables, Family::v4, destination);
    ASSERT_NE(row, no_row);
    EXPECT_EQ(tables.row(row).vip, length);
  }
}

TEST(Services, NoPrefixCoversTheNodesOwnAddresses) {
  TestTables tables;
  tables.add_vip(address("198.51.100.0"), Family::v4, 24, 1);
  tables.add_vip(address("2001:db8:1::"), Family::v6, 64, 2);
  tables.add_own(address("198.51.100.200"), Family::v4);
  tables.add_own(address("2001:db8:1::200"), Family::v6);
  EXPECT_EQ(vip_of(tables, "198.51.100.200"), 0);
  EXPECT_EQ(vip_of(tables, "198.51.100.201"), 1);
  EXPECT_EQ(vip_of(tables, "2001:db8:1::200"), 0);
  EXPECT_EQ(vip_of(tables, "2001:db8:1::201"), 2);
}

TEST(Services, FamiliesWithTheSameBytesAreNotMixedUp) {
  TestTables tables;
  const Address same = address("198.51.100.10");  // as IPv6: c633:640a::
  tables.add_vip(same, Family::v4, 32, 1);
  EXPECT_NE(find_vip(tables, Family::v4, same), no_row);
  EXPECT_EQ(find_vip(tables, Family::v6, same), no_row);
  tables.add_vip(address("0.0.0.0"), Family::v4, 0, 2);
  EXPECT_EQ(find_vip(tables, Family::v6, address("2001:db8::1")), no_row);
}

TEST(Services, ARowIsFoundAtEveryDistanceThatAProbeReaches) {
  // Rows in the way stand at home and behind it, one more each time.
  for (u32 distance = 0; distance < limits::service_probes; distance++) {
    TestTables tables({.rows = 16});
    const Address vip = address("198.51.100.10");
    const RowId id = row_id(RowKind::vip, Family::v4, 32);
    const u32 home = row_home(vip, id) & 15;
    // Other addresses whose home is the same.
    u32 placed = 0;
    for (u32 n = 1; placed < distance; n++) {
      const Address other{{n, 0, 0, 0}};
      if ((row_home(other, id) & 15) != home) continue;
      tables.add_row(other, id, 0, 7, 0);
      placed++;
    }
    EXPECT_EQ(vip_of(tables, "198.51.100.10"), 0) << "not there yet";
    const u32 at = tables.add_row(vip, id, 0, 1, 0);
    EXPECT_EQ(at, (home + distance) & 15) << "the search wraps at the end of the table";
    EXPECT_EQ(vip_of(tables, "198.51.100.10"), 1);
  }
}

TEST(Services, ASearchEndsWhenItsProbesAreUsedUp) {
  TestTables tables({.rows = 16});
  const Address vip = address("198.51.100.10");
  const RowId id = row_id(RowKind::vip, Family::v4, 32);
  const u32 home = row_home(vip, id) & 15;
  u32 placed = 0;
  for (u32 n = 1; placed < limits::service_probes; n++) {
    const Address other{{n, 0, 0, 0}};
    if ((row_home(other, id) & 15) != home) continue;
    tables.add_row(other, id, 0, 7, 0);
    placed++;
  }
  EXPECT_EQ(vip_of(tables, "198.51.100.10"), 0);
}

TEST(Services, OnlyTheRowsOfTheGenerationThatCountsAreSeen) {
  TestTables tables;
  const Address vip = address("198.51.100.10");
  const RowId id = row_id(RowKind::vip, Family::v4, 32);
  tables.add_row(vip, id, 0, 1, 0, 0);
  tables.add_row(vip, id, 0, 2, 0, 1);
  EXPECT_EQ(vip_of(tables, "198.51.100.10"), 1);
  tables.set().generation = 1;
  EXPECT_EQ(vip_of(tables, "198.51.100.10"), 2);
}

TEST(Services, FlagsOfARowAreNoPartOfItsKey) {
  TestTables tables;
  const Address vip = address("198.51.100.10");
  tables.add_vip(vip, Family::v4, 32, 1);
  tables.add_service(vip, Family::v4, 32, tcp_, 443, 11, 1, 0, row_flag::client_ip);
  EXPECT_EQ(service_of(tables, "198.51.100.10", tcp_, 443), 11);
}

TEST(Services, AModelAgreesOnRandomTables) {
  // The model is the contract read slowly: every VIP is compared bit by bit.
  struct Vip {
    u32 address, length;
    u16 id;
  };
  struct Service {
    u16 vip, id, port;
    u8 protocol;
  };
  std::mt19937_64 random(7);
  for (u32 round = 0; round < 200; round++) {
    TestTables tables({.rows = 256});
    std::vector<Vip> vips;
    std::vector<Service> services;
    for (u16 id = 1; id <= 12; id++) {
      const u32 length = static_cast<u32>(random() % 33);
      const u32 mask = length == 0 ? 0 : 0xffff'ffffu << (32 - length);
      // Few different bits, so that prefixes lie within each other.
      const u32 host = static_cast<u32>(random() & 0xf000'00f1) & mask;
      bool twice = false;
      for (const Vip& vip : vips) twice |= vip.address == host && vip.length == length;
      if (twice) continue;
      vips.push_back({host, length, id});
      const Address base{{to_be32(host), 0, 0, 0}};
      tables.add_vip(base, Family::v4, static_cast<u8>(length), id);
      const u8 protocols[] = {tcp_, udp_, 0};
      for (u32 n = 0; n < 3; n++) {
        const u8 protocol = protocols[random() % 3];
        const u16 port = protocol == 0 ? u16{0} : static_cast<u16>(random() % 3);
        bool again = false;
        for (const Service& s : services)
          again |= s.vip == id && s.protocol == protocol && s.port == port;
        if (again) continue;
        const u16 service = static_cast<u16>(services.size() + 1);
        services.push_back({id, service, port, protocol});
        tables.add_service(base, Family::v4, static_cast<u8>(length), protocol, port, service, id,
                           0);
      }
    }
    for (u32 n = 0; n < 200; n++) {
      const u32 host = static_cast<u32>(random() & 0xf000'00f1);
      const u8 protocols[] = {tcp_, udp_, sctp_};
      const u8 protocol = protocols[random() % 3];
      const u16 port = protocol == sctp_ ? u16{0} : static_cast<u16>(random() % 4);
      std::optional<Vip> best;
      for (const Vip& vip : vips) {
        const u32 mask = vip.length == 0 ? 0 : 0xffff'ffffu << (32 - vip.length);
        if ((host & mask) == vip.address && (!best || vip.length > best->length)) best = vip;
      }
      u16 want = 0;
      int rank = 0;
      for (const Service& s : services) {
        if (!best || s.vip != best->id) continue;
        const int its = s.protocol == 0          ? 1
                        : s.protocol != protocol ? 0
                        : s.port == 0            ? 2
                        : s.port == port         ? 3
                                                 : 0;
        if (its > rank) rank = its, want = s.id;
      }
      char text[INET_ADDRSTRLEN];
      const be32 wire = to_be32(host);
      inet_ntop(AF_INET, &wire, text, sizeof text);
      ASSERT_EQ(vip_of(tables, text), best ? best->id : 0) << text;
      ASSERT_EQ(service_of(tables, text, protocol, port), want)
          << text << " protocol " << int{protocol} << " port " << port;
    }
  }
}

}  // namespace
}  // namespace fairlead::core::test
