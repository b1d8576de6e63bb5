// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The cold parts of the path as functions that the verifier checks apart (core/path/concepts.h says
// why they stand here). Each is found by its argument types when the path calls NAME_apart.
#pragma once

#include "core/path/path.h"
#include "engine/xdp/tables.h"

extern "C" {

[[gnu::noinline]] fairlead::core::u32 find_mss_apart(xdp_md* context, fairlead::core::u32 at,
                                                     fairlead::core::u32 end) {
  using namespace fairlead;
  return context ? core::clamp_detail::find_mss(xdp::XdpFrame(context), at, end) : 0;
}

[[gnu::noinline]] bool rewrite_other_apart(xdp_md* context, const fairlead::core::Backend* backend,
                                           const fairlead::core::Packet* packet) {
  using namespace fairlead;
  if (!context || !backend || !packet) return false;
  xdp::XdpFrame frame(context);
  return core::rewrite_detail::rewrite_other(frame, *backend, *packet);
}

[[gnu::noinline]] fairlead::core::u32 exchange_end_apart(
    xdp_md* context, const fairlead::core::translate_detail::Spot* spot, fairlead::core::u32 source,
    const fairlead::core::Address* address, fairlead::core::u32 port) {
  using namespace fairlead;
  if (!context || !spot || !address) return 0;
  return core::translate_detail::exchange_end(xdp::XdpFrame(context), *spot, source != 0, *address,
                                              static_cast<core::be16>(port));
}

[[gnu::noinline]] bool rewrite_nat_apart(xdp_md* context, const fairlead::core::Backend* backend,
                                         const fairlead::core::Packet* packet) {
  using namespace fairlead;
  if (!context || !backend || !packet) return false;
  return core::rewrite_nat(xdp::XdpFrame(context), *backend, *packet);
}

}  // extern "C"

