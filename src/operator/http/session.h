// SPDX-License-Identifier: MIT
// Inside of the library: one connection of a client, from its first request to its last.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>

#include <memory>

#include "operator/http/server.h"

namespace fairlead::http {

// What the connections of a server share. When the server is gone, `handler` is empty.
struct Shared {
  Handler handler;
  uint32_t connections = 0;
};

void serve(boost::asio::generic::stream_protocol::socket socket, std::shared_ptr<Shared> shared);

}  // namespace fairlead::http
