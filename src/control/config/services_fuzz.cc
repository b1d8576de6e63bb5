// SPDX-License-Identifier: MIT
// Any bytes as services.json: services, or problems that stand somewhere in the text.
#include <cstddef>
#include <cstdint>

#include "control/config/address.h"
#include "control/config/fuzz_problems.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace config = fairlead::config;
  config::NodeConfig node;
  node.node.address = config::parse_address("192.0.2.11");
  node.node.address6 = config::parse_address("2001:db8:f::11");
  const std::string text(data, data + size);
  const auto services = config::parse_services(text, "services.json", node);
  if (!services) config::check_problems(services.error(), text);
  return 0;
}
