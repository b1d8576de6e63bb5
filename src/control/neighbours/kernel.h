// SPDX-License-Identifier: MIT
// What the kernel knows about the way to an address: its routes, neighbours and addresses, asked
// for over netlink. No policy here: control/neighbours/resolver decides what a hop is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/config/model.h"
#include "control/neighbours/netlink.h"

namespace fairlead::neighbours {

using config::IpAddress;
using config::MacAddress;

struct Route {
  int error = 0;       // errno of the kernel: ENETUNREACH, EHOSTUNREACH, ...; 0: the rest counts
  bool local = false;  // an address of this host
  uint32_t interface = 0;  // index
  std::optional<IpAddress> gateway;
};

struct Neighbour {
  IpAddress address;
  uint32_t interface = 0;
  uint16_t state = 0;  // NUD_*
  std::optional<MacAddress> mac;
};

class Kernel {
 public:
  static Result<Kernel> open();
  explicit Kernel(Netlink netlink) : netlink_(std::move(netlink)) {}

  Result<Route> route(const IpAddress& destination);
  Result<std::vector<Neighbour>> neighbours(uint32_t interface);
  Result<std::vector<IpAddress>> addresses();  // of all interfaces of this host

  // Tells the kernel that `address` is in use, as a packet to it would: a missing or failed entry
  // is asked for on the wire, a stale one is verified.
  Result<void> use(uint32_t interface, const IpAddress& address);

 private:
  Netlink netlink_;
};

}  // namespace fairlead::neighbours
