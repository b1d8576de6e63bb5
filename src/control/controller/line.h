// SPDX-License-Identifier: MIT
// Inside of the library: a backend's line for the packet path, all but its flags. CONTRACT sections
// 4 and 7; the fields are explained in core/records.h.
//   - gre, ipip, gue: MAC addresses and outer IP header. Of ipip the protocol is that of an IPv4
//     payload; the packet path makes it 41 for IPv6. What follows the IP header (GRE, UDP and GUE)
//     depends on the packet and is not here.
//   - l2: the MAC addresses alone. nat: see put_nat().
#pragma once

#include "control/config/model.h"
#include "control/controller/plan.h"
#include "core/records.h"

namespace fairlead::controller {

// `next_hop` may be missing: its MAC addresses are then all zero. `path_mtu`, at most network_mtu,
// is what a tunnel is filled with; in l2 and nat the packet is the client's own, and what is too
// big for a router on the way it tells the client.
core::Backend line_of(core::Method method, const config::IpAddress& backend,
                      const config::NodeConfig& node, const NextHop& next_hop, uint32_t path_mtu);

// Fills in what method nat exchanges: the backend's address and port; with snat, the node's
// address.
void put_nat(core::Backend& line, const tables::Identity& backend, bool snat,
             const config::NodeConfig& node);

}  // namespace fairlead::controller