namespace fairlead::xdp {

// Tables go into these functions as one word: the kernel knows no struct with member functions.
FAIRLEAD_INLINE u64 word_of(const XdpTables& tables) {
  return static_cast<u64>(tables.tick) << 32 | (tables.generation & 1) << 16 |
         (tables.worker_id & 0xffff);
}
FAIRLEAD_INLINE XdpTables tables_of(u64 word) {
  return {static_cast<Tick>(word >> 32), static_cast<u32>(word >> 16) & 1,
          static_cast<u32>(word) & 0xffff};
}

extern "C" [[gnu::noinline]] u32 find_row_words(u64 tables, const Address* address, u64 key) {
  if (!address) return no_row;
  return find_row(tables_of(tables), *address, __builtin_bit_cast(RowId, key));
}

FAIRLEAD_INLINE u32 find_row_apart(const XdpTables* tables, const Address* address, u64 key) {
  return find_row_words(word_of(*tables), address, key);
}

extern "C" {

[[gnu::noinline]] u64 resolve_words(u64 tables, const Packet* packet) {
  if (!packet) return static_cast<u64>(Reason::not_vip);
  return classify_detail::resolve(tables_of(tables), *packet);
}

[[gnu::noinline]] u64 adopt_error_words(xdp_md* context, u64 tables, Packet* packet) {
  if (!context || !packet) return static_cast<u64>(Reason::icmp_no_flow);
  return adopt_detail::adopt_error(XdpFrame(context), tables_of(tables), *packet);
}

[[gnu::noinline]] u32 remember_fragment_words(u64 tables, const Packet* packet, u32 backend) {
  if (!packet) return 0;
  const XdpTables here = tables_of(tables);
  remember_fragment(here, fragment_hash(here.settings(), *packet), backend);
  return 0;
}

[[gnu::noinline]] u32 probe_words(u64 tables, u32 slot) { return probe(tables_of(tables), slot); }

[[gnu::noinline]] u64 minus_log2_words(u32 u) { return branch_detail::minus_log2(u); }

FAIRLEAD_INLINE u64 minus_log2_apart(const XdpTables*, u32 u) { return minus_log2_words(u); }

[[gnu::noinline]] u32 pick_words(u64 tables, const Row* service, const Address* source, u64 hash,
                                 u32 opens) {
  if (!service || !source) return 0;
  return pick_detail::pick(tables_of(tables), *service, *source, hash, opens != 0);
}

[[gnu::noinline]] bool remember_narrow(u64 tables, const u64* key, u64 hash, u64 meta) {
  return key && remember<NarrowBucket>(tables_of(tables), *key, hash, Meta{meta});
}

[[gnu::noinline]] bool remember_wide(u64 tables, const WideKey* key, u64 hash, u64 meta) {
  return key && remember<WideBucket>(tables_of(tables), *key, hash, Meta{meta});
}
}

FAIRLEAD_INLINE u64 resolve_apart(const XdpTables* tables, const Packet* packet) {
  return resolve_words(word_of(*tables), packet);
}

FAIRLEAD_INLINE u64 adopt_error_apart(xdp_md* context, const XdpTables* tables, Packet* packet) {
  return adopt_error_words(context, word_of(*tables), packet);
}

FAIRLEAD_INLINE u32 remember_fragment_apart(const XdpTables* tables, const Packet* packet,
                                            u32 backend) {
  return remember_fragment_words(word_of(*tables), packet, backend);
}

FAIRLEAD_INLINE u32 probe_apart(const XdpTables* tables, u32 slot) {
  return probe_words(word_of(*tables), slot);
}

extern "C" [[gnu::noinline]] u32 known_backend_words(u64 tables, const Row* service,
                                                     const Address* source, u32 source_port,
                                                     u64 hash) {
  if (!service || !source) return 0;
  return follow_detail::known_backend(tables_of(tables), *service, *source, source_port, hash);
}

FAIRLEAD_INLINE u32 known_backend_apart(const XdpTables* tables, const Row* service,
                                        const Address* source, u32 source_port, u64 hash) {
  return known_backend_words(word_of(*tables), service, source, source_port, hash);
}

FAIRLEAD_INLINE u32 pick_apart(const XdpTables* tables, const Row* service, const Address* source,
                               u64 hash, bool opens) {
  return pick_words(word_of(*tables), service, source, hash, opens);
}

FAIRLEAD_INLINE bool remember_apart(const XdpTables* tables, const u64* key, u64 hash, u64 meta) {
  return remember_narrow(word_of(*tables), key, hash, meta);
}

FAIRLEAD_INLINE bool remember_apart(const XdpTables* tables, const WideKey* key, u64 hash,
                                    u64 meta) {
  return remember_wide(word_of(*tables), key, hash, meta);
}

// Method nat.
extern "C" {

[[gnu::noinline]] u32 find_translation_words(u64 tables, u64 key) {
  return find_translation(tables_of(tables), key);
}

[[gnu::noinline]] u32 add_translation_words(u64 tables, u64 key, const Translation* entry) {
  return entry ? add_translation(tables_of(tables), key, *entry) : no_translation;
}

[[gnu::noinline]] u32 refresh_connection_words(u64 tables, u32 line, u32 family, u32 protocol) {
  return translate_detail::refresh_connection(tables_of(tables), line, static_cast<Family>(family),
                                              static_cast<u8>(protocol));
}
}

FAIRLEAD_INLINE u32 find_translation_apart(const XdpTables* tables, u64 key) {
  return find_translation_words(word_of(*tables), key);
}

FAIRLEAD_INLINE u32 add_translation_apart(const XdpTables* tables, u64 key,
                                          const Translation* entry) {
  return add_translation_words(word_of(*tables), key, entry);
}

FAIRLEAD_INLINE u32 refresh_connection_apart(const XdpTables* tables, u32 line, u32 family,
                                             u32 protocol) {
  return refresh_connection_words(word_of(*tables), line, family, protocol);
}

extern "C" {

[[gnu::noinline]] u32 find_own_words(u64 tables, Packet* packet, u32 backend) {
  return packet ? translate_detail::find_own(tables_of(tables), *packet, backend) : 0;
}

[[gnu::noinline]] u32 remember_own_words(xdp_md* context, u64 tables, const Packet* packet,
                                         u64 known, u32 wide) {
  if (!context || !packet) return 0;
  return translate_detail::remember_own(XdpFrame(context), tables_of(tables), *packet, known,
                                        wide != 0);
}

[[gnu::noinline]] u32 follow_reply_words(xdp_md* context, u64 tables, const Packet* packet) {
  if (!context || !packet) return no_translation;
  return follow_reply(XdpFrame(context), tables_of(tables), *packet);
}

// Neither time nor worker count: clang would not pass on what it sees is not used.
[[gnu::noinline]] bool rewrite_reply_words(xdp_md* context, const Packet* packet) {
  if (!context || !packet) return false;
  return rewrite_reply(XdpFrame(context), XdpTables{}, *packet);
}
}

FAIRLEAD_INLINE u32 find_own_apart(const XdpTables* tables, Packet* packet, u32 backend) {
  return find_own_words(word_of(*tables), packet, backend);
}

FAIRLEAD_INLINE u32 remember_own_apart(xdp_md* context, const XdpTables* tables,
                                       const Packet* packet, u64 known, u32 wide) {
  return remember_own_words(context, word_of(*tables), packet, known, wide);
}

FAIRLEAD_INLINE u32 follow_reply_apart(xdp_md* context, const XdpTables* tables,
                                       const Packet* packet) {
  return follow_reply_words(context, word_of(*tables), packet);
}

FAIRLEAD_INLINE bool rewrite_reply_apart(xdp_md* context, const XdpTables*, const Packet* packet) {
  return rewrite_reply_words(context, packet);
}

}  // namespace fairlead::xdp
