// SPDX-License-Identifier: MIT
// The core's path over a batch of frames, in passes, so that the memory of one frame is on its way
// while others are worked on: read the headers and ask for the connection's line; decide and ask
// for the backend's; rewrite and count. Gives the same as core::process() frame by frame
// (batch_test.cc); user_bench.cc measures what that saves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/path/path.h"
#include "engine/host/frame.h"
#include "engine/host/tables.h"
#include "engine/io/frame_queue.h"

namespace fairlead::user {

using host::Frame;
using host::Tables;

constexpr size_t largest_batch = 64;

namespace batch_detail {

// Frames ahead whose first lines are asked for.
constexpr size_t ahead = 8;

inline void prefetch_headers(const engine::HeldFrame& held) {
  __builtin_prefetch(held.data, 1);
  __builtin_prefetch(held.data + 64);
}

// The line that the connection is most likely in. Whether it really is narrow depends on the
// service, which is not known yet.
inline void prefetch_connection(const Tables& tables, const core::Packet& packet) {
  if (packet.shape != core::Shape::flow) return;
  const core::u64 hash =
      core::flow_hash(tables.settings(), packet.family, packet.source, packet.destination,
                      packet.source_port, packet.destination_port, packet.protocol);
  if (packet.family == core::Family::v4) {
    __builtin_prefetch(&tables.line<core::NarrowBucket>(core::home_of(hash)), 1);
  } else {
    __builtin_prefetch(&tables.line<core::WideBucket>(core::home_of(hash)), 1);
  }
}

inline void prefetch_backend(const Tables& tables, const core::Outcome& outcome) {
  __builtin_prefetch(&tables.backend(outcome.backend));
  __builtin_prefetch(&tables.backend_counters(outcome.backend), 1);
  __builtin_prefetch(&tables.service_counters(outcome.service), 1);
}

}  // namespace batch_detail

// At most largest_batch frames; decided[i] is what came of frames[i]. Forwarded frames have been
// rewritten in place, slow ones are as they came. A function of its own, by whose name
// ThreadSanitizer knows it (tsan.h).
[[gnu::noinline]] inline void process_batch(std::span<engine::HeldFrame> frames,
                                            const Tables& tables,
                                            std::span<core::Decided> decided) {
  using namespace batch_detail;
  std::array<core::Packet, largest_batch> packets;
  for (size_t i = 0; i < std::min(ahead, frames.size()); i++) prefetch_headers(frames[i]);
  for (size_t i = 0; i < frames.size(); i++) {
    if (i + ahead < frames.size()) prefetch_headers(frames[i + ahead]);
    packets[i].shape = core::admit(Frame(&frames[i]), packets[i]);
    prefetch_connection(tables, packets[i]);
  }
  for (size_t i = 0; i < frames.size(); i++) {
    decided[i] = core::decide(Frame(&frames[i]), tables, packets[i]);
    prefetch_backend(tables, decided[i].outcome);
  }
  for (size_t i = 0; i < frames.size(); i++) {
    core::Outcome& outcome = decided[i].outcome;
    if (decided[i].slow) continue;
    if (core::verdict_of(outcome.reason) == core::Verdict::forward) {
      Frame frame(&frames[i]);
      if (!core::forward(frame, tables, packets[i], outcome)) {
        outcome.reason = core::Reason::overload;
      }
    }
    core::count(tables, packets[i], outcome);
  }
}

}  // namespace fairlead::user
