// SPDX-License-Identifier: MIT
#include "control/config/address.h"

#include <gtest/gtest.h>

namespace fairlead::config {
namespace {

TEST(Address, is_written_in_its_one_canonical_form) {
  for (const auto& [text, canonical] : std::vector<std::pair<std::string, std::string>>{
           {"192.0.2.1", "192.0.2.1"},
           {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
           {"::", "::"},
           {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
       }) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_text(*address), canonical);
  }
}

TEST(Address, lies_in_network_byte_order) {
  EXPECT_EQ(parse_address("192.0.2.1")->bytes.word[0], core::to_be32(0xc0000201));
  EXPECT_EQ(parse_address("192.0.2.1")->bytes.word[1], 0u);
  EXPECT_EQ(parse_address("2001:db8::1")->bytes.word[0], core::to_be32(0x20010db8));
  EXPECT_EQ(parse_address("2001:db8::1")->bytes.word[3], core::to_be32(1));
}

TEST(Address, is_refused_when_it_is_none) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, " 192.0.2.1"sv, "192.0.2"sv, "192.0.2.256"sv, "192.0.2.01"sv, "192.0.2.1/32"sv,
        "192.0.2.1 "sv, "2001:db8:::1"sv, "fe80::1%eth0"sv, "[::1]"sv, "web"sv, "192.0.2.1\0"sv,
        "1:2:3:4:5:6:7:8:9"sv}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Prefix, of_one_address_has_no_length) {
  EXPECT_EQ(parse_prefix("198.51.100.10"), parse_prefix("198.51.100.10/32"));
  EXPECT_EQ(to_text(*parse_prefix("198.51.100.10/32")), "198.51.100.10");
  EXPECT_EQ(to_text(*parse_prefix("2001:db8::/128")), "2001:db8::");
}

TEST(Prefix, is_refused_with_a_length_that_the_family_does_not_have) {
  EXPECT_TRUE(parse_prefix("0.0.0.0/0"));
  EXPECT_TRUE(parse_prefix("::/128"));
  for (const char* text : {"10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08",
                           "10.0.0.0/8 ", "/8", "10.0.0.0/8/8"}) {
    EXPECT_FALSE(parse_prefix(text)) << text;
  }
}

TEST(Prefix, masks_every_bit_behind_its_length) {
  for (const auto& [text, whole] : std::vector<std::pair<std::string, std::string>>{
           {"198.51.100.255/24", "198.51.100.0/24"},
           {"255.255.255.255/0", "0.0.0.0/0"},
           {"255.255.255.255/1", "128.0.0.0/1"},
           {"255.255.255.255/31", "255.255.255.254/31"},
           {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/33", "ffff:ffff:8000::/33"},
           {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/64", "ffff:ffff:ffff:ffff::/64"},
           {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"},
       }) {
    EXPECT_EQ(to_text(masked(*parse_prefix(text))), whole);
  }
}

TEST(Endpoint, has_brackets_around_IPv6) {
  for (const char* text : {"127.0.0.1:9100", "[::1]:9100", "[2001:db8::1]:1", "10.0.0.1:65535"}) {
    ASSERT_TRUE(parse_endpoint(text)) << text;
    EXPECT_EQ(to_text(*parse_endpoint(text)), text);
  }
  for (const char* text : {"127.0.0.1", "::1:9100", "[127.0.0.1]:80", "[::1]", "[::1]9100", "[::1",
                           "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:080", "10.0.0.1:", ":80",
                           "localhost:80", "", "10.0.0.1:80:80"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(Endpoint, of_a_backend_may_lack_the_port) {
  EXPECT_EQ(parse_backend("10.0.0.1"), (Endpoint{*parse_address("10.0.0.1"), 0}));
  EXPECT_EQ(parse_backend("2001:db8::1"), (Endpoint{*parse_address("2001:db8::1"), 0}));
  EXPECT_EQ(parse_backend("[2001:db8::1]"), (Endpoint{*parse_address("2001:db8::1"), 0}));
  EXPECT_EQ(parse_backend("[2001:db8::1]:443"), (Endpoint{*parse_address("2001:db8::1"), 443}));
  EXPECT_EQ(to_text(*parse_backend("[2001:db8::1]")), "2001:db8::1");
}

TEST(MacAddress, is_six_pairs_of_hexadecimal_digits) {
  EXPECT_EQ(parse_mac("02:00:5E:10:0a:ff"), (MacAddress{0x02, 0x00, 0x5e, 0x10, 0x0a, 0xff}));
  EXPECT_EQ(to_text(MacAddress{0x02, 0x00, 0x5e, 0x10, 0x0a, 0xff}), "02:00:5e:10:0a:ff");
  for (const char* text : {"", "02:00:5e:10:0a", "02:00:5e:10:0a:ff:00", "02-00-5e-10-0a-ff",
                           "2:0:5e:10:a:ff:", "02:00:5e:10:0a:fg", "+2:00:5e:10:0a:ff"}) {
    EXPECT_FALSE(parse_mac(text)) << text;
  }
}

TEST(Host, has_no_group_or_missing_address) {
  for (const char* text : {"10.0.0.1", "127.0.0.1", "223.255.255.255", "::1", "2001:db8::1"}) {
    EXPECT_TRUE(is_host(*parse_address(text))) << text;
  }
  for (const char* text : {"0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "::", "ff02::1"}) {
    EXPECT_FALSE(is_host(*parse_address(text))) << text;
  }
}

TEST(Place, IsAnEndpointOrThePathOfAUnixSocket) {
  EXPECT_EQ(parse_place("127.0.0.1:9100").value().endpoint, *parse_endpoint("127.0.0.1:9100"));
  EXPECT_EQ(parse_place("/run/fairlead.sock").value().path, "/run/fairlead.sock");
  EXPECT_TRUE(parse_place("/" + std::string(106, 'x')));
  for (const std::string& text :
       {std::string("run/fairlead.sock"), "/" + std::string(107, 'x'), std::string("127.0.0.1"),
        std::string("127.0.0.1/9100"), std::string("/a\0b", 4), std::string()}) {
    EXPECT_FALSE(parse_place(text)) << text;
  }
}

TEST(Addresses, AreInTheOrderOfTheirBytesIpv4First) {
  const char* sorted[] = {"1.0.0.2", "2.0.0.1",    "10.0.0.1", "200.0.0.1",
                          "::1",     "2001:db8::", "ff02::1"};
  for (size_t i = 1; i < std::size(sorted); i++) {
    EXPECT_LT(*parse_address(sorted[i - 1]), *parse_address(sorted[i])) << sorted[i];
  }
}

}  // namespace
}  // namespace fairlead::config
