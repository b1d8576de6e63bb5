// SPDX-License-Identifier: MIT
// The connection table: what is remembered of a flow, for how long, and whose entry gives way.
//
// A line is 64 bytes (records.h). An entry lives in its home line, given by the low half of the
// flow hash, or in one other line, given by home and the entry's tag, so that either can be found
// from the other without the key's hash (partial-key cuckoo: Fan et al., MemC3, NSDI '13). A
// look-up reads the other line only if the last way of home is taken. That is right because ways
// are never emptied and are filled in order: an entry stands in its other line only if home was
// full. Expired entries are room, found by comparing times; nobody sweeps.
//
// A full pair of lines gets room by moving entries to their other lines, in chains of at most 2
// (narrow) or 3 (wide) moves. Measured: entries that found no room while others come and go, with
// 50, 70, 80, 90, 95 % of the ways live: narrow 0, 0, 0, 0.01, 1.0 %; wide 0, 0.002, 0.5, 5, 8 %
// (two ways to a line cannot hold more than 90 %). With one move: narrow 0, 0.01, 0.3, 3, 6 %; wide
// 0.2, 3, 8, 13, 16 %. Longer chains reach further, but a search that fails costs its packet dear;
// these read at most 42 and 30 lines.
//
// A table belongs to one worker. The slow path of the in-kernel engine now and then writes beside
// it: an entry is two words, stored whole, and a mixture of two entries is no entry (the tag
// tells).
#pragma once

#include "core/path/concepts.h"

