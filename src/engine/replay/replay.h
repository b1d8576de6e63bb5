// SPDX-License-Identifier: MIT
// Captures in, captures out, through either engine's code. Time is the capture's: a Script of
// changes (who publishes what, when) and the frames happen in the order of their times, a change
// before the frames of the same instant. Nothing depends on the machine, so a replay can be
// repeated to the byte.
//
//   capture → worker_of() → Runner (user or xdp) → capture, passed frames, JSON lines
//                                       └ slow path ┘
//
// A capture has no interface. Its place is taken by the address that each frame was sent to: that
// is the source MAC of what leaves. Time never goes back; a frame that is stamped earlier than one
// before it counts as simultaneous with that one. The line of a fragment that waits for its first
// one is written when that comes, or when it has waited too long. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "tables/memory.h"
#include "tables/publisher.h"

namespace fairlead::replay {

// What changes while a capture is replayed. The control side implements it.
class Script {
 public:
  virtual ~Script() = default;
  // When the next change is due, in ns since the first frame; nothing: there is none. The first is
  // due at 0 and publishes the snapshot to begin with. Never before one that has happened.
  virtual std::optional<uint64_t> next_ns() const = 0;
  // Makes it happen. `now_ms` is the engine's clock.
  virtual Result<void> perform(tables::Publisher& publisher, uint64_t now_ms) = 0;
};

enum class Engine { user, xdp };

struct Options {
  std::string in;      // capture, pcap or pcapng
  std::string out;     // frames that leave
  std::string passed;  // frames for the host's stack; empty: not wanted
  std::string json;    // a line for each frame; empty: not wanted, "-": standard output
  Engine engine = Engine::user;
  uint32_t workers = 1;
  // Without one, frames go back to the MAC address they came from.
  bool has_gateway = true;
  uint32_t icmp_rate_limit = 100;
  tables::Capacity capacity;  // its workers are filled in
};

struct Summary {
  uint64_t frames = 0;
  uint64_t left = 0;
  int64_t last_ns = 0;  // of the last frame, since the first
  std::array<uint64_t, core::reason_count> reasons{};
  std::vector<std::string> warnings;  // one line each; the replay is right as far as it goes
};

// Errors: a file cannot be read, written, or is no Ethernet capture; the engine is not permitted or
// too small. Files are made only after input and engine have been found to be fine; on a later
// error they hold what was replayed until then.
Result<Summary> replay(const Options& options, Script& script);

}  // namespace fairlead::replay
