// SPDX-License-Identifier: MIT
// Addresses as people write them: "192.0.2.1", "2001:db8::1", "198.51.100.0/24", "10.0.0.1:443",
// "[2001:db8::1]:443", "02:00:00:00:00:01". Parsing is strict (no leading zeros, no zone, no
// blanks) and writing gives the one canonical form (RFC 5952 for IPv6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "control/config/model.h"

namespace fairlead::config {

std::optional<IpAddress> parse_address(std::string_view text);

// "ADDRESS" or "ADDRESS/LENGTH". The address is not masked: whoever cares compares with masked().
std::optional<Prefix> parse_prefix(std::string_view text);

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// "ADDRESS:PORT" with IPv6 in brackets; port 1..65535.
std::optional<Endpoint> parse_endpoint(std::string_view text);

// "ADDRESS", "[ADDRESS]" or "ADDRESS:PORT"; port 0 where none is given.
std::optional<Endpoint> parse_backend(std::string_view text);

// Where a server listens: "ADDRESS:PORT", or a path from / on, which a unix socket can have.
struct Place {
  static constexpr size_t longest_path = 107;  // sockaddr_un without its zero
  std::string path;                            // empty: the endpoint counts
  Endpoint endpoint;
};
std::optional<Place> parse_place(std::string_view text);

std::optional<MacAddress> parse_mac(std::string_view text);

std::string to_text(const IpAddress& address);
std::string to_text(const Prefix& prefix);      // the length is left out for a single address
std::string to_text(const Endpoint& endpoint);  // the port is left out when 0
std::string to_text(const MacAddress& mac);

uint8_t bits_of(core::Family family);  // 32, 128
Prefix masked(const Prefix& prefix);
bool is_single(const Prefix& prefix);

// Which addresses of the prefix no client or backend can have, "loopback addresses (127.0.0.0/8)";
// empty: there are none. The same for VIPs and backends, on nodes and on backends.
std::string_view special_kind(const Prefix& prefix);

// Whether one host can have it: not unspecified, multicast or broadcast.
bool is_host(const IpAddress& address);

}  // namespace fairlead::config
