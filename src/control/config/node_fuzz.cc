// SPDX-License-Identifier: MIT
// Any bytes as node.toml: a configuration, or problems that stand somewhere in the text.
#include <cstddef>
#include <cstdint>

#include "control/config/fuzz_problems.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(data, data + size);
  const auto config = fairlead::config::parse_node(text, "node.toml");
  if (!config) fairlead::config::check_problems(config.error(), text);
  return 0;
}
