// SPDX-License-Identifier: MIT
// What the path leaves alone because it needs memory, several frames or a clock: fragments that
// wait for their first one, packets that are cut or whose sender is told about the MTU, pings, and
// the checksum of GUE over IPv6. Both engines have it, the in-kernel one behind an AF_XDP socket,
// so that what is on the wire is the same. CONTRACT sections 5 to 7.
//
// One per worker, called by that worker's thread. The tables are those of the worker that the frame
// came in on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/path/packet.h"
#include "engine/host/frame.h"
#include "engine/host/held.h"
#include "engine/host/limiter.h"
#include "engine/host/tables.h"

namespace fairlead::host {

class SlowPath {
 public:
  // Where frames and verdicts go. `ticket` is what the caller gave with the frame that is the
  // cause.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void send(uint64_t ticket, std::span<const uint8_t> frame) = 0;
    // Once for each frame that was given, sooner or later, after what it caused was sent.
    virtual void settle(uint64_t ticket, const core::Outcome& outcome) = 0;
  };

  // `rate`: icmp_rate_limit. `limits` are shared by all workers of the engine and outlive this.
  SlowPath(uint32_t rate, IcmpLimits& limits);

  // A frame of which process() said `slow`. It is copied where it has to wait.
  void handle(std::span<const uint8_t> frame, uint64_t ticket, const Tables& tables,
              uint64_t now_us, Sink& sink);

  // Sends held fragments whose first one has come by now, gives up those that waited too long. To
  // be called after every batch while holding() and whenever time has passed.
  void poll(const Tables& tables, uint64_t now_us, Sink& sink);
  bool holding() const { return !held_.empty(); }

 private:
  struct Job;
  void settle(Job& job, core::Reason reason);
  void answer_ping(Job& job);
  void forward(Job& job);
  void refuse(Job& job, uint16_t mtu);
  void send_pieces(Job& job, uint16_t mtu);
  bool send_one(Job& job, std::span<const uint8_t> ip_packet);

  uint32_t rate_;
  IcmpLimits& limits_;
  HeldFragments held_;
  std::unique_ptr<uint8_t[]> scratch_;  // a frame that is being made, with room in front
  std::unique_ptr<uint8_t[]> piece_;
};

}  // namespace fairlead::host
