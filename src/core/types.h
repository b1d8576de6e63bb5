// SPDX-License-Identifier: MIT
// The few types of the core, which is freestanding: it is compiled for BPF as well as for the host,
// so it includes no library. Integers in memory that came from a wire are named be16/be32: they
// hold network byte order and are only compared, copied or turned with to_host().
#pragma once

// What the machine guarantees about the address of a protocol header. Hosts read any address, so
// headers are declared with alignment 1 and sanitizers stay content; for BPF the build says 4, else
// clang would read every field byte by byte. And headers may alias: the same bytes are read as one
// and written as another.
#ifndef FAIRLEAD_WIRE_ALIGNMENT
#define FAIRLEAD_WIRE_ALIGNMENT 1
#endif
#define FAIRLEAD_WIRE [[gnu::packed, gnu::may_alias, gnu::aligned(FAIRLEAD_WIRE_ALIGNMENT)]]
// For headers whose size is no multiple of 4, which alignment would round up.
#define FAIRLEAD_WIRE_HALF                                                  \
  [[                                                                        \
    gnu::packed, gnu::may_alias,                                            \
    gnu::aligned(FAIRLEAD_WIRE_ALIGNMENT > 2 ? 2 : FAIRLEAD_WIRE_ALIGNMENT) \
  ]]

#define FAIRLEAD_INLINE [[gnu::always_inline]] inline

namespace fairlead::core {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using be16 = u16;
using be32 = u32;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "x86-64 and arm64 only");

constexpr u16 swap16(u16 v) { return __builtin_bswap16(v); }
constexpr u32 swap32(u32 v) { return __builtin_bswap32(v); }
constexpr be16 to_be16(u16 v) { return swap16(v); }
constexpr be32 to_be32(u32 v) { return swap32(v); }
constexpr u16 to_host(be16 v) { return swap16(v); }
constexpr u32 to_host(be32 v) { return swap32(v); }

// An IPv4 or IPv6 address in network byte order. IPv4 lies in word[0], the others are 0; the family
// is always known beside it.
struct Address {
  be32 word[4];
};

FAIRLEAD_INLINE constexpr bool operator==(const Address& a, const Address& b) {
  return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2] &&
         a.word[3] == b.word[3];
}

enum class Family : u8 { none = 0, v4 = 4, v6 = 6 };

}  // namespace fairlead::core
