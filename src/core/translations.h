// SPDX-License-Identifier: MIT
// Connections of method nat, found by their replies: who the client is that a backend answers, and
// to which VIP and port it had spoken. CONTRACT section 4; RFC 3022, RFC 4787.
//
// One table for all workers, since a NIC spreads replies by other addresses than requests. An entry
// is one line, found within limits::translation_probes lines of its key: a keyed 64-bit hash of the
// reply's 5-tuple, which nobody who lacks hash_seed can bring to collide. A worker claims a line by
// exchanging its `meta`, one word that says whether it lives, and no one else takes it then; while
// the rest is written, the key is one that no packet has. Lines are never emptied, so a free one
// (key 0) ends a search.
//
// With snat the node's port is what tells flows apart: each worker has ports of its own (every n-th
// of n workers), so that two never choose one at once.
#pragma once

#include "core/connections.h"
#include "core/hash.h"
#include "core/path/packet.h"

namespace fairlead::core {

constexpr u32 no_translation = 0xffff'ffff;

namespace translations_detail {

constexpr u64 being_written = 2;  // keys are odd
constexpr u32 wide_bit = 0x800;   // in the tag of an entry's meta; below it the worker

template <class T>
FAIRLEAD_INLINE T relaxed(const T& word) {
  return *static_cast<const volatile T*>(&word);
}

}  // namespace translations_detail

// The key of packets from a backend to `peer`: the client, or the node's address and port with
// snat.
// Ports are 0 for protocols without.
FAIRLEAD_INLINE u64 reply_key(const Settings& settings, Family family, u8 protocol,
                              const Address& backend, be16 backend_port, const Address& peer,
                              be16 peer_port) {
  return flow_hash(settings, family, backend, peer, backend_port, peer_port, protocol) | 1;
}

// With snat the client's packets find the node's port by a line of their own.
template <class PacketOrFlow>
FAIRLEAD_INLINE u64 request_key(const Settings& settings, const PacketOrFlow& packet) {
  const u64 hash = flow_hash(settings, packet.family, packet.source, packet.destination,
                             packet.source_port, packet.destination_port, packet.protocol);
  return hash_detail::mix(hash, settings.seed[1], hash_detail::k1) | 1;
}

// The key of later fragments of a reply, by what they have in common with the first.
FAIRLEAD_INLINE u64 reply_fragment_key(const Settings& settings, const Packet& packet) {
  const u8 protocol = packet.family == Family::v4 ? packet.protocol : u8{0};  // fragments.h
  const u64 addresses =
      flow_hash(settings, packet.family, packet.source, packet.destination, 0, 0, protocol);
  return hash_detail::mix(addresses ^ settings.seed[1], packet.fragment_id, hash_detail::k2) | 1;
}

// The line of a key whose connection lives; no_translation if there is none.
template <class T>
FAIRLEAD_INLINE u32 find_translation(const T& tables, u64 key) {
  u32 at = static_cast<u32>(key >> 32);
  for (u32 probe = 0; probe < limits::translation_probes; probe++, at++) {
    const Translation& entry = tables.translation(at);
    if (entry.key == 0) break;
    if (entry.key != key || !is_live(entry.meta, tables.now(), tables.settings())) continue;
    return at & 0x7fff'ffff;
  }
  return no_translation;
}

// A new line for a key, which says the same as `entry`; no_translation: there is no room.
template <class T>
FAIRLEAD_INLINE u32 add_translation(const T& tables, u64 key, const Translation& entry) {
  using namespace translations_detail;
  u32 at = static_cast<u32>(key >> 32);
  for (u32 probe = 0; probe < limits::translation_probes; probe++, at++) {
    Translation& line = tables.translation(at);
    const u64 before = relaxed(line.meta.word);
    if (is_live({before}, tables.now(), tables.settings())) continue;
    if (!__sync_bool_compare_and_swap(&line.meta.word, before, entry.meta.word)) continue;
    *static_cast<volatile u64*>(&line.key) = being_written;
    line.client = entry.client;
    line.vip = entry.vip;
    line.facts = entry.facts;
    // The exchange orders it behind all that was written before, for every target.
    __sync_bool_compare_and_swap(&line.key, being_written, key);
    return at & 0x7fff'ffff;
  }
  tables.counters().translations_full++;
  return no_translation;
}

template <class T>
[[gnu::noinline]] u32 find_translation_apart(const T* tables, u64 key) {
  return find_translation(*tables, key);
}
template <class T>
[[gnu::noinline]] u32 add_translation_apart(const T* tables, u64 key, const Translation* entry) {
  return add_translation(*tables, key, *entry);
}

}  // namespace fairlead::core
