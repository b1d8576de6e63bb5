// SPDX-License-Identifier: MIT
// The records that the packet path reads and writes, byte for byte the same in the BPF program's
// maps and in the user engine's memory: one writer (tables/publisher), one reader (core/path), both
// engines. Whoever changes a record raises layout_version.
//
// A packet costs one line of each: a Row (which service), a Bucket (which connection), a Slot (the
// Maglev table, new flows only), a Backend (what to write in front of the packet).
//
// Records have no member functions: clang cannot describe those in BTF, which the kernel then
// refuses.
//
// Ids are small integers that stay the same over reloads while the thing they name exists:
//   service  1..65535  (VIP, protocol, port)
//   backend  1..65535  (backend, pool it is in): the index of its Backend line. 0 is none.
#pragma once

#include "core/limits.h"
#include "core/types.h"

namespace fairlead::core {

constexpr u32 layout_version = 1;

// Time on the packet path counts in ticks of at most 0.1 s, so that a connection is written only
// when its tick changes. Who fills Settings says how long a tick is.
using Tick = u32;

enum class State : u8 { none = 0, handshake, established, closing, udp, other };
constexpr u32 state_count = 6;

constexpr const char* name_of(State state) {
  constexpr const char* names[] = {"none", "handshake", "established", "closing", "udp", "other"};
  return static_cast<u32>(state) < state_count ? names[static_cast<u32>(state)] : "unknown";
}

enum class Method : u8 { gre = 0, ipip, gue, l2, nat };

// Which service.
// Rows stand in an open-addressing table, found by (address, prefix length, kind, protocol, port)
// within limits::service_probes rows of row_home(). Two generations lie one behind the other;
// Settings::generation says which one counts.

enum class RowKind : u8 {
  empty = 0,
  vip,      // the address (or prefix) is a VIP; port and protocol are 0
  service,  // a service of it; port 0 = any port, protocol 0 = any protocol
  own,      // an address of the node itself: no prefix VIP covers it
};

namespace row_flag {
constexpr u16 wide = 1;  // connections need the whole 5-tuple as key: prefix VIP, port 0 or any
constexpr u16 client_ip = 2;  // affinity: the source address alone chooses
constexpr u16 ping_drop = 4;  // on vip rows: echo requests are not answered
constexpr u16 branched = 8;   // has routes or a split
constexpr u16 slow = 16;      // some backend of its pools needs the slow path for every packet
constexpr u16 round_robin = 32;
constexpr u16 least_connections = 64;
constexpr u16 scheduled = round_robin | least_connections;
}  // namespace row_flag

// A Maglev table: `size` slots from `offset` on, and the first limits::slot_mirror of them again.
// One 8-byte word, so that a table is exchanged by one store. size 0: nothing to choose from.
struct alignas(8) TableRef {
  u32 offset;
  u32 size;
};

// What is looked up, beside the address. `flags` is no part of it.
struct RowId {
  be16 port;
  u8 protocol;
  RowKind kind;
  u8 prefix_length;  // 32 or 128 for one address; counted in the family's own bits
  Family family;
  u16 flags;  // row_flag
};
static_assert(sizeof(RowId) == 8);

struct alignas(32) Row {
  Address address;  // masked to prefix_length
  RowId id;
  u16 service;  // id of the service; 0 on vip and own rows
  u16 vip;      // id of the VIP
  u32 table;    // of its pool: index of the first TableRef; branched: of its first Branch
};
static_assert(sizeof(Row) == 32);

// A pool has table_kinds TableRefs, the first at a multiple of that.
constexpr u32 table_kinds = 4;
constexpr u32 by_hash = 0;  // the Maglev table
constexpr u32 by_turn = 1;  // round robin: whose turn it is, each as often as it weighs
constexpr u32 by_load = 2;  // least connections: each backend that gets new flows, once

// One of the pools between which a service chooses (path/branch.h). They stand one behind the
// other, in the order in which they are asked, the last of kind `otherwise`; in two generations.
enum class BranchKind : u8 {
  otherwise = 0,  // what no route takes, if there is no split
  route,          // flows from `source`
  share,          // of a split
};

struct alignas(32) Branch {
  Address source;  // masked to prefix_length
  BranchKind kind;
  u8 prefix_length;
  Family family;
  u8 position;  // in the split
  u32 weight;
  u32 pool;  // index of its first TableRef
};
static_assert(sizeof(Branch) == 32);

// Which connection.
// A line holds 4 narrow entries (IPv4, one VIP address, one port: the service id stands for all of
// the destination) or 2 wide ones. An entry lives in its home line or in one other line that the
// tag gives; the other is used only while the last way of home is taken, and ways are never emptied
// (age is by comparison), so a look-up reads the other line only when home is full.
//
// Narrow key: source address << 32 | source port << 16 | service id       (network byte order)
// Wide key: source address; source port << 48 | 48 bits that stand for the rest: the service id, or
// a keyed hash of (protocol, destination, port) where the service id does not determine them.

struct WideKey {
  u64 source[2];
  u64 rest;
};

// One word, so that it is written whole: seen 32 | tag 12 | state 4 | backend 16.
struct Meta {
  u64 word;
};

constexpr Meta meta_of(Tick seen, u32 tag, State state, u32 backend) {
  return {static_cast<u64>(seen) << 32 | static_cast<u64>(tag & 0xfff) << 20 |
          static_cast<u64>(state) << 16 | (backend & 0xffff)};
}
constexpr Tick seen_of(Meta meta) { return static_cast<Tick>(meta.word >> 32); }
constexpr u32 tag_of(Meta meta) { return static_cast<u32>(meta.word >> 20) & 0xfff; }
constexpr State state_of(Meta meta) { return static_cast<State>(meta.word >> 16 & 0xf); }
constexpr u32 backend_of(Meta meta) { return static_cast<u32>(meta.word & 0xffff); }

constexpr u32 narrow_ways = 4;
constexpr u32 wide_ways = 2;

struct alignas(64) NarrowBucket {
  u64 key[narrow_ways];
  Meta meta[narrow_ways];
};
static_assert(sizeof(NarrowBucket) == 64);

struct alignas(64) WideBucket {
  WideKey key[wide_ways];
  Meta meta[wide_ways];
};
static_assert(sizeof(WideBucket) == 64);

// Whose replies.
// A connection of method nat, found by what its backend answers (translations.h).
struct alignas(64) Translation {
  u64 key;    // of the reply; 0: the line was never used
  Meta meta;  // its tag: the worker whose connection it is, and whether that is a wide one
  Address client;
  Address vip;
  struct Facts {
    be16 client_port;
    be16 vip_port;
    be16 node_port;  // with snat, else 0
    u16 service;
    u16 vip_id;
    u8 next_hop[6];  // the MAC that the client's packets come from, and replies go to
  } facts;
};
static_assert(sizeof(Translation) == 64);

// Which backend.

using Slot = u16;  // a backend id; 0 where a pool has nobody

namespace backend_flag {
constexpr u8 takes_new = 1;            // active, up, weight > 0 (or the pool fails open)
constexpr u8 keeps_known = 2;          // its live connections stay: usable, draining or weight 0
constexpr u8 outer_v6 = 4;             // the backend's address is IPv6, and so the outer header
constexpr u8 snat = 8;                 // nat: the source becomes the node's, too
constexpr u8 fixed = outer_v6 | snat;  // no matter of health
}  // namespace backend_flag

// One line holds all that is written in front of a packet. For tunnels: both MAC addresses and the
// outer IP header, ready but for length, TOS, flow label and the IPv4 checksum, whose sum over the
// constant words is `partial_sum` (folded to 16 bits, not inverted, words as read from memory).
// MACs and header are copied in whole words, hence the order.
struct alignas(64) Backend {
  u8 macs[12];      // destination, source
  u16 partial_sum;  // IPv4 only
  u16 inner_mtu;    // bytes of an IP packet that still fits
  u8 outer[40];     // IPv4 uses the first 20 bytes; nat: a NatEnds
  u16 mss;          // largest MSS of IPv4 inside; IPv6 has 20 less
  Method method;
  u8 flags;    // backend_flag; one byte, so that a flip is one store
  u32 weight;  // for least connections
};
static_assert(sizeof(Backend) == 64);

// What stands in Backend::outer for method nat.
struct [[gnu::may_alias]] NatEnds {
  Address backend;
  Address node;  // with snat
  be16 port;
};
static_assert(sizeof(NatEnds) <= sizeof(Backend::outer));

// Counters.
// Every worker has its own; nobody else writes them. Sums are made by readers.

struct alignas(64) BackendCounters {
  u64 packets;
  u64 bytes;        // IP bytes of the packets as they came
  u64 connections;  // remembered: reasons `new` and `repinned`
  u64 spare[5];
};
static_assert(sizeof(BackendCounters) == 64);

struct alignas(64) ServiceCounters {
  u64 packets;
  u64 bytes;
  u64 new_connections;
  u64 spare[5];
};
static_assert(sizeof(ServiceCounters) == 64);

struct alignas(64) WorkerCounters {
  u64 reason[32];  // by Reason; a power of two, since BPF wants an index masked
  u64 bytes_in;
  u64 bytes_out;
  u64 evicted_handshake;  // a handshake entry gave way to another
  u64 evicted_full;       // no room: the flow is not remembered
  u64 displaced;          // entries moved to their other line to make room
  u64 evicted_fragment;   // a live fragment mapping gave way to another
  u64 mss_clamped;
  u64 searches_failed;     // for room, in a row: what paces them (connections.h), no count to show
  u64 inserts_unsearched;  // since the last search
  u64 translations_full;   // no line or no port for a connection of method nat
};
static_assert(sizeof(WorkerCounters) == 384);

// Settings.

// Prefix lengths that VIPs of a family have, longest first, each + 1; 0 ends the list. Single
// addresses are not among them.
struct PrefixLengths {
  u8 v4[limits::prefix_lengths];
  u8 v6[limits::prefix_lengths];
};

struct alignas(64) Settings {
  u32 version;     // layout_version
  u32 generation;  // 0 or 1: which half of the rows counts; changed last when publishing
  u64 seed[2];     // of the flow hash, from hash_seed
  Tick clock;      // now, where the engine does not have a clock of its own (replay)
  Tick ttl[8];     // by State
  u32 replay_worker;
  Tick fragment_ttl;
  u32 smallest_inner_mtu;     // of all backends: a packet of that size or less fits everywhere
  PrefixLengths prefixes[2];  // by generation
  u32 workers;                // how many share the ports of snat
  u8 translates;              // some pool is of method nat
  u8 counts_live;             // some service goes by least connections
  u8 has_gateway;
  u8 gateway[6];  // of gateway_mac: where replies go, whoever the client's packets came from
};

}  // namespace fairlead::core
