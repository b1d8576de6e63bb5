// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the program leaves behind for replay, frame by frame.
#pragma once

#include "core/path/packet.h"

namespace fairlead::xdp {

struct ReplayOutcome {
  core::Outcome outcome;
  core::u32 slow;  // 1: left to the slow path, `outcome` says nothing
};

}  // namespace fairlead::xdp
