// SPDX-License-Identifier: MIT
// Second stage: is the packet ours, and which service takes it? CONTRACT section 1, steps 2 to 5.
#pragma once

#include "core/path/concepts.h"
#include "core/path/packet.h"
#include "core/path/quote.h"
#include "core/services.h"

namespace fairlead::core {

// Whose the packet is: the row of its service; the row of its VIP, if it is of a kind that adopt.h
// looks after; or null and the reason why it is nobody's.
struct Classified {
  const Row* row;
  bool is_service;
  Reason reason;
};

namespace classify_detail {

// What resolve() found: the index of a row and a bit that says of what, or a Reason.
constexpr u64 service_bit = 1ull << 32;
constexpr u64 vip_bit = 1ull << 33;

// The long way: everything that is not to one of the exact services of a single-address VIP.
template <Tables T>
FAIRLEAD_INLINE u64 resolve(const T& tables, const Packet& packet) {
  const u32 vip = find_vip(tables, packet.family, packet.destination);
  if (vip == no_row) return static_cast<u64>(Reason::not_vip);
  if (packet.shape == Shape::malformed) return static_cast<u64>(Reason::malformed);
  if (packet.shape == Shape::tiny_fragment) return static_cast<u64>(Reason::fragment_tiny);
  if (packet.shape != Shape::flow) return vip_bit | vip;
  const u32 service = find_service(tables, tables.row(vip), packet.protocol,
                                   packet.destination_port, has_ports(packet.protocol));
  if (service == no_row) return static_cast<u64>(Reason::no_service);
  return service_bit | service;
}

template <Tables T>
[[gnu::noinline]] u64 resolve_apart(const T* tables, const Packet* packet) {
  return resolve(*tables, *packet);
}

}  // namespace classify_detail

template <Tables T>
FAIRLEAD_INLINE Classified classify(const T& tables, const Packet& packet) {
  using namespace classify_detail;
  if (packet.shape == Shape::not_ip) return {nullptr, false, Reason::not_ip};
  if (packet.shape == Shape::cut) return {nullptr, false, Reason::not_vip};
  if (packet.shape == Shape::flow && has_ports(packet.protocol)) {
    const RowId id = row_id(RowKind::service, packet.family, host_length(packet.family),
                            packet.protocol, packet.destination_port);
    const u32 row = find_row(tables, packet.destination, id);
    if (row != no_row) return {&tables.row(row), true, Reason::fresh};
  }
  const u64 found = resolve_apart(&tables, &packet);
  if (!(found & (service_bit | vip_bit))) return {nullptr, false, static_cast<Reason>(found)};
  return {&tables.row(static_cast<u32>(found)), (found & service_bit) != 0, Reason::fresh};
}

}  // namespace fairlead::core
