// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the kernel does with a frame when the user engine runs: frames to a VIP go to the AF_XDP
// socket of their queue, everything else to the host's stack (XDP_PASS), and VIP traffic of a queue
// without a socket, too. So ssh, BGP, ARP and neighbour discovery never depend on a worker.
//
// Which frames those are is the core's decision, made here on a copy of the rows; the worker makes
// it again, with all tables.
#include "bpf/helpers.h"
#include "core/path/classify.h"
#include "engine/bpf/xdp_frame.h"

namespace fairlead::user {

using namespace core;

extern "C" {
struct sockets_map {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, limits::workers);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

Settings settings SEC(".bss.settings");
Row rows[2u << 20] SEC(".bss.rows");  // two generations

extern const volatile u32 rows_mask = 0;  // of one generation
}

// Declared without a body is what classify() has no use for.
struct StubTables {
  u32 generation;

  const PrefixLengths& prefixes() const { return user::settings.prefixes[generation & 1]; }
  const Row& row(u32 i) const { return rows[(i & rows_mask) + (generation & 1) * (rows_mask + 1)]; }
  Tick now() const;
  const Settings& settings() const;
  TableRef table(u32 i) const;
  Slot slot(u32 i) const;
  const Backend& backend(u32 i) const;
  template <class Bucket>
  Bucket& line(u32 i) const;
  WorkerCounters& counters() const;
  BackendCounters& backend_counters(u32 i) const;
  ServiceCounters& service_counters(u32 i) const;
};
static_assert(core::Tables<StubTables>);

extern "C" [[gnu::noinline]] u64 resolve_words(u32 generation, const Packet* packet) {
  if (!packet) return static_cast<u64>(Reason::not_vip);
  return classify_detail::resolve(StubTables{generation}, *packet);
}

FAIRLEAD_INLINE u64 resolve_apart(const StubTables* tables, const Packet* packet) {
  return resolve_words(tables->generation, packet);
}

extern "C" SEC("xdp") int fairlead_stub(xdp_md* context) {
  const u32 queue = context->rx_queue_index;
  const StubTables tables{settings.generation};
  const bpf::XdpFrame frame(context);
  Packet packet;
  packet.shape = admit(frame, packet);
  const Classified found = classify(tables, packet);
  if (!found.service && verdict_of(found.reason) == Verdict::pass) return XDP_PASS;
  return static_cast<int>(bpf::redirect_map(&sockets, queue, XDP_PASS));
}

}  // namespace fairlead::user

BPF_LICENSE("Dual MIT/GPL");
