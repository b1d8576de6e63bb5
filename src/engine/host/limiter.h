// SPDX-License-Identifier: MIT
// A token bucket in one word (the generic cell rate algorithm, ITU-T I.371): the moment at which
// the bucket will be full again says all. Any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace fairlead::host {

class Limiter {
 public:
  // True: there was a token. `rate` a second, and that many at once; 0: never. Times only grow, in
  // microseconds, and start above 0.
  bool allow(uint64_t now_us, uint32_t rate) {
    if (rate == 0) return false;
    const uint64_t interval = 1'000'000 / rate;
    const uint64_t burst = interval * (rate - 1);
    uint64_t full = full_.load(std::memory_order_relaxed);
    while (true) {
      if (full > now_us + burst) return false;
      const uint64_t next = std::max(full, now_us) + interval;
      if (full_.compare_exchange_weak(full, next, std::memory_order_relaxed)) return true;
    }
  }

 private:
  std::atomic<uint64_t> full_{0};
};

// What a VIP may send: errors about packets that are too big, and answers to pings, each at the
// rate of icmp_rate_limit. One for all workers of an engine.
class IcmpLimits {
 public:
  explicit IcmpLimits(uint32_t vips)
      : count_(vips), errors_(new Limiter[vips]), echoes_(new Limiter[vips]) {}

  Limiter& errors(uint32_t vip) { return errors_[vip % count_]; }
  Limiter& echoes(uint32_t vip) { return echoes_[vip % count_]; }

 private:
  uint32_t count_;
  std::unique_ptr<Limiter[]> errors_, echoes_;
};

}  // namespace fairlead::host
