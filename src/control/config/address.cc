// SPDX-License-Identifier: MIT
#include "control/config/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace fairlead::config {
namespace {

constexpr size_t longest_address = INET6_ADDRSTRLEN;

// Digits only, no leading zero, at most `most`.
std::optional<uint32_t> small_number(std::string_view text, uint32_t most) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || at != end || number > most) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return number;
}

std::optional<uint16_t> port_in(std::string_view text) {
  const auto port = small_number(text, 65'535);
  if (!port || *port == 0) return std::nullopt;
  return static_cast<uint16_t>(*port);
}

}  // namespace

std::optional<IpAddress> parse_address(std::string_view text) {
  if (text.size() >= longest_address || text.find('\0') != text.npos) return std::nullopt;
  const std::string terminated(text);
  IpAddress result;
  if (inet_pton(AF_INET, terminated.c_str(), result.bytes.word) == 1) {
    result.family = core::Family::v4;
  } else if (inet_pton(AF_INET6, terminated.c_str(), result.bytes.word) == 1) {
    result.family = core::Family::v6;
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  const uint8_t bits = bits_of(address->family);
  if (slash == text.npos) return Prefix{*address, bits};
  const auto length = small_number(text.substr(slash + 1), bits);
  if (!length) return std::nullopt;
  return Prefix{*address, static_cast<uint8_t>(*length)};
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto endpoint = parse_backend(text);
  return endpoint && endpoint->port != 0 ? endpoint : std::nullopt;
}

std::optional<Endpoint> parse_backend(std::string_view text) {
  if (const auto address = parse_address(text)) return Endpoint{*address, 0};
  std::string_view host, rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  const auto address = parse_address(host);
  const bool brackets = text.starts_with('[');
  if (!address || brackets != (address->family == core::Family::v6)) return std::nullopt;
  if (rest.empty()) return Endpoint{*address, 0};
  const auto port = rest.starts_with(':') ? port_in(rest.substr(1)) : std::nullopt;
  if (!port) return std::nullopt;
  return Endpoint{*address, *port};
}

std::optional<Place> parse_place(std::string_view text) {
  if (text.starts_with('/')) {
    const bool fits = text.size() <= Place::longest_path && text.find('\0') == text.npos;
    return fits ? std::optional(Place{std::string(text), {}}) : std::nullopt;
  }
  const auto endpoint = parse_endpoint(text);
  return endpoint ? std::optional(Place{"", *endpoint}) : std::nullopt;
}

std::optional<MacAddress> parse_mac(std::string_view text) {
  MacAddress mac{};
  if (text.size() != mac.size() * 3 - 1) return std::nullopt;
  for (size_t i = 0; i < mac.size(); i++) {
    const char* at = text.data() + i * 3;
    const auto [end, error] = std::from_chars(at, at + 2, mac[i], 16);
    if (error != std::errc{} || end != at + 2) return std::nullopt;
    if (i + 1 < mac.size() && at[2] != ':') return std::nullopt;
  }
  return mac;
}

std::string to_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = address.family == core::Family::v6 ? AF_INET6 : AF_INET;
  return inet_ntop(family, address.bytes.word, text, sizeof text) ? text : "";
}

std::string to_text(const Prefix& prefix) {
  if (is_single(prefix)) return to_text(prefix.address);
  return fmt::format("{}/{}", to_text(prefix.address), prefix.length);
}

std::string to_text(const Endpoint& endpoint) {
  const std::string address = to_text(endpoint.address);
  if (endpoint.port == 0) return address;
  const bool v6 = endpoint.address.family == core::Family::v6;
  return v6 ? fmt::format("[{}]:{}", address, endpoint.port)
            : fmt::format("{}:{}", address, endpoint.port);
}

std::string to_text(const MacAddress& mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

uint8_t bits_of(core::Family family) { return family == core::Family::v6 ? 128 : 32; }

Prefix masked(const Prefix& prefix) {
  Prefix result = prefix;
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t kept =
        prefix.length > i * 32 ? std::min<uint32_t>(prefix.length - i * 32, 32) : 0;
    const uint32_t mask = kept == 0 ? 0 : ~0u << (32 - kept);
    result.address.bytes.word[i] &= core::to_be32(mask);
  }
  return result;
}

bool is_single(const Prefix& prefix) { return prefix.length == bits_of(prefix.address.family); }

std::string_view special_kind(const Prefix& prefix) {
  struct Kind {
    Prefix prefix;
    std::string_view name;
  };
  static const std::array kinds{
      Kind{*parse_prefix("0.0.0.0/8"), "addresses of no network (0.0.0.0/8)"},
      Kind{*parse_prefix("127.0.0.0/8"), "loopback addresses (127.0.0.0/8)"},
      Kind{*parse_prefix("169.254.0.0/16"), "link-local addresses (169.254.0.0/16)"},
      Kind{*parse_prefix("224.0.0.0/4"), "multicast addresses (224.0.0.0/4)"},
      Kind{*parse_prefix("240.0.0.0/4"), "reserved addresses (240.0.0.0/4)"},
      Kind{*parse_prefix("::"), "the unspecified address (::)"},
      Kind{*parse_prefix("::1"), "the loopback address (::1)"},
      Kind{*parse_prefix("::ffff:0:0/96"), "IPv4 addresses in IPv6 (::ffff:0:0/96)"},
      Kind{*parse_prefix("fe80::/10"), "link-local addresses (fe80::/10)"},
      Kind{*parse_prefix("ff00::/8"), "multicast addresses (ff00::/8)"},
  };
  for (const Kind& kind : kinds) {
    if (kind.prefix.address.family != prefix.address.family) continue;
    const uint8_t length = std::min(kind.prefix.length, prefix.length);
    const Prefix a = masked({kind.prefix.address, length});
    if (a == masked({prefix.address, length})) return kind.name;
  }
  return "";
}

bool is_host(const IpAddress& address) {
  const uint32_t first = core::to_host(address.bytes.word[0]);
  if (address.family == core::Family::v4) return first >> 24 != 0 && first >> 28 < 0xe;
  return first >> 24 != 0xff && address.bytes != core::Address{};
}

}  // namespace fairlead::config
