// SPDX-License-Identifier: MIT
// Which VIP and which service a destination belongs to: look-ups in the row table. An exact
// (address, protocol, port) is one look-up; all that is rarer (prefix VIPs, any-port and `any`
// services) is tried after it.
#pragma once

#include "core/records.h"

namespace fairlead::core {

constexpr u64 row_key(const RowId& id) {
  return __builtin_bit_cast(u64, id) & 0x0000'ffff'ffff'ffff;  // without the flags
}

constexpr u8 host_length(Family family) { return family == Family::v6 ? 128 : 32; }

constexpr RowId row_id(RowKind kind, Family family, u8 prefix_length, u8 protocol = 0,
                       be16 port = 0) {
  return {port, protocol, kind, prefix_length, family, 0};
}

// Where the search for a row starts; to be masked to the table's size.
constexpr u32 row_home(const Address& address, const RowId& id) {
  u64 h = (static_cast<u64>(address.word[0]) << 32 | address.word[1]) ^ row_key(id);
  h *= 0x9e3779b97f4a7c15;
  h ^= static_cast<u64>(address.word[2]) << 32 | address.word[3];
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9;
  return static_cast<u32>(h >> 32);
}

constexpr Address masked(const Address& address, u32 length) {
  Address out{};
  for (u32 i = 0; i < 4; i++) {
    const u32 bits = length > i * 32 ? length - i * 32 : 0;
    const u32 mask = bits >= 32 ? 0xffff'ffff : bits == 0 ? 0 : ~(0xffff'ffffu >> bits);
    out.word[i] = address.word[i] & to_be32(mask);
  }
  return out;
}

// The row with this address and id, or null.
template <class Tables>
FAIRLEAD_INLINE const Row* find_row(const Tables& tables, const Address& address,
                                    const RowId& id) {
  const u64 key = row_key(id);
  u32 at = row_home(address, id);
  for (u32 probe = 0; probe < limits::service_probes; probe++, at++) {
    const Row& row = tables.row(at);
    if (row.id.kind == RowKind::empty) return nullptr;
    if (row_key(row.id) == key && row.address == address) return &row;
  }
  return nullptr;
}

// The VIP row that covers an address: itself first, then the longest prefix; null if none does, or
// if the address is the node's own.
template <class Tables>
inline const Row* find_vip(const Tables& tables, Family family, const Address& address) {
  const u8 whole = host_length(family);
  if (const Row* row = find_row(tables, address, row_id(RowKind::vip, family, whole))) return row;
  const PrefixLengths& prefixes = tables.prefixes();
  const u8(&lengths)[limits::prefix_lengths] =
      family == Family::v6 ? prefixes.v6 : prefixes.v4;
  if (lengths[0] == 0) return nullptr;
  if (find_row(tables, address, row_id(RowKind::own, family, whole))) return nullptr;
  for (u32 i = 0; i < limits::prefix_lengths; i++) {
    if (lengths[i] == 0) return nullptr;
    const u8 length = static_cast<u8>(lengths[i] - 1);
    const Row* row = find_row(tables, masked(address, length), row_id(RowKind::vip, family, length));
    if (row) return row;
  }
  return nullptr;
}

// The service of a VIP for a protocol and port: the exact port, any port, any protocol; or null.
template <class Tables>
inline const Row* find_service(const Tables& tables, const Row& vip, u8 protocol, be16 port,
                               bool has_ports) {
  RowId id = row_id(RowKind::service, vip.id.family, vip.id.prefix_length, protocol, port);
  if (has_ports) {
    if (const Row* row = find_row(tables, vip.address, id)) return row;
    id.port = 0;
    if (const Row* row = find_row(tables, vip.address, id)) return row;
  }
  id.port = 0;
  id.protocol = 0;
  return find_row(tables, vip.address, id);
}

}  // namespace fairlead::core
