// SPDX-License-Identifier: MIT
#include "backend/vip.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cstring>

namespace fairlead::backend {
namespace {

bool reachable_v4(const core::Address& address) {
  const core::u32 host = core::to_host(address.word[0]);
  return host >> 24 != 0 && host >> 24 != 127 && host >> 28 < 14;
}

bool reachable_v6(const in6_addr& address) {
  return !IN6_IS_ADDR_UNSPECIFIED(&address) && !IN6_IS_ADDR_LOOPBACK(&address) &&
         !IN6_IS_ADDR_MULTICAST(&address) && !IN6_IS_ADDR_LINKLOCAL(&address) &&
         !IN6_IS_ADDR_V4MAPPED(&address);
}

}  // namespace

Result<VipKey> parse_vip(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  const std::string_view length = slash == text.npos ? "" : text.substr(slash);
  VipKey vip{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), vip.address.word) == 1) {
    vip.family = 4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
    vip.family = 6;
    std::memcpy(vip.address.word, &v6, sizeof v6);
  } else {
    return failure(fmt::format("\"{}\" is no IPv4 or IPv6 address", text));
  }
  if (slash != text.npos && length != (vip.family == 4 ? "/32" : "/128")) {
    return failure(
        fmt::format("\"{}\" is a prefix; give each address of it that this host serves", text));
  }
  if (vip.family == 4 ? !reachable_v4(vip.address) : !reachable_v6(v6)) {
    return failure(fmt::format("\"{}\" cannot be a VIP: no client can send to it", text));
  }
  return vip;
}

std::string to_text(const VipKey& vip) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(vip.family == 4 ? AF_INET : AF_INET6, vip.address.word, text, sizeof text);
  return text;
}

}  // namespace fairlead::backend
