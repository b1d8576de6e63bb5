// SPDX-License-Identifier: MIT
// [node] http of node.toml: where the daemon serves, and where the other commands ask it.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace fairlead::http {

struct Where {
  std::string path;  // of a unix socket; empty: TCP
  boost::asio::ip::address address;
  uint16_t port = 0;
};

Result<Where> parse_where(const std::string& text);

}  // namespace fairlead::http
