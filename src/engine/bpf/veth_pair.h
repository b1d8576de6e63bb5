// SPDX-License-Identifier: MIT
// For tests: a veth pair in a network namespace of its own, which the constructor makes for the
// calling thread (and the threads that it starts) and which goes when nothing uses it any more. A
// frame sent at the near end arrives at the far end, where XDP programs, AF_XDP sockets and the
// kernel's stack are; what leaves there is received at the near end.
//
// Needs root: tests call FAIRLEAD_NEEDS_NETWORK() first, which skips them with the reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"

namespace fairlead::engine {

class VethPair {
 public:
  using Frame = std::vector<std::byte>;

  struct Options {
    unsigned queues = 1;
    unsigned mtu = 1500;
  };

  static constexpr const char* near = "near0";
  static constexpr const char* far = "far0";
  static constexpr const char* near_mac = "02:00:00:00:00:0a";
  static constexpr const char* far_mac = "02:00:00:00:00:0b";

  // Why there can be none here; nothing if there can.
  static std::optional<std::string> unavailable();

  explicit VethPair(Options options);

  void send(std::span<const std::byte> frame);
  // What arrives at the near end, until `count` frames have or the time is over. Frames that this
  // end sent are not among them.
  std::vector<Frame> receive(size_t count, std::chrono::milliseconds timeout);

  // Runs a command of words without quotes; false if it fails. Its output goes to stderr.
  static bool run(const std::string& command);

 private:
  Fd socket_;
};

}  // namespace fairlead::engine

#define FAIRLEAD_NEEDS_NETWORK()                                               \
  if (const auto reason = fairlead::engine::VethPair::unavailable(); reason) { \
    GTEST_SKIP() << *reason;                                                   \
  }
