// SPDX-License-Identifier: MIT
// Where the later fragments of a datagram go: to the backend of its first one, which had the ports.
// CONTRACT section 5.
//
// One table for all workers, since a NIC spreads fragments by their addresses and whole packets by
// their ports. It has the lines of the connection table (connections.h) with a keyed 64-bit hash of
// (source, destination, protocol, identification) as the key: two datagrams alive at once collide
// with a chance of about 2^-50 in a full table, and nobody who lacks hash_seed can bring it about.
// Workers race for a way without a lock: an entry is two words, and the tag in one has to fit the
// other, so that a mixture of two entries is no entry.
#pragma once

#include "core/connections.h"
#include "core/hash.h"
#include "core/path/packet.h"

namespace fairlead::core {

FAIRLEAD_INLINE u64 fragment_hash(const Settings& settings, const Packet& packet) {
  using namespace hash_detail;
  u64 h = settings.seed[1];
  for (u32 i = 0; i < 4; i++) {
    h = mix(h, static_cast<u64>(packet.source.word[i]) << 32 | packet.destination.word[i], k1);
    if (packet.family == Family::v4) break;
  }
  // In IPv6 the header that follows the fragment header may be an extension, and only the first
  // fragment tells what comes after it: RFC 8200 section 4.5 does without the protocol.
  const u8 protocol = packet.family == Family::v4 ? packet.protocol : u8{0};
  h = mix(h, static_cast<u64>(packet.fragment_id) << 16 | protocol, k2);
  h = mix(h, static_cast<u64>(packet.family) ^ settings.seed[0], k3);
  return h | 1;  // 0 is an empty way
}

// The backend of a datagram whose first fragment was seen less than fragment_ttl ago; 0 if none
// was.
template <class T>
FAIRLEAD_INLINE u32 find_fragment(const T& tables, u64 hash) {
  const u32 home = home_of(hash >> 8);
  const u32 tag = tag_of(hash);
  for (u32 i = 0; i < 2; i++) {
    const NarrowBucket& line = tables.fragment_line(i == 0 ? home : other_of(home, tag));
    for (u32 way = 0; way < narrow_ways; way++) {
      const Meta meta = line.meta[way];
      if (line.key[way] != hash || tag_of(meta) != tag) continue;
      const bool live = is_within(seen_of(meta), tables.now(), tables.settings().fragment_ttl);
      return live ? backend_of(meta) : 0;
    }
  }
  return 0;
}

// Never fails: without a free way the oldest entry of the home line is forgotten.
template <class T>
FAIRLEAD_INLINE void remember_fragment(const T& tables, u64 hash, u32 backend) {
  const u32 home = home_of(hash >> 8);
  const u32 tag = tag_of(hash);
  const Tick now = tables.now();
  const Meta meta = meta_of(now, tag, State::other, backend);
  u32 at = home;
  u32 way = narrow_ways;
  for (u32 i = 0; i < 2 && way == narrow_ways; i++) {
    at = i == 0 ? home : other_of(home, tag);
    const NarrowBucket& line = tables.fragment_line(at);
    for (u32 w = 0; w < narrow_ways; w++) {
      const bool old = !is_within(seen_of(line.meta[w]), now, tables.settings().fragment_ttl);
      if (line.key[w] == hash || line.key[w] == 0 || old) {
        way = w;
        break;
      }
    }
  }
  if (way == narrow_ways) {
    at = home;
    const NarrowBucket& line = tables.fragment_line(home);
    way = 0;
    for (u32 w = 1; w < narrow_ways; w++) {
      if (now - seen_of(line.meta[w]) > now - seen_of(line.meta[way & 3])) way = w;
    }
    tables.counters().evicted_fragment++;
  }
  NarrowBucket& line = tables.fragment_line(at);
  line.meta[way & 3] = meta;
  line.key[way & 3] = hash;
}

}  // namespace fairlead::core
