// SPDX-License-Identifier: MIT
// What can happen to a frame, and why: the one list from which the enum, the counters, metric
// labels, JSON, trace text and the table in docs/ come. The order is part of the layout shared with
// the BPF program: append, and raise `layout_version` in records.h when it changes.
#pragma once

#include "core/types.h"

// X(verdict, enumerator, name, what it means to an operator); `new` is a word of C++, hence `fresh`
#define FAIRLEAD_REASONS(X)                                                                        \
  X(pass, not_ip, "not_ip", "neither IPv4 nor IPv6 behind at most two VLAN tags")                  \
  X(pass, not_vip, "not_vip", "the destination is no VIP")                                         \
  X(pass, neighbour_discovery, "neighbour_discovery",                                              \
    "ICMPv6 neighbour discovery, for the host's stack")                                            \
  X(forward, fresh, "new", "first packet of a connection that is remembered from now on")          \
  X(forward, known, "known", "follows its connection")                                             \
  X(forward, repinned, "repinned", "its backend is down or gone: the connection moved to another") \
  X(forward, hashed, "hashed", "went where the hash says and is not remembered")                   \
  X(forward, fragment, "fragment", "later fragment, follows the first")                            \
  X(forward, icmp_error, "icmp_error",                                                             \
    "error about returning traffic, to the backend of the quoted flow")                            \
  X(forward, nat_reply, "nat_reply", "reply of a NAT connection, translated back")                 \
  X(reply, echo, "echo", "ping answered")                                                          \
  X(reply, fragmentation_needed, "fragmentation_needed",                                           \
    "IPv4 packet with DF too big for the tunnel: ICMP 3/4 sent")                                   \
  X(reply, packet_too_big, "packet_too_big", "IPv6 packet too big for the tunnel: ICMPv6 2 sent")  \
  X(drop, malformed, "malformed", "header impossible or cut short")                                \
  X(drop, no_service, "no_service", "the VIP has no service for this protocol and port")           \
  X(drop, no_backend, "no_backend", "no backend of the pool is usable")                            \
  X(drop, fragment_tiny, "fragment_tiny", "first fragment without a whole L4 header (RFC 1858)")   \
  X(drop, fragment_no_mapping, "fragment_no_mapping", "later fragment whose first one never came") \
  X(drop, icmp_unsupported, "icmp_unsupported", "ICMP type that a VIP does not take")              \
  X(drop, icmp_no_flow, "icmp_no_flow", "ICMP error that quotes no flow of a service")             \
  X(drop, echo_limited, "echo_limited", "ping over the limit, or not wanted by the VIP")           \
  X(drop, oversize, "oversize", "too big for the tunnel, and no error may be sent")                \
  X(drop, oversize_limited, "oversize_limited",                                                    \
    "too big for the tunnel, and the limit of errors is reached")                                  \
  X(drop, rate_limited, "rate_limited", "over a rate limit")                                       \
  X(drop, overload, "overload", "a queue inside the node is full")

namespace fairlead::core {

enum class Verdict : u8 { pass, forward, reply, drop };

enum class Reason : u8 {
#define X(verdict, enumerator, name, text) enumerator,
  FAIRLEAD_REASONS(X)
#undef X
};

constexpr u32 reason_count = 0
#define X(verdict, enumerator, name, text) +1
    FAIRLEAD_REASONS(X);
#undef X

static_assert(reason_count <= 32, "WorkerCounters::reason");

FAIRLEAD_INLINE constexpr Verdict verdict_of(Reason reason) {
  switch (reason) {
#define X(verdict, enumerator, name, text) \
  case Reason::enumerator: return Verdict::verdict;
    FAIRLEAD_REASONS(X)
#undef X
  }
  return Verdict::drop;
}

constexpr const char* name_of(Reason reason) {
  switch (reason) {
#define X(verdict, enumerator, name, text) \
  case Reason::enumerator: return name;
    FAIRLEAD_REASONS(X)
#undef X
  }
  return "unknown";
}

constexpr const char* meaning_of(Reason reason) {
  switch (reason) {
#define X(verdict, enumerator, name, text) \
  case Reason::enumerator: return text;
    FAIRLEAD_REASONS(X)
#undef X
  }
  return "unknown";
}

constexpr const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::forward: return "forward";
    case Verdict::reply: return "reply";
    case Verdict::drop: return "drop";
  }
  return "unknown";
}

}  // namespace fairlead::core
