// SPDX-License-Identifier: MIT
// The hash of a flow, keyed with the fleet's hash_seed and the same on every node and engine: its
// upper half chooses the Maglev slot, its lower half the connection line, its low 20 bits are the
// outer flow label. Multiply and fold with 64-bit arithmetic only, since BPF has no wider product;
// each input bit reaches every output bit (hash_test.cc). SipHash would cost 15 ns more per packet;
// the key stays secret all the same, so that flows cannot be aimed at one backend from outside.
#pragma once

#include "core/records.h"

namespace fairlead::core {

namespace hash_detail {
constexpr u64 k1 = 0x9e3779b97f4a7c15;
constexpr u64 k2 = 0xd6e8feb86659fd93;
constexpr u64 k3 = 0xff51afd7ed558ccd;

FAIRLEAD_INLINE constexpr u64 mix(u64 h, u64 word, u64 k) {
  h = (h ^ word) * k;
  return h ^ h >> 32;
}
}  // namespace hash_detail

// Of the 5-tuple, in two parts: first the addresses, then the rest. Ports in network byte order as
// they stand in the packet; 0 for protocols without.
FAIRLEAD_INLINE constexpr u64 hash_addresses(const Settings& settings, Family family,
                                             const Address& source, const Address& destination) {
  using namespace hash_detail;
  u64 h = settings.seed[0];
  h = mix(h, static_cast<u64>(source.word[0]) << 32 | destination.word[0], k1);
  if (family == Family::v6) {
    for (u32 i = 1; i < 4; i++) {
      h = mix(h, static_cast<u64>(source.word[i]) << 32 | destination.word[i], k1);
    }
  }
  return h;
}

FAIRLEAD_INLINE constexpr u64 hash_ports(const Settings& settings, u64 addresses, Family family,
                                         be16 source_port, be16 destination_port, u8 protocol) {
  using namespace hash_detail;
  // Ports lie in the low bits, from where one multiplication reaches all others: with ports on top,
  // one client's flows were up to 12 times as uneven over the slots as chance, for some seeds.
  const u64 h = mix(addresses,
                    static_cast<u64>(family) << 40 | static_cast<u64>(protocol) << 32 |
                        static_cast<u64>(destination_port) << 16 | source_port,
                    k2);
  return mix(h, settings.seed[1], k3);
}

FAIRLEAD_INLINE constexpr u64 flow_hash(const Settings& settings, Family family,
                                        const Address& source, const Address& destination,
                                        be16 source_port, be16 destination_port, u8 protocol) {
  const u64 addresses = hash_addresses(settings, family, source, destination);
  return hash_ports(settings, addresses, family, source_port, destination_port, protocol);
}

// Of the source address alone, for affinity = "client_ip".
FAIRLEAD_INLINE constexpr u64 client_hash(const Settings& settings, const Address& source) {
  using namespace hash_detail;
  u64 h = settings.seed[0];
  h = mix(h, static_cast<u64>(source.word[0]) << 32 | source.word[1], k1);
  h = mix(h, static_cast<u64>(source.word[2]) << 32 | source.word[3], k2);
  return mix(h, settings.seed[1], k3);
}

// The slot of a hash in a table of `size` slots: without a division.
FAIRLEAD_INLINE constexpr u32 slot_of(u64 hash, u32 size) {
  return static_cast<u32>((hash >> 32) * size >> 32);
}

}  // namespace fairlead::core
