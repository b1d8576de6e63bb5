// SPDX-License-Identifier: MIT
// What an engine has to know about a network interface, asked of the kernel by ioctl: sysfs may
// show the interfaces of another network namespace than the one this process is in.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace fairlead::engine {

struct Interface {
  std::string name;
  uint32_t index = 0;
  std::array<uint8_t, 6> mac{};
  uint32_t mtu = 0;             // of IP packets: without the Ethernet header
  uint32_t receive_queues = 0;  // in use now
  bool up = false;              // as somebody set it
  bool running = false;         // and it has a link
};

// Error: there is no such interface, or it is not Ethernet.
Result<Interface> find_interface(const std::string& name);

// How many receive queues there are, each of which has a worker; at least 1. Error: more than
// limits::workers.
Result<uint32_t> served_queues(const Interface& interface);

}  // namespace fairlead::engine
