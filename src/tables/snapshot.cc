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

std::vector<uint32_t> Service::pools() const {
  std::vector<uint32_t> all{pool};
  for (const Route& route : routes) all.push_back(route.pool);
  for (const Share& share : split) all.push_back(share.pool);
  return all;
}

}  // namespace fairlead::tables
