// SPDX-License-Identifier: MIT
// How a publisher knows that a thread which reads tables in batches reads the old ones no more.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace fairlead::host {

class Turns {
 public:
  // Around a batch, by the thread that reads. Between them the count is odd: either the publisher
  // sees that, or the batch sees the generation that was published; both are sequentially
  // consistent.
  void begin() { turns_.fetch_add(1, std::memory_order_seq_cst); }
  void end() { turns_.fetch_add(1, std::memory_order_release); }

  // Returns when the batch that is being worked on, if any, is done. Called by the thread that has
  // published. Adding nothing is a read that no later or earlier access passes: fences say the
  // same, but not to ThreadSanitizer.
  void wait() {
    const uint64_t seen = turns_.fetch_add(0, std::memory_order_seq_cst);
    while (seen % 2 != 0 && turns_.load(std::memory_order_acquire) == seen) {
      std::this_thread::yield();
    }
  }

 private:
  alignas(64) std::atomic<uint64_t> turns_ = 0;
};

}  // namespace fairlead::host
