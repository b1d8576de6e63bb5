// SPDX-License-Identifier: MIT
// The whole path: which verdict each kind of frame gets, to a VIP and to somebody else; that only
// forwarded frames change, and how; and that every packet is counted once, where it belongs.
#include "core/path/path.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/test_tunnel.h"
#include "core/test_world.h"

namespace fairlead::core::test {
namespace {

const std::string vip = "198.51.100.10", vip6 = "2001:db8:1::10", host = "192.0.2.200";
constexpr u16 vip_id = 5, vip6_id = 6, web = 11, any = 12, web6 = 13;
constexpr u16 first = 21, second = 22;  // backends

class Path : public testing::Test {
 protected:
  Path() {
    tables.set_backend(first) = over_v4.line(usable);
    tables.set_backend(second) = over_v6.line(usable);
    tables.add_pool(0, 0, 251, {first});
    tables.add_pool(1, 4000, 251, {second});
    tables.add_vip(address(vip), Family::v4, 32, vip_id);
    tables.add_vip(address(vip6), Family::v6, 128, vip6_id);
    tables.add_service(address(vip), Family::v4, 32, 6, 80, web, vip_id, 0);
    tables.add_service(address(vip), Family::v4, 32, 0, 0, any, vip_id, 1);
    tables.add_service(address(vip6), Family::v6, 128, 6, 80, web6, vip6_id, 1);
  }

  struct Processed {
    Outcome outcome;
    bool slow;
    Bytes bytes;
  };
  Processed processed(const Bytes& bytes, u32 room = 64) {
    const HeapFrame block(bytes, room);
    TestFrame frame = block.frame();
    const Decided decided = process(frame, tables);
    return {decided.outcome, decided.slow, Bytes(frame.bytes().begin(), frame.bytes().end())};
  }

