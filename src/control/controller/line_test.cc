// SPDX-License-Identifier: MIT
#include "control/controller/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "control/config/address.h"
#include "control/config/mtu.h"
#include "core/wire.h"

namespace fairlead::controller {
namespace {

using core::Method;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

config::NodeConfig node() {
  config::NodeConfig node;
  node.node.address = config::parse_address("192.0.2.11");
  node.node.address6 = config::parse_address("2001:db8:f::11");
  return node;
}

const NextHop next_hop{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 0x11}, ""};

core::Backend line(Method method, std::string_view backend, uint32_t path_mtu = 1500) {
  return line_of(method, config::parse_address(backend).value(), node(), next_hop, path_mtu);
}

TEST(Line, has_the_MAC_addresses_of_next_hop_and_interface) {
  for (const Method method : {Method::gre, Method::ipip, Method::gue, Method::l2, Method::nat}) {
    EXPECT_THAT(line(method, "10.0.0.1").macs, ElementsAre(2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x11));
    EXPECT_EQ(line(method, "10.0.0.1").method, method);
    EXPECT_EQ(line(method, "10.0.0.1").flags, 0) << "others set them";
  }
}

// CONTRACT section 4.
// IP in IP has 4 or 41, which each packet decides.
TEST(Line, to_an_IPv4_backend_has_the_outer_header_ready) {
  const auto outer = [](uint8_t protocol) {
    return std::vector<uint8_t>{0x45, 0, 0,   0, 0, 0,  0x40, 0, 64, protocol,
                                0,    0, 192, 0, 2, 11, 10,   0, 0,  1};
  };
  for (const auto& [method, protocol] :
       {std::pair(Method::gre, 47), std::pair(Method::ipip, 0), std::pair(Method::gue, 17)}) {
    const core::Backend backend = line(method, "10.0.0.1");
    const std::vector<uint8_t> header(backend.outer, backend.outer + 20);
    EXPECT_THAT(header, ElementsAreArray(outer(static_cast<uint8_t>(protocol))));
  }
}

// RFC 791: the sum over a header with a right checksum is 0xffff.
TEST(Line, to_an_IPv4_backend_has_the_sum_that_the_checksum_is_made_of) {
  for (const char* address : {"10.0.0.1", "255.1.255.254", "1.0.0.1"}) {
    const core::Backend backend = line(Method::gre, address);
    core::wire::Ipv4 header;
    std::memcpy(&header, backend.outer, sizeof header);
    header.tos = 0xb9;
    header.total_length = core::to_be16(1'500);
    uint32_t sum = backend.partial_sum + header.total_length + (uint32_t{header.tos} << 8);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    header.checksum = static_cast<uint16_t>(~sum);
    uint16_t words[10];
    std::memcpy(words, &header, sizeof words);
    uint32_t whole = 0;
    for (const uint16_t word : words) whole += word;
    while (whole > 0xffff) whole = (whole & 0xffff) + (whole >> 16);
    EXPECT_EQ(whole, 0xffffu) << address;
  }
}

TEST(Line, to_an_IPv6_backend_has_the_outer_header_ready) {
  const core::Backend backend = line(Method::gre, "2001:db8:b::1");
  EXPECT_THAT(backend.outer,
              ElementsAre(0x60, 0, 0, 0, 0, 0, 47, 64,                                       //
                          0x20, 0x01, 0x0d, 0xb8, 0, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11,  //
                          0x20, 0x01, 0x0d, 0xb8, 0, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01));
  EXPECT_EQ(backend.partial_sum, 0);
}

TEST(Line, without_a_tunnel_has_no_outer_header) {
  for (const Method method : {Method::l2, Method::nat}) {
    EXPECT_THAT(line(method, "10.0.0.1").outer, Each(0));
    EXPECT_EQ(line(method, "10.0.0.1").partial_sum, 0);
  }
}

// CONTRACT section 7.
TEST(Line, has_the_MTU_and_MSS_that_the_method_leaves) {
  struct Case {
    Method method;
    const char* backend;
    int inner_mtu;
  };
  for (const auto& [method, backend, inner_mtu] :
       {Case{Method::gre, "10.0.0.1", 1476}, Case{Method::gre, "2001:db8:b::1", 1456},
        Case{Method::ipip, "10.0.0.1", 1480}, Case{Method::ipip, "2001:db8:b::1", 1460},
        Case{Method::gue, "10.0.0.1", 1468}, Case{Method::gue, "2001:db8:b::1", 1448},
        Case{Method::l2, "10.0.0.1", 1500}, Case{Method::nat, "2001:db8:b::1", 1500}}) {
    EXPECT_EQ(line(method, backend).inner_mtu, inner_mtu);
    EXPECT_EQ(line(method, backend).mss, inner_mtu - 40);
  }
}

TEST(Line, of_a_tunnel_is_for_the_path_MTU_and_of_others_for_network_mtu) {
  for (const Method method : {Method::gre, Method::ipip, Method::gue, Method::l2, Method::nat}) {
    const uint32_t less = config::is_tunnel(method) ? 100 : 0;
    for (const char* backend : {"10.0.0.1", "2001:db8::1"}) {
      const core::Backend narrow = line(method, backend, 1400), wide = line(method, backend);
      EXPECT_EQ(narrow.inner_mtu, wide.inner_mtu - less);
      EXPECT_EQ(narrow.mss, wide.mss - less);
    }
  }
}

}  // namespace
}  // namespace fairlead::controller
