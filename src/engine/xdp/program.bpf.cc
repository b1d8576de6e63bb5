// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The in-kernel engine: the core's path over mapped arrays, run by the NIC's driver. Forwarded
// frames go out where they came in (XDP_TX); what passes goes to the host's stack.
//
// A worker is a receive queue: the kernel polls a queue on one CPU at a time, so that connections
// and counters of a worker have one writer. Time is jiffies: reading them costs nothing.
#include "engine/xdp/apart.h"
#include "engine/xdp/outcome.h"

namespace fairlead::xdp {

extern "C" {
// Right shift that turns jiffies into ticks of at most 0.1 s.
extern const volatile u32 tick_shift = 0;
// Replay: time and worker are those of Settings, and what came of each frame is left in `outcome`.
extern const volatile bool replaying = false;
ReplayOutcome outcome SEC(".bss.outcome");
}

FAIRLEAD_INLINE Tick tick_now() { return static_cast<Tick>(bpf::jiffies64() >> tick_shift); }

FAIRLEAD_INLINE int action_of(Reason reason) {
  switch (verdict_of(reason)) {
    case Verdict::pass: return XDP_PASS;
    case Verdict::forward:
    case Verdict::reply: return XDP_TX;
    case Verdict::drop: return XDP_DROP;
  }
  return XDP_DROP;
}

extern "C" SEC("xdp.frags") int fairlead(xdp_md* context) {
  u32 queue = context->rx_queue_index;
  BPF_BARRIER(queue);  // read here: in a branch clang reads it through a pointer of its own
  XdpTables tables{tick_now(), settings.generation, queue};
  if (replaying) {
    tables.tick = settings.clock;
    tables.worker_id = settings.replay_worker;
  }
  XdpFrame frame(context);
  const Decided result =
      process(frame, tables, in_hand[bpf::get_smp_processor_id() & (most_cpus - 1)].packet);
  if (replaying) {
    outcome = {result.outcome, result.slow};
    return result.slow ? XDP_PASS : action_of(result.outcome.reason);
  }
  if (result.slow) {
    // The slow path has no jiffies of its own.
    if (settings.clock != tables.tick) settings.clock = tables.tick;
    const int action = static_cast<int>(bpf::redirect_map(&sockets, queue, XDP_DROP));
    if (action == XDP_DROP) {  // this queue has no slow path
      tables.counters().reason[static_cast<u32>(Reason::overload)]++;
    }
    return action;
  }
  return action_of(result.outcome.reason);
}

// Attached nowhere: user space runs it to learn the tick. The kernel wants the argument named.
extern "C" SEC("xdp") int fairlead_clock([[maybe_unused]] xdp_md* context) {
  settings.clock = tick_now();
  return XDP_DROP;
}

}  // namespace fairlead::xdp

BPF_LICENSE("Dual MIT/GPL");