namespace fairlead::core {

// The life of a connection (CONTRACT, section 2).

// What a packet means to its connection.
enum class Event : u8 { opening, data, ending, udp, other };

// By FIN, SYN, RST and ACK, the low five bits of the flags with PSH among them. SYN with FIN or RST
// does not come this far.
struct EventTable {
  u8 of[32];
};
constexpr EventTable make_tcp_events() {
  EventTable table{};
  for (u32 flags = 0; flags < 32; flags++) {
    const bool ends = flags & (wire::tcp_fin | wire::tcp_rst);
    const bool opens = (flags & wire::tcp_syn) && !(flags & wire::tcp_ack);
    table.of[flags] = static_cast<u8>(ends ? Event::ending : opens ? Event::opening : Event::data);
  }
  return table;
}
inline constexpr EventTable tcp_events = make_tcp_events();

FAIRLEAD_INLINE constexpr Event event_of(u8 protocol, u8 tcp_flags) {
  if (protocol == wire::protocol_tcp) return static_cast<Event>(tcp_events.of[tcp_flags & 31]);
  return protocol == wire::protocol_udp ? Event::udp : Event::other;
}

// The packet begins a flow, as far as it can tell.
FAIRLEAD_INLINE constexpr bool opens(Event event) {
  return event != Event::data && event != Event::ending;
}

// What a packet does to its connection: the state after it, and whether that is a new connection.
// `none` and new: a flow without an entry ends, it is not remembered.
struct Transition {
  State state;
  bool is_new;
};

constexpr u8 new_bit = 8;

// By event and state of the live entry (none: there is no live entry): a state, or one and new_bit.
// A table, since each branch on a state would double what the BPF verifier has to follow.
struct TransitionTable {
  u8 to[8][8];
};
constexpr TransitionTable make_transitions() {
  constexpr auto fresh = [](State state) { return static_cast<u8>(static_cast<u8>(state) | 8); };
  TransitionTable table{};
  for (u32 event = 0; event < 8; event++) {
    for (u32 state = 0; state < 8; state++) table.to[event][state] = static_cast<u8>(state);
  }
  const auto set = [&](Event event, State state, u8 value) {
    table.to[static_cast<u32>(event)][static_cast<u32>(state)] = value;
  };
  set(Event::opening, State::none, fresh(State::handshake));
  set(Event::opening, State::closing, fresh(State::handshake));
  set(Event::data, State::none, fresh(State::established));
  set(Event::data, State::handshake, static_cast<u8>(State::established));
  const State live[] = {State::handshake, State::established, State::closing};
  for (State state : live) {
    set(Event::ending, state, static_cast<u8>(State::closing));
  }
  set(Event::ending, State::none, fresh(State::none));
  set(Event::udp, State::none, fresh(State::udp));
  set(Event::other, State::none, fresh(State::other));
  return table;
}
inline constexpr TransitionTable transitions = make_transitions();

FAIRLEAD_INLINE constexpr Transition transition(State state, Event event) {
  const u8 to = transitions.to[static_cast<u32>(event) & 7][static_cast<u32>(state) & 7];
  return {static_cast<State>(to & 7), (to & new_bit) != 0};
}

// At most `ttl` ticks ago. Who reads may be a few ticks behind who wrote: that is not long ago.
FAIRLEAD_INLINE bool is_within(Tick seen, Tick now, Tick ttl) {
  constexpr Tick behind = 16;
  return now - seen + behind <= ttl + behind;
}

// An entry lives while this many ticks or fewer have begun since its last packet: at least its TTL
// and less than one tick more.
FAIRLEAD_INLINE bool is_live(Meta meta, Tick now, const Settings& settings) {
  const u32 state = static_cast<u32>(state_of(meta)) & 7;
  return is_within(seen_of(meta), now, settings.ttl[state]) && state_of(meta) != State::none;
}

// Keys and lines.

constexpr u64 narrow_key(be32 source, be16 source_port, u16 service) {
  return static_cast<u64>(source) << 32 | static_cast<u64>(source_port) << 16 | service;
}

constexpr WideKey wide_key(const Address& source, be16 source_port, u64 rest) {
  return {{static_cast<u64>(source.word[1]) << 32 | source.word[0],
           static_cast<u64>(source.word[3]) << 32 | source.word[2]},
          static_cast<u64>(source_port) << 48 | (rest & 0xffff'ffff'ffff)};
}

template <class Bucket>
struct BucketTraits;
template <>
struct BucketTraits<NarrowBucket> {
  using Key = u64;
  static constexpr u32 ways = narrow_ways;
  static constexpr u32 way_bits = 2;
  static constexpr u32 moves = limits::narrow_moves;
};
template <>
struct BucketTraits<WideBucket> {
  using Key = WideKey;
  static constexpr u32 ways = wide_ways;
  static constexpr u32 way_bits = 1;
  static constexpr u32 moves = limits::wide_moves;
};
template <class Bucket>
using KeyOf = typename BucketTraits<Bucket>::Key;
template <class Bucket>
constexpr u32 ways_of = BucketTraits<Bucket>::ways;
template <class Bucket>
constexpr u32 way_bits = BucketTraits<Bucket>::way_bits;
template <class Bucket>
constexpr u32 most_moves = BucketTraits<Bucket>::moves;

FAIRLEAD_INLINE constexpr bool operator==(const WideKey& a, const WideKey& b) {
  return a.source[0] == b.source[0] && a.source[1] == b.source[1] && a.rest == b.rest;
}

constexpr bool is_taken(u64 key) { return key != 0; }
constexpr bool is_taken(const WideKey& key) {
  return (key.rest | key.source[0] | key.source[1]) != 0;
}

// Odd, so that the other line is never the same one.
constexpr u32 tag_of(u64 hash) { return (static_cast<u32>(hash >> 40) & 0xffe) | 1; }
constexpr u32 home_of(u64 hash) { return static_cast<u32>(hash); }
constexpr u32 other_of(u32 line, u32 tag) { return line ^ tag * 0x5bd1e995u; }

// The tag has to fit as well: of an entry that two threads wrote at once, key and meta do not.
template <class Bucket, class T>
FAIRLEAD_INLINE Meta* find_in(const T& tables, u32 line, const KeyOf<Bucket>& key, u32 tag) {
  Bucket& bucket = tables.template line<Bucket>(line);
  for (u32 way = 0; way < ways_of<Bucket>; way++) {
    if (bucket.key[way] == key && tag_of(bucket.meta[way]) == tag) return &bucket.meta[way];
  }
  return nullptr;
}

// The entry of a key, live or not; null if there is none.
template <class Bucket, class T>
FAIRLEAD_INLINE Meta* find_connection(const T& tables, const KeyOf<Bucket>& key, u64 hash) {
  const u32 home = home_of(hash);
  const u32 tag = tag_of(hash);
  if (Meta* meta = find_in<Bucket>(tables, home, key, tag)) return meta;
  if (!is_taken(tables.template line<Bucket>(home).key[ways_of<Bucket> - 1])) return nullptr;
  return find_in<Bucket>(tables, other_of(home, tag), key, tag);
}

// Making room.

namespace connections_detail {

// The first way that is empty or expired; `ways` if none is.
template <class Bucket>
FAIRLEAD_INLINE u32 free_way(const Bucket& bucket, Tick now, const Settings& settings) {
  for (u32 way = 0; way < ways_of<Bucket>; way++) {
    if (!is_taken(bucket.key[way]) || !is_live(bucket.meta[way], now, settings)) return way;
  }
  return ways_of<Bucket>;
}

template <class Bucket>
FAIRLEAD_INLINE void put(Bucket& bucket, u32 way, const KeyOf<Bucket>& key, Meta meta) {
  way %= ways_of<Bucket>;
  bucket.meta[way] = meta;
  bucket.key[way] = key;
}

// A place for an entry; no way: there is none.
struct Place {
  u32 line;
  u32 way;
};

// A chain of moves begins in one of two lines and takes a way of each line that it comes to: the
// entry there goes to its other line, which is the next. A number stands for it: bit 0 says where
// it begins, the others which ways it takes.
template <class Bucket>
FAIRLEAD_INLINE u32 way_of_chain(u32 chain, u32 step) {
  return (chain >> (1 + step * way_bits<Bucket>)) & (ways_of<Bucket> - 1);
}

// Where a chain has come to after so many moves.
template <class Bucket, class T>
FAIRLEAD_INLINE u32 follow_chain(const T& tables, u32 line, u32 chain, u32 moves) {
  for (u32 step = 0; step < moves; step++) {
    const Bucket& bucket = tables.template line<Bucket>(line);
    line = other_of(line, tag_of(bucket.meta[way_of_chain<Bucket>(chain, step)]));
  }
  return line;
}

// Frees a way in one of two full lines by the shortest chain of moves that ends in a line with
// room. The last entry of it moves first. As all shorter chains were tried before, no line comes
// twice in one: a detour would have a shorter chain within it.
template <class Bucket, class T>
FAIRLEAD_INLINE Place make_room(const T& tables, u32 home, u32 other, Tick now) {
  for (u32 moves = 1; moves <= most_moves<Bucket>; moves++) {
    for (u32 chain = 0; chain < 2u << moves * way_bits<Bucket>; chain++) {
      const u32 begin = chain & 1 ? other : home;
      const u32 end = follow_chain<Bucket>(tables, begin, chain, moves);
      u32 way = free_way(tables.template line<Bucket>(end), now, tables.settings());
      if (way == ways_of<Bucket>) continue;
      for (u32 step = moves; step-- > 0;) {
        const Bucket& from =
            tables.template line<Bucket>(follow_chain<Bucket>(tables, begin, chain, step));
        const u32 to = follow_chain<Bucket>(tables, begin, chain, step + 1);
        const u32 taken = way_of_chain<Bucket>(chain, step);
        put(tables.template line<Bucket>(to), way, from.key[taken], from.meta[taken]);
        way = taken;
      }
      tables.counters().displaced += moves;
      return {begin, way};
    }
  }
  return {home, ways_of<Bucket>};
}

// A search that fails costs some 3 us. In a full table, under a flood, nearly all fail: after four
// failures in a row more and more inserts do without, up to 63 of 64.
FAIRLEAD_INLINE bool may_search(WorkerCounters& counters) {
  const u64 failed = counters.searches_failed;
  if (failed <= 4) return true;
  const u64 skips = (1ull << (failed < 10 ? failed - 4 : 6)) - 1;
  return ++counters.inserts_unsearched > skips;
}

FAIRLEAD_INLINE void note_search(WorkerCounters& counters, bool found) {
  counters.searches_failed = found ? 0 : counters.searches_failed + 1;
  counters.inserts_unsearched = 0;
}

// The handshake entry of a line that has been quiet for longest, or `ways`.
template <class Bucket>
FAIRLEAD_INLINE u32 oldest_handshake(const Bucket& bucket, Tick now) {
  u32 found = ways_of<Bucket>;
  Tick age = 0;
  for (u32 way = 0; way < ways_of<Bucket>; way++) {
    const Meta meta = bucket.meta[way];
    if (state_of(meta) != State::handshake ||
        (found != ways_of<Bucket> && now - seen_of(meta) <= age)) {
      continue;
    }
    found = way;
    age = now - seen_of(meta);
  }
  return found;
}

}  // namespace connections_detail

// Remembers a connection that has no entry yet. Room is, in this order: a free way of the home
// line, of the other line, one made by moving entries to their own other lines, the oldest
// handshake of the home line, of the other line. Nothing else gives way: false if there is no room.
template <class Bucket, class T>
FAIRLEAD_INLINE bool remember(const T& tables, const KeyOf<Bucket>& key, u64 hash, Meta meta) {
  using namespace connections_detail;
  const Tick now = tables.now();
  const Settings& settings = tables.settings();
  WorkerCounters& counters = tables.counters();
  const u32 home = home_of(hash);
  const u32 other = other_of(home, tag_of(hash));
  Place place{home, free_way(tables.template line<Bucket>(home), now, settings)};
  if (place.way == ways_of<Bucket>) {
    place = {other, free_way(tables.template line<Bucket>(other), now, settings)};
  }
  if (place.way == ways_of<Bucket> && may_search(counters)) {
    place = make_room<Bucket>(tables, home, other, now);
    note_search(counters, place.way != ways_of<Bucket>);
  }
  if (place.way == ways_of<Bucket>) {
    place = {home, oldest_handshake(tables.template line<Bucket>(home), now)};
    if (place.way == ways_of<Bucket>) {
      place = {other, oldest_handshake(tables.template line<Bucket>(other), now)};
    }
    if (place.way == ways_of<Bucket>) {
      counters.evicted_full++;
      return false;
    }
    counters.evicted_handshake++;
  }
  put(tables.template line<Bucket>(place.line), place.way, key, meta);
  return true;
}

template <class T>
[[gnu::noinline]] bool remember_apart(const T* tables, const u64* key, u64 hash, u64 meta) {
  return remember<NarrowBucket>(*tables, *key, hash, Meta{meta});
}

template <class T>
[[gnu::noinline]] bool remember_apart(const T* tables, const WideKey* key, u64 hash, u64 meta) {
  return remember<WideBucket>(*tables, *key, hash, Meta{meta});
}

}  // namespace fairlead::core
