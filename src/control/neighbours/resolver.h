// SPDX-License-Identifier: MIT
// The next hop of each backend: where the kernel's routes lead and which MAC address its neighbour
// table has for it. Packets that an engine sends do not pass the kernel's stack, so nothing would
// keep those entries alive: each look tells the kernel that they are in use.
//
// look() asks for everything again and is meant to be called when the kernel has told of a change,
// and each second. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/neighbours/kernel.h"

namespace fairlead::neighbours {

struct Hop {
  std::optional<MacAddress> mac;
  std::string missing;  // why there is no MAC: "no route to 10.0.0.1"

  friend bool operator==(const Hop&, const Hop&) = default;
};

class Resolver {
 public:
  // Hops must leave through this interface, which the engine forwards on.
  static Result<Resolver> open(std::string interface, uint32_t index);
  Resolver(Kernel kernel, std::string interface, uint32_t index)
      : kernel_(std::move(kernel)), interface_(std::move(interface)), index_(index) {}

  // Those not named are forgotten.
  void want(std::vector<IpAddress> backends);

  struct Found {
    IpAddress backend;
    Hop hop;
  };
  struct Looked {
    std::vector<Found> changed;   // those that are not as they were at the last look, or new
    std::optional<Error> failed;  // what kept it from looking at the others
  };
  Looked look();

  // Addresses of this host.
  Result<std::vector<IpAddress>> own() { return kernel_.addresses(); }

 private:
  using Table = std::map<IpAddress, Neighbour>;

  Result<Hop> hop_of(const IpAddress& backend, const Table& table, std::set<IpAddress>& used);

  Kernel kernel_;
  std::string interface_;
  uint32_t index_;
  std::map<IpAddress, std::optional<Hop>> hops_;  // by backend; none: not looked at yet
};

}  // namespace fairlead::neighbours