  const Tunnel over_v4{}, over_v6{.node = "2001:db8:2::11", .backend = "2001:db8:b::1"};
  TestTables tables;
};

u32 label_of(const TestTables& tables, const Packet& packet) {
  return static_cast<u32>(flow_hash(tables.settings(), packet.family, packet.source,
                                    packet.destination, packet.source_port, packet.destination_port,
                                    packet.protocol)) &
         0xfffff;
}

TEST_F(Path, AFrameOfAServiceLeavesInTheTunnelOfItsBackend) {
  const Bytes packet = ip({.destination = vip}, tcp());
  const Processed result = processed(ethernet(packet));
  EXPECT_EQ(result.outcome.reason, Reason::fresh);
  EXPECT_EQ(result.outcome.state, State::handshake);
  EXPECT_EQ(result.outcome.vip, vip_id);
  EXPECT_EQ(result.outcome.service, web);
  EXPECT_EQ(result.outcome.backend, first);
  EXPECT_EQ(result.bytes, over_v4.around(packet, {}, 0));

  const IpSpec six{.source = "2001:db8::7", .destination = vip6};
  const Bytes packet6 = ip(six, tcp({.flags = 0x10}));
  const Processed result6 = processed(ethernet(packet6, {0x81000005}));
  EXPECT_EQ(result6.outcome.reason, Reason::fresh);
  EXPECT_EQ(result6.outcome.state, State::established);
  EXPECT_EQ(result6.outcome.service, web6);
  Packet read;
  admit(HeapFrame(ethernet(packet6), 0).frame(), read);
  EXPECT_EQ(result6.bytes, over_v6.around(packet6, {0x81000005}, label_of(tables, read)));
}

TEST_F(Path, AConnectionWithABackendThatNeedsTheSlowPathIsLeftToIt) {
  const Bytes opens = frame({.destination = vip}, tcp());
  const Bytes goes_on = frame({.destination = vip}, tcp({.flags = 0x10}));
  EXPECT_FALSE(processed(opens).slow);
  tables.set_backend(first).method = Method::gue;
  EXPECT_FALSE(processed(goes_on).slow);
  tables.set_backend(first).flags |= backend_flag::outer_v6;
  const u64 counted = tables.counters().reason[static_cast<u32>(Reason::known)];
  const Processed result = processed(goes_on);
  EXPECT_TRUE(result.slow);
  EXPECT_EQ(result.bytes, goes_on);
  EXPECT_EQ(tables.counters().reason[static_cast<u32>(Reason::known)], counted);
}

struct Case {
  std::string name;
  Bytes bytes;
  Reason reason;      // to the VIP; to a host all of them pass
  bool slow = false;  // the slow path decides; the reason is then what it would be at best
};

// `six`: the VIP without an `any` service.
std::vector<Case> cases(const std::string& to, bool six) {
  IpSpec spec{.source = six ? "2001:db8::7" : "203.0.113.7", .destination = to};
  auto protocol = [spec](u8 number) {
    IpSpec other = spec;
    other.protocol = number;
    return other;
  };
  IpSpec first_piece = spec, later_piece = spec, stray_piece = spec;
  first_piece.fragment = 0x2000;
  later_piece.fragment = stray_piece.fragment = 0x2003;
  stray_piece.id = 7;
  if (six) {
    first_piece.extensions = {fragment_header(0, true)};
    later_piece.extensions = {fragment_header(64, true)};
    stray_piece.extensions = {fragment_header(64, true, 7)};
  }
  const Bytes tiny{0x9c, 0x40, 0, 80, 0, 0, 0, 0};  // ports and four bytes more
  std::vector<Case> all{
      {"SYN", frame(spec, tcp()), Reason::fresh},
      {"FIN of an unknown flow", frame(spec, tcp({.source = 9, .flags = 0x01})), Reason::hashed},
      {"a first fragment", frame(first_piece, tcp({.source = 10})), Reason::fresh},
      {"a later fragment", frame(later_piece, tiny), Reason::fragment},
      {"one without its first", frame(stray_piece, tiny), Reason::fragment_no_mapping, true},
      {"a tiny fragment", frame(first_piece, tiny), Reason::fragment_tiny},
      {"cut TCP", frame(spec, tiny), Reason::malformed},
      {"ping", frame(protocol(six ? 58 : 1), icmp(six ? 128 : 8)), Reason::echo_limited, true},
      {"a timestamp request", frame(protocol(six ? 58 : 1), icmp(13)), Reason::icmp_unsupported},
  };
  if (six) {
    all.push_back({"another port", frame(spec, tcp({.destination = 81})), Reason::no_service});
    all.push_back({"UDP", frame(protocol(17), udp()), Reason::no_service});
    all.push_back({"SCTP", frame(protocol(132), Bytes(12)), Reason::no_service});
  } else {
    all.push_back({"another port", frame(spec, tcp({.destination = 81})), Reason::fresh});
    all.push_back({"UDP", frame(protocol(17), udp()), Reason::fresh});
    all.push_back({"SCTP", frame(protocol(132), Bytes(12)), Reason::fresh});
  }
  return all;
}

TEST_F(Path, EveryKindOfPacketToAVipGetsItsVerdict) {
  for (const bool six : {false, true}) {
    for (const Case& one : cases(six ? vip6 : vip, six)) {
      const Processed result = processed(one.bytes);
      EXPECT_EQ(name_of(result.outcome.reason), std::string(name_of(one.reason)))
          << one.name << (six ? ", v6" : ", v4");
      EXPECT_EQ(result.slow, one.slow) << one.name;
      if (verdict_of(one.reason) != Verdict::forward) {
        EXPECT_EQ(result.bytes, one.bytes) << one.name;
      }
    }
  }
}

TEST_F(Path, WhatIsForNoVipPassesUntouchedHoweverBadItIs) {
  for (const bool six : {false, true}) {
    for (const Case& one : cases(six ? "2001:db8::200" : host, six)) {
      const Processed result = processed(one.bytes);
      EXPECT_EQ(result.outcome.reason, Reason::not_vip) << one.name;
      EXPECT_EQ(result.outcome.service, 0);
      EXPECT_EQ(result.outcome.vip, 0);
      EXPECT_EQ(result.bytes, one.bytes);
    }
  }
}

TEST_F(Path, WhatEndsBeforeItsDestinationIsForNoVip) {
  const Bytes whole = frame({.destination = vip}, tcp());
  for (u32 length = 0; length < whole.size(); length++) {
    const Bytes bytes(whole.begin(), whole.begin() + length);
    const Processed result = processed(bytes);
    const Reason want = length < 14         ? Reason::not_ip
                        : length < 14u + 20 ? Reason::not_vip
                                            : Reason::malformed;
    EXPECT_EQ(result.outcome.reason, want) << length;
    EXPECT_EQ(result.bytes, bytes);
  }
}

TEST_F(Path, WithoutAUsableBackendAFrameIsDroppedUntouched) {
  tables.set_backend(first).flags = 0;
  const Bytes bytes = frame({.destination = vip}, tcp());
  const Processed result = processed(bytes);
  EXPECT_EQ(result.outcome.reason, Reason::no_backend);
  EXPECT_EQ(result.outcome.service, web);
  EXPECT_EQ(result.outcome.backend, 0);
  EXPECT_EQ(result.bytes, bytes);
}

TEST_F(Path, WithoutRoomInFrontAFrameIsDroppedUntouched) {
  const Bytes bytes = frame({.destination = vip}, tcp());
  const Processed result = processed(bytes, 23);
  EXPECT_EQ(result.outcome.reason, Reason::overload);
  EXPECT_EQ(result.bytes, bytes);
}

TEST_F(Path, EveryFrameIsCountedOnceUnderItsReason) {
  u64 sent = 0;
  std::vector<u64> want(32);
  for (const bool six : {false, true}) {
    for (const std::string& to : {six ? vip6 : vip, six ? std::string("2001:db8::200") : host}) {
      for (const Case& one : cases(to, six)) {
        const Processed result = processed(one.bytes);
        if (result.slow) continue;  // the slow path counts it
        want[static_cast<u32>(result.outcome.reason)]++;
        sent++;
      }
    }
  }
  u64 counted = 0;
  for (u32 reason = 0; reason < 32; reason++) {
    EXPECT_EQ(tables.counters().reason[reason], want[reason]) << reason;
    counted += tables.counters().reason[reason];
  }
  EXPECT_EQ(counted, sent);
}

TEST_F(Path, ServicesAndBackendsCountPacketsBytesAndConnections) {
  const Bytes packet = ip({.destination = vip}, tcp());
  Bytes padded = ethernet(packet);
  padded.resize(200);
  processed(padded);
  processed(padded);
  const u64 size = packet.size();
  EXPECT_EQ(tables.service_counters(web).packets, 2u);
  EXPECT_EQ(tables.service_counters(web).bytes, 2 * size) << "IP bytes, no padding";
  EXPECT_EQ(tables.service_counters(web).new_connections, 1u);
  EXPECT_EQ(tables.backend_counters(first).packets, 2u);
  EXPECT_EQ(tables.backend_counters(first).bytes, 2 * size);
  EXPECT_EQ(tables.backend_counters(first).connections, 1u);

  // A connection that moves is one of the other backend from then on, and no new one of the
  // service.
  tables.add_pool(0, 0, 251, {second});
  tables.set_backend(first).flags = 0;
  EXPECT_EQ(processed(padded).outcome.reason, Reason::repinned);
  EXPECT_EQ(tables.backend_counters(second).connections, 1u);
  EXPECT_EQ(tables.service_counters(web).new_connections, 1u);

  // What has no backend is the service's all the same.
  tables.set_backend(second).flags = 0;
  EXPECT_EQ(processed(padded).outcome.reason, Reason::no_backend);
  EXPECT_EQ(tables.service_counters(web).packets, 4u);
  EXPECT_EQ(tables.backend_counters(second).packets, 1u);
}

// Whatever comes: memory beside the frame is not touched, what is not forwarded does not change,
// and what is forwarded is the packet in the tunnel of the backend.
TEST_F(Path, RandomFramesComeOutWholeOrUntouched) {
  tables.add_vip(address("198.0.0.0"), Family::v4, 8, 7);
  tables.add_service(address("198.0.0.0"), Family::v4, 8, 0, 0, 14, 7, 0);
  std::mt19937_64 random(1);
  std::vector<Case> seeds = cases(vip, false);
  for (const Case& one : cases(vip6, true)) seeds.push_back(one);
  u32 forwarded = 0, reasons[32] = {};
  for (u32 n = 0; n < 100'000; n++) {
    Bytes bytes = seeds[random() % seeds.size()].bytes;
    if (random() % 3 == 0) {
      const Bytes tag{0x81, 0, static_cast<u8>(random()), static_cast<u8>(random())};
      bytes.insert(bytes.begin() + 12, tag.begin(), tag.end());
    }
    for (u64 changes = random() % 4; changes > 0; changes--) {
      bytes[random() % bytes.size()] = static_cast<u8>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 20));
    const Processed result = processed(bytes, static_cast<u32>(random() % 64));
    reasons[static_cast<u32>(result.outcome.reason)]++;
    if (verdict_of(result.outcome.reason) != Verdict::forward) {
      ASSERT_EQ(result.bytes, bytes);
      continue;
    }
    forwarded++;
    // Taken apart by hand: tags, then the packet as long as it says it is.
    size_t at = 12;
    std::vector<u32> tags;
    auto word = [&bytes](size_t i) { return static_cast<u32>(bytes[i] << 8 | bytes[i + 1]); };
    while (word(at) == 0x8100 || word(at) == 0x88a8)
      tags.push_back(word(at) << 16 | word(at + 2)), at += 4;
    at += 2;
    const size_t length = bytes[at] >> 4 == 6 ? 40 + word(at + 4) : word(at + 2);
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(length);
    Packet read;
    const HeapFrame block(bytes, 0);
    admit(block.frame(), read);
    const Tunnel& tunnel = result.outcome.backend == first ? over_v4 : over_v6;
    ASSERT_EQ(result.bytes, tunnel.around(Bytes(begin, end), tags, label_of(tables, read),
                                          Bytes(end, bytes.end())));
  }
  EXPECT_GT(forwarded, 10'000u);
  for (const Reason reason :
       {Reason::not_ip, Reason::not_vip, Reason::malformed, Reason::known, Reason::fresh,
        Reason::hashed, Reason::overload, Reason::fragment_tiny, Reason::fragment_no_mapping,
        Reason::icmp_unsupported, Reason::no_service}) {
    EXPECT_GT(reasons[static_cast<u32>(reason)], 0u) << name_of(reason);
  }
}

}  // namespace
}  // namespace fairlead::core::test
