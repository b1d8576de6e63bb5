// SPDX-License-Identifier: MIT
// What the ids in the records stand for, as keys of StableIds: a backend's line is (identity, turn;
// tables/holders.h), a service is (VIP, protocol, port), a VIP is its address. Names in the
// configuration are no part of it: renaming a VIP or a pool moves nobody.
#pragma once

#include <cstdint>

#include "core/types.h"
#include "tables/snapshot.h"

namespace fairlead::tables {

struct BackendKey {
  Identity identity;
  uint32_t turn = 0;
  friend bool operator==(const BackendKey&, const BackendKey&) = default;
};

struct ServiceKey {
  core::Address vip{};
  core::Family family = core::Family::v4;
  uint8_t prefix_length = 32;
  uint8_t protocol = 0;  // protocol and port are 0 for the VIP itself
  uint16_t port = 0;
  friend bool operator==(const ServiceKey&, const ServiceKey&) = default;
};

inline ServiceKey key_of(const Vip& vip) {
  return {vip.address, vip.family, vip.prefix_length, 0, 0};
}

inline ServiceKey key_of(const Vip& vip, const Service& service) {
  return {vip.address, vip.family, vip.prefix_length, service.protocol, service.port};
}

struct KeyHash {
  static size_t of(const core::Address& address, size_t seed) {
    for (const core::be32 word : address.word) seed = (seed ^ word) * 0x9e3779b97f4a7c15;
    return seed ^ seed >> 32;
  }
  size_t operator()(const Identity& key) const {
    return of(key.address, size_t{key.port} << 8 | static_cast<size_t>(key.family));
  }
  size_t operator()(const BackendKey& key) const {
    return (*this)(key.identity) + key.turn * size_t{0x9e3779b9};
  }
  size_t operator()(const ServiceKey& key) const {
    const size_t rest = size_t{key.port} << 24 | size_t{key.protocol} << 16 |
                        size_t{key.prefix_length} << 8 | static_cast<size_t>(key.family);
    return of(key.vip, rest);
  }
};

}  // namespace fairlead::tables
