// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What the kernel does with a frame when the user engine runs: frames to a VIP go to the AF_XDP
// socket of their queue, everything else to the host's stack (XDP_PASS), and VIP traffic of a queue
// without a socket, too. So ssh, BGP, ARP and neighbour discovery never depend on a worker.
//
// Which frames those are is the core's decision, made here on a copy of the rows; the worker makes
// it again, with all tables. Only the first fragment of a reply is remembered here already: the
// later ones are at this program's door before a worker has seen it.
#include "bpf/helpers.h"
#include "core/path/adopt.h"
#include "core/path/translate.h"
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
Translation translations[1u << 21] SEC(".bss.translat");

extern const volatile u32 rows_mask = 0;  // of one generation
extern const volatile u32 translations_mask = 0;

// Nobody reads them: where there is no room, the worker finds none either and counts that.
WorkerCounters uncounted SEC(".bss.uncounted");
}

// Declared without a body is what the core's functions used here have no use for.
struct StubTables {
  u32 generation;

  const PrefixLengths& prefixes() const { return user::settings.prefixes[generation & 1]; }
  const Row& row(u32 i) const { return rows[(i & rows_mask) + (generation & 1) * (rows_mask + 1)]; }
  const Settings& settings() const { return user::settings; }
  Tick now() const {
    return static_cast<Tick>(bpf::ktime_get_ns() / 100'000'000);
  }  // as the workers
  u32 worker() const;
  const StubTables& of_worker(u32 n) const;
  const Branch& branch(u32 i) const;
  TableRef table(u32 i) const;
  u64& turns_taken(u32 i) const;
  u64& live(u32 i) const;
  Slot slot(u32 i) const;
  const Backend& backend(u32 i) const;
  template <class Bucket>
  Bucket& line(u32 i) const;
  NarrowBucket& fragment_line(u32 i) const;
  Translation& translation(u32 i) const { return translations[i & translations_mask]; }
  WorkerCounters& counters() const { return uncounted; }
  BackendCounters& backend_counters(u32 i) const;
  ServiceCounters& service_counters(u32 i) const;
};
static_assert(core::Tables<StubTables>);

extern "C" [[gnu::noinline]] u32 find_row_words(u32 generation, const Address* address, u64 key) {
  if (!address) return no_row;
  return find_row(StubTables{generation}, *address, __builtin_bit_cast(RowId, key));
}

FAIRLEAD_INLINE u32 find_row_apart(const StubTables* tables, const Address* address, u64 key) {
  return find_row_words(tables->generation, address, key);
}

extern "C" [[gnu::noinline]] u64 resolve_words(u32 generation, const Packet* packet) {
  if (!packet) return static_cast<u64>(Reason::not_vip);
  return classify_detail::resolve(StubTables{generation}, *packet);
}

FAIRLEAD_INLINE u64 resolve_apart(const StubTables* tables, const Packet* packet) {
  return resolve_words(tables->generation, packet);
}

extern "C" [[gnu::noinline]] u32 find_translation_words(u32 generation, u64 key) {
  return find_translation(StubTables{generation}, key);
}

FAIRLEAD_INLINE u32 find_translation_apart(const StubTables* tables, u64 key) {
  return find_translation_words(tables->generation, key);
}

extern "C" [[gnu::noinline]] u32 add_translation_words(u32 generation, u64 key,
                                                       const Translation* entry) {
  return entry ? add_translation(StubTables{generation}, key, *entry) : no_translation;
}

FAIRLEAD_INLINE u32 add_translation_apart(const StubTables* tables, u64 key,
                                          const Translation* entry) {
  return add_translation_words(tables->generation, key, entry);
}

extern "C" [[gnu::noinline]] u32 find_reply_words(xdp_md* context, u32 generation,
                                                  const Packet* packet) {
  if (!context || !packet) return no_translation;
  const StubTables tables{generation};
  const u32 line = find_reply(bpf::XdpFrame(context), tables, *packet);
  if (line != no_translation && packet->first_fragment) {
    translate_detail::remember_reply_fragment(tables, *packet, line);
  }
  return line;
}

// The one kind of packet to a VIP that is the host's.
FAIRLEAD_INLINE bool is_neighbour_discovery(const bpf::XdpFrame& frame, const Packet& packet) {
  const wire::Icmp* icmp = frame.at<wire::Icmp>(packet.l4);
  return icmp && adopt_detail::is_neighbour_discovery(packet.family, icmp->type);
}

extern "C" SEC("xdp.frags") int fairlead_stub(xdp_md* context) {
  const u32 queue = context->rx_queue_index;
  const StubTables tables{settings.generation};
  const bpf::XdpFrame frame(context);
  Packet packet;
  packet.shape = admit(frame, packet);
  const Classified found = classify(tables, packet);
  if (!found.row && verdict_of(found.reason) == Verdict::pass) {
    if (found.reason != Reason::not_vip || !settings.translates) return XDP_PASS;
    if (find_reply_words(context, tables.generation, &packet) == no_translation) return XDP_PASS;
  }
  if (packet.shape == Shape::icmp && is_neighbour_discovery(frame, packet)) return XDP_PASS;
  return static_cast<int>(bpf::redirect_map(&sockets, queue, XDP_PASS));
}

}  // namespace fairlead::user

BPF_LICENSE("Dual MIT/GPL");
