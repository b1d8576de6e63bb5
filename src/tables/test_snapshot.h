// SPDX-License-Identifier: MIT
// Small snapshots for tests, made by hand.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/services.h"
#include "tables/maglev.h"
#include "tables/maglev_fill.h"
#include "tables/snapshot.h"

namespace fairlead::tables {

inline core::Address v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return {{core::to_be32(uint32_t{a} << 24 | uint32_t{b} << 16 | uint32_t{c} << 8 | d), 0, 0, 0}};
}

inline core::Address v6(uint32_t last) {
  return {{core::to_be32(0x20010db8), 0, 0, core::to_be32(last)}};
}

inline Vip make_vip(const core::Address& address, uint8_t prefix_length = 32) {
  Vip vip;
  vip.id = fmt::format("vip-{:08x}/{}", core::to_host(address.word[0]), prefix_length);
  vip.address = address;
  vip.prefix_length = prefix_length;
  return vip;
}

inline Service make_service(uint32_t vip, uint16_t port, uint32_t pool, uint8_t protocol = 6) {
  Service service;
  service.vip = vip;
  service.port = port;
  service.pool = pool;
  service.protocol = protocol;
  return service;
}

// A backend 10.0.0.number; its line names the pool and itself in outer[0] and outer[39].
inline Member make_member(uint8_t pool, uint8_t number) {
  Member member;
  member.identity.address = v4(10, 0, 0, number);
  member.name = fmt::format("10.0.0.{}", number);
  member.line.flags = core::backend_flag::takes_new | core::backend_flag::keeps_known;
  member.line.outer[0] = pool;
  member.line.outer[39] = number;
  return member;
}

inline std::shared_ptr<const std::vector<uint16_t>> make_table(const std::vector<Member>& members,
                                                               uint32_t size) {
  std::vector<MaglevBackend> backends;
  backends.reserve(members.size());
  for (const Member& member : members) {
    backends.push_back({mix(member.identity.address.word[0]), member.weight});
  }
  return std::make_shared<const std::vector<uint16_t>>(build_maglev(backends, size, Fill::lines));
}

inline Pool make_pool(uint8_t pool, std::initializer_list<uint8_t> numbers, uint32_t size = 31) {
  Pool out;
  out.id = fmt::format("pool-{}", pool);
  for (const uint8_t number : numbers) out.members.push_back(make_member(pool, number));
  out.table = make_table(out.members, size);
  return out;
}

inline Snapshot make_snapshot() {
  Snapshot snapshot;
  snapshot.seed = {1, 2};
  snapshot.ttl_ms = {0, 5'000, 60'000, 10'000, 30'000, 30'000};
  return snapshot;
}

inline std::shared_ptr<const Snapshot> share(Snapshot snapshot) {
  return std::make_shared<const Snapshot>(std::move(snapshot));
}

}  // namespace fairlead::tables
