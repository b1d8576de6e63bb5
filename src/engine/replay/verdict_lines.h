// SPDX-License-Identifier: MIT
// The JSON lines of a replay, one for each frame that came in:
//
//   {"frame":1,"time":0.0,"verdict":"forward","reason":"new","vip":"web","service":"tcp/443",
//    "pool":"web","backend":"10.0.0.1:443","state":"handshake","worker":0,"out":[1]}
//
// on one line, in this order; what does not apply is left out. Names are those of the snapshot that
// was in force; an id that is gone keeps its last name, since connections may still name it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/path/packet.h"
#include "tables/publisher.h"

namespace fairlead::replay {

class VerdictLines {
 public:
  struct Frame {
    uint64_t number = 0;  // from 1
    int64_t time_ns = 0;  // since the first frame, as the capture has it
    core::Outcome outcome{};
    uint32_t worker = 0;
    std::vector<uint64_t> left;  // numbers of the frames that left, from 1
  };

  // Learns the names of the snapshot that was just published.
  void learn(const tables::Publisher& publisher);

  void write(const Frame& frame, fmt::memory_buffer& to) const;

 private:
  // By id, as they stand in a line: `,"pool":"web","backend":"10.0.0.1:443"`.
  std::vector<std::string> vips_, services_, service_pools_, backends_;
};

}  // namespace fairlead::replay
