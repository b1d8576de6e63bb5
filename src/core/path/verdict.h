// SPDX-License-Identifier: MIT
// Last stage: what came of the packet is counted, in lines that only this worker writes.
#pragma once

#include "core/path/concepts.h"
#include "core/path/packet.h"

namespace fairlead::core {

template <Tables T>
FAIRLEAD_INLINE void count(const T& tables, const Packet& packet, const Outcome& outcome) {
  WorkerCounters& worker = tables.counters();
  worker.reason[static_cast<u32>(outcome.reason) & 31]++;
  if (outcome.reason == Reason::nat_reply) return;  // no packet to a service or a backend
  if (outcome.service != 0) {
    ServiceCounters& service = tables.service_counters(outcome.service);
    service.packets++;
    service.bytes += packet.ip_length;
    if (outcome.reason == Reason::fresh) service.new_connections++;
  }
  if (outcome.backend != 0) {
    BackendCounters& backend = tables.backend_counters(outcome.backend);
    backend.packets++;
    backend.bytes += packet.ip_length;
    if (outcome.reason == Reason::fresh || outcome.reason == Reason::repinned) {
      backend.connections++;
      // Until the next count (tables/live_connections.h).
      if (tables.settings().counts_live) add_shared(tables.live(outcome.backend));
    }
  }
}

}  // namespace fairlead::core
