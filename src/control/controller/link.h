// SPDX-License-Identifier: MIT
// How the interface is that the engine forwards on, asked of the kernel each time: it may go down,
// be renamed or deleted, and come again under another index.
#pragma once

#include <string>

#include "control/config/model.h"
#include "engine/bpf/interface.h"

namespace fairlead::controller {

struct Link {
  bool gone = false;
  std::string problem;       // why nothing can be forwarded; empty: it can
  std::string name;          // that it has now
  config::MacAddress mac{};  // all zero if it is not known
};

Link look_at(const engine::Interface& served);

}  // namespace fairlead::controller
