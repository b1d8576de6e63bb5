// SPDX-License-Identifier: MIT
#include "control/neighbours/resolver.h"

#include <fmt/format.h>
#include <linux/neighbour.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "control/config/address.h"

namespace fairlead::neighbours {
namespace {

constexpr uint16_t has_mac =
    NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY;
constexpr uint16_t wants_use = NUD_STALE | NUD_FAILED;  // the kernel does nothing by itself

std::string name_of(uint32_t interface) {
  char name[IF_NAMESIZE]{};
  return ::if_indextoname(interface, name) != nullptr ? name : fmt::format("{}", interface);
}

}  // namespace

Result<Resolver> Resolver::open(std::string interface, uint32_t index) {
  auto kernel = Kernel::open();
  if (!kernel) return std::unexpected(kernel.error());
  return Resolver(std::move(*kernel), std::move(interface), index);
}

void Resolver::want(std::vector<IpAddress> backends) {
  std::map<IpAddress, std::optional<Hop>> wanted;
  for (const IpAddress& backend : backends) {
    const auto known = hops_.find(backend);
    wanted.try_emplace(backend, known != hops_.end() ? known->second : std::nullopt);
  }
  hops_ = std::move(wanted);
}

Resolver::Looked Resolver::look() {
  Looked looked;
  if (hops_.empty()) return looked;
  auto neighbours = kernel_.neighbours(index_);
  if (!neighbours) return {{}, neighbours.error()};
  Table table;
  for (const Neighbour& neighbour : *neighbours) table.emplace(neighbour.address, neighbour);
  std::set<IpAddress> used;
  for (auto& [backend, known] : hops_) {
    auto hop = hop_of(backend, table, used);
    if (!hop) {
      looked.failed = hop.error();  // what was found before is known from now on: it is told
      break;
    }
    if (known == *hop) continue;
    known = std::move(*hop);
    looked.changed.push_back({backend, *known});
  }
  for (const IpAddress& address : used) {
    if (const auto done = kernel_.use(index_, address); !done)
      log::debug("{}", done.error().message);
  }
  return looked;
}

Result<Hop> Resolver::hop_of(const IpAddress& backend, const Table& table,
                             std::set<IpAddress>& used) {
  const std::string to = config::to_text(backend);
  const auto route = kernel_.route(backend);
  if (!route) return std::unexpected(route.error());
  if (route->error != 0) {
    const bool none = route->error == ENETUNREACH || route->error == EHOSTUNREACH;
    return Hop{{},
               none ? fmt::format("no route to {}", to)
                    : fmt::format("no route to {}: {}", to, std::strerror(route->error))};
  }
  if (route->local) return Hop{{}, fmt::format("{} is an address of this node", to)};
  if (route->interface != index_) {
    return Hop{{},
               fmt::format("the route to {} leaves through {}, not through {}", to,
                           name_of(route->interface), interface_)};
  }
  const IpAddress next = route->gateway.value_or(backend);
  const auto found = table.find(next);
  if (found == table.end() || (found->second.state & wants_use) != 0) used.insert(next);
  if (found != table.end() && (found->second.state & has_mac) != 0 && found->second.mac) {
    return Hop{found->second.mac, {}};
  }
  const std::string who = next == backend ? to : fmt::format("gateway {}", config::to_text(next));
  const bool failed = found != table.end() && (found->second.state & NUD_FAILED) != 0;
  return Hop{{},
             failed ? fmt::format("{} does not answer on {}", who, interface_)
                    : fmt::format("waiting for {} to answer on {}", who, interface_)};
}

}  // namespace fairlead::neighbours
