// SPDX-License-Identifier: MIT
// All that the packet path has to know, as one immutable value: what the controller computes
// (a pure function of configuration, health and neighbours), what publish() writes into the records
// of an engine, and what names the ids in counters, verdicts and traces. Shared by pointer, never
// changed after it was made; any thread may read it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"

namespace fairlead::tables {

struct Vip {
  std::string id;
  core::Address address{};  // masked
  uint8_t prefix_length = 32;
  core::Family family = core::Family::v4;
  bool answers_ping = true;
};

enum class Scheduler : uint8_t { maglev, round_robin, least_connections };

// Flows from this prefix go to another pool.
struct Route {
  core::Address source{};  // masked
  uint8_t prefix_length = 0;
  core::Family family = core::Family::v4;
  uint32_t pool = 0;  // index into Snapshot::pools
};

struct Share {
  uint32_t weight = 1;
  uint32_t pool = 0;  // index into Snapshot::pools
};

struct Service {
  uint32_t vip = 0;        // index into Snapshot::vips
  uint8_t protocol = 6;    // IPPROTO_TCP, IPPROTO_UDP, 0 = any
  uint16_t port = 0;       // host byte order; 0 = any
  uint32_t pool = 0;       // index into Snapshot::pools
  bool client_ip = false;  // affinity
  Scheduler scheduler = Scheduler::maglev;
  std::vector<Route> routes;  // in the order in which they are asked
  std::vector<Share> split;
  std::string name() const;             // "tcp/443", "any/0"
  std::vector<uint32_t> pools() const;  // all that its flows may go to
};

// Where a backend is, for the wire: what the identity of CONTRACT section 3 is made of.
struct Identity {
  core::Address address{};
  core::Family family = core::Family::v4;
  uint16_t port = 0;  // host byte order; 0 but in nat

  friend bool operator==(const Identity&, const Identity&) = default;
  // By family, then the bytes of the address, then port: the order of the members of a pool.
  friend std::strong_ordering operator<=>(const Identity& a, const Identity& b) {
    if (const auto order = a.family <=> b.family; order != 0) return order;
    for (size_t i = 0; i < std::size(a.address.word); i++) {
      const auto order = core::to_host(a.address.word[i]) <=> core::to_host(b.address.word[i]);
      if (order != 0) return order;
    }
    return a.port <=> b.port;
  }
};

struct Member {
  Identity identity;
  std::string name;  // "10.0.0.1:443", "[2001:db8::1]:443"
  uint32_t weight = 1;
  core::Backend line{};  // ready for the packet path, flags included
  std::string unusable;  // why it gets no new flows, for people: "down"; empty: it gets them
};

struct Pool {
  std::string id;
  core::Method method = core::Method::gre;
  std::vector<Member> members;  // each identity once; includes resolved; disabled ones left out
  // Members, as indices, by core::by_hash, by_turn and by_load; empty where nobody is usable, null
  // where no service asks. Shared between snapshots while nothing that decides them changes.
  using Owners = std::shared_ptr<const std::vector<uint16_t>>;
  Owners table;       // of each slot
  Owners turns;       // one behind the other
  Owners candidates;  // each once
};

struct Snapshot {
  uint64_t generation = 0;
  std::array<uint64_t, 2> seed{};  // of the flow hash
  std::array<uint32_t, core::state_count> ttl_ms{};
  uint32_t fragment_ttl_ms = 10'000;
  std::optional<std::array<uint8_t, 6>> gateway;  // MAC that all replies of method nat go to
  std::vector<core::Address> own_v4, own_v6;      // the node's own addresses
  std::vector<Vip> vips;
  std::vector<Service> services;
  std::vector<Pool> pools;
};

}  // namespace fairlead::tables
