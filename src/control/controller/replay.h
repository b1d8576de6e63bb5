// SPDX-License-Identifier: MIT
// `fairlead replay` from its arguments to its result: reads the configuration, takes the part of
// the controller (replay_script.h) and lets engine/replay do the rest. It stands here because only
// the control side may know both configuration and engines; the command line
// (operator/cli/replay.h) sees no more of them than this page.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "control/config/parse.h"

namespace fairlead::controller {

struct ReplayRequest {
  std::string node_file;
  std::string in;
  std::string out;
  std::string passed, json;                     // empty: not wanted; json "-": standard output
  bool in_kernel = false;                       // the XDP program instead of the user engine
  uint32_t workers = 0;                         // 0: num_threads of node.toml, or 1 if that is 0
  std::vector<std::string> down, up, draining;  // "IP[:PORT][@S]"
  std::vector<std::string> services;  // "FILE[@S]"; FILE@0 stands for the one of node.toml
};

struct ReplayReport {
  uint64_t frames = 0;
  uint64_t left = 0;
  double seconds = 0;                                      // from the first frame to the last
  std::vector<std::pair<std::string, uint64_t>> verdicts;  // all four: "pass", "forward", ...
  std::vector<std::string> warnings;
};

// The error is every problem; one that is of no file has none. Nothing is written unless the
// request is sound.
config::Parsed<ReplayReport> run_replay(const ReplayRequest& request);

}  // namespace fairlead::controller
