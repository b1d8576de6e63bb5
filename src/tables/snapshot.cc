// SPDX-License-Identifier: MIT
#include "tables/snapshot.h"

#include <fmt/format.h>
#include <netinet/in.h>

namespace fairlead::tables {

std::string Service::name() const {
  switch (protocol) {
    case 0: return fmt::format("any/{}", port);
    case IPPROTO_TCP: return fmt::format("tcp/{}", port);
    case IPPROTO_UDP: return fmt::format("udp/{}", port);
    default: return fmt::format("{}/{}", protocol, port);
  }
}

}  // namespace fairlead::tables
