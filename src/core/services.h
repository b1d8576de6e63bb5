// SPDX-License-Identifier: MIT
// Which VIP and which service a destination belongs to: look-ups in the row table. An exact
// (address, protocol, port) is one look-up; all that is rarer (prefix VIPs, any-port and `any`
// services) is tried after it.
#pragma once

#include "core/records.h"

namespace fairlead::core {

FAIRLEAD_INLINE constexpr u64 row_key(const RowId& id) {
  return __builtin_bit_cast(u64, id) & 0x0000'ffff'ffff'ffff;  // without the flags
}

FAIRLEAD_INLINE constexpr u8 host_length(Family family) { return family == Family::v6 ? 128 : 32; }

FAIRLEAD_INLINE constexpr RowId row_id(RowKind kind, Family family, u8 prefix_length,
                                       u8 protocol = 0, be16 port = 0) {
  return {port, protocol, kind, prefix_length, family, 0};
}

// Where the search for a row starts; to be masked to the table's size.
FAIRLEAD_INLINE constexpr u32 row_home(const Address& address, const RowId& id) {
  u64 h = (static_cast<u64>(address.word[0]) << 32 | address.word[1]) ^ row_key(id);
  h *= 0x9e3779b97f4a7c15;
  h ^= static_cast<u64>(address.word[2]) << 32 | address.word[3];
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9;
  return static_cast<u32>(h >> 32);
}

FAIRLEAD_INLINE constexpr Address masked(const Address& address, u32 length) {
  Address out{};
  for (u32 i = 0; i < 4; i++) {
    const u32 bits = length > i * 32 ? length - i * 32 : 0;
    const u32 mask = bits >= 32 ? 0xffff'ffff : bits == 0 ? 0 : ~(0xffff'ffffu >> bits);
    out.word[i] = address.word[i] & to_be32(mask);
  }
  return out;
}

// Rows are handed on by index, since BPF cannot turn a pointer into one.
constexpr u32 no_row = 0xffff'ffff;

// The row with this address and id, or no_row.
template <class Tables>
FAIRLEAD_INLINE u32 find_row(const Tables& tables, const Address& address, const RowId& id) {
  const u64 key = row_key(id);
  u32 at = row_home(address, id);
  for (u32 probe = 0; probe < limits::service_probes; probe++, at++) {
    const Row& row = tables.row(at);
    if (row.id.kind == RowKind::empty) return no_row;
    if (row_key(row.id) == key && row.address == address) return at & 0x7fff'ffff;
  }
  return no_row;
}

template <class Tables>
[[gnu::noinline]] u32 find_row_apart(const Tables* tables, const Address* address, u64 key) {
  return find_row(*tables, *address, __builtin_bit_cast(RowId, key));
}

// The VIP row that covers an address: the address itself, then the longest prefix; no_row if none
// does, or if the address is the node's own.
template <class Tables>
FAIRLEAD_INLINE u32 find_vip(const Tables& tables, Family family, const Address& address) {
  const u8 whole = host_length(family);
  const u64 exact = row_key(row_id(RowKind::vip, family, whole));
  const u32 row = find_row_apart(&tables, &address, exact);
  if (row != no_row) return row;
  const PrefixLengths& prefixes = tables.prefixes();
  const u8(&lengths)[limits::prefix_lengths] = family == Family::v6 ? prefixes.v6 : prefixes.v4;
  if (lengths[0] == 0) return no_row;
  const u64 own = row_key(row_id(RowKind::own, family, whole));
  if (find_row_apart(&tables, &address, own) != no_row) return no_row;
  for (u32 i = 0; i < limits::prefix_lengths && lengths[i] != 0; i++) {
    const u8 length = static_cast<u8>(lengths[i] - 1);
    const Address wanted = masked(address, length);
    const u64 prefix = row_key(row_id(RowKind::vip, family, length));
    const u32 covers = find_row_apart(&tables, &wanted, prefix);
    if (covers != no_row) return covers;
  }
  return no_row;
}

// The service of a VIP for a protocol and port: the exact port, any port, any protocol; or no_row.
template <class Tables>
FAIRLEAD_INLINE u32 find_service(const Tables& tables, const Row& vip, u8 protocol, be16 port,
                                 bool has_ports) {
  RowId id = row_id(RowKind::service, vip.id.family, vip.id.prefix_length, protocol, port);
  if (has_ports) {
    u32 row = find_row_apart(&tables, &vip.address, row_key(id));
    if (row != no_row) return row;
    id.port = 0;
    row = find_row_apart(&tables, &vip.address, row_key(id));
    if (row != no_row) return row;
  }
  id.port = 0;
  id.protocol = 0;
  return find_row_apart(&tables, &vip.address, row_key(id));
}

}  // namespace fairlead::core
