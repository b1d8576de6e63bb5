// SPDX-License-Identifier: MIT
#include "control/controller/link.h"

#include <fmt/format.h>
#include <net/if.h>

namespace fairlead::controller {

Link look_at(const engine::Interface& served) {
  char name[IF_NAMESIZE]{};
  if (::if_indextoname(served.index, name) == nullptr) {
    return {.gone = true, .problem = fmt::format("interface {} is gone", served.name), .name = ""};
  }
  Link link{.name = name};
  const auto found = engine::find_interface(link.name);
  if (!found) {
    link.problem = found.error().message;
    return link;
  }
  link.mac = found->mac;
  if (!found->up) {
    link.problem = fmt::format("interface {} is down: `ip link set dev {} up`", name, name);
  } else if (!found->running) {
    link.problem =
        fmt::format("interface {} has no link: is its cable, or the other end, down?", name);
  }
  return link;
}

}  // namespace fairlead::controller
