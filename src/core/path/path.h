// SPDX-License-Identifier: MIT
// The path of a packet, whole: admit → classify → follow (→ pick) → rewrite → verdict. Both engines
// run this, packet by packet; admit() and decide() do not change the frame, so that an engine that
// works on batches can run them in passes.
#pragma once

#include "core/path/admit.h"
#include "core/path/classify.h"
#include "core/path/follow.h"
#include "core/path/rewrite.h"
#include "core/path/verdict.h"

namespace fairlead::core {

// Looks a packet up that admit() has read. Writes to the connection table, not to the frame.
template <Tables T>
FAIRLEAD_INLINE Outcome decide(const T& tables, Packet& packet) {
  const Classified classified = classify(tables, packet);
  if (!classified.service) return {classified.reason, State::none, 0, 0, 0};
  const Row& service = *classified.service;
  packet.hash = flow_hash(tables.settings(), packet.family, packet.source, packet.destination,
                          packet.source_port, packet.destination_port, packet.protocol);
  const Followed followed = follow(tables, service, packet);
  return {followed.reason, followed.state, service.service, service.vip, followed.backend};
}

// One frame from beginning to end. The verdict is verdict_of(outcome.reason): a forwarded frame has
// been rewritten in place and is to be sent; any other is untouched.
template <Frame F, Tables T>
FAIRLEAD_INLINE Outcome process(F& frame, const T& tables) {
  Packet packet;
  packet.shape = admit(frame, packet);
  Outcome outcome = decide(tables, packet);
  if (verdict_of(outcome.reason) == Verdict::forward &&
      !rewrite(frame, tables.backend(outcome.backend), packet)) {
    outcome.reason = Reason::overload;
  }
  count(tables, packet, outcome);
  return outcome;
}

}  // namespace fairlead::core
