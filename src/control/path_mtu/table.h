// SPDX-License-Identifier: MIT
// The path MTU of each backend, as far as it is known to be smaller than network_mtu: what routers
// said of this node's tunnel packets, believed for 10 minutes (RFC 1191 section 6.3, RFC 8201
// section 4). A state machine: step(now, message) -> changes; no socket, no clock.
//
// Nobody signs these messages, so one is believed only if it can be true: it quotes a packet from
// this node's own tunnel address to a backend that is configured, in the tunnel of a pool that has
// it, of a length that this node sends and that the MTU does not let through. It can lower what is
// known, to 576 (IPv4) or 1280 (IPv6) bytes and not below (an IPv6 router that says less is
// ignored, RFC 8201 section 4), never raise it. A forger who knows all of this can at worst have
// clients send packets of that size. An IPv4 router that gives no MTU at all is answered by the
// next plateau of RFC 1191 section 7.
//
// Bounded: one entry a backend. Changes come in batches that are `pace` apart, the first at once,
// so that whatever arrives, tables are published no more often than that. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "control/path_mtu/message.h"
#include "tables/snapshot.h"

namespace fairlead::path_mtu {

using Methods = uint8_t;  // one bit for each core::Method
constexpr Methods bit_of(core::Method method) {
  return static_cast<Methods>(1u << static_cast<unsigned>(method));
}
using Targets = std::map<IpAddress, Methods>;  // whom tunnels lead to, and by what methods

// Of pools whose method is a tunnel.
Targets targets_of(const tables::Snapshot& snapshot);

struct Change {
  IpAddress backend;
  uint32_t before = 0, mtu = 0;  // bytes; network_mtu when nothing smaller is known any more
  IpAddress told_by;             // family none: time is up
};
using Changes = std::vector<Change>;

class Table {
 public:
  // How messages were taken, for metrics.
  enum class Result : uint8_t { lowered, known, ignored };
  static constexpr size_t results = 3;
  using Counts = std::array<uint64_t, results>;

  struct Known {
    uint32_t mtu = 0;
    IpAddress told_by;
    Time until{};
  };

  // The node's tunnel addresses and its network_mtu in bytes.
  Table(std::vector<IpAddress> own, uint32_t network_mtu);

  // Backends that are not among them are forgotten.
  void want(Targets targets);

  Changes step(Time now, const std::optional<TooBig>& message = {});
  std::optional<Time> deadline() const;  // of the next step without a message

  // In force: of changes that have been given out. None: network_mtu.
  const Known* find(const IpAddress& backend) const;
  const Counts& counts() const { return counts_; }

 private:
  struct Entry {
    Known heard, in_force;  // mtu 0: not given out yet
  };

  Result hear(Time now, const TooBig& message);
  std::optional<uint32_t> believable(const TooBig& message) const;
  void expire(Time now, Changes& changes);

  std::vector<IpAddress> own_;
  uint32_t network_mtu_;
  Targets targets_;
  std::map<IpAddress, Entry> entries_;
  std::set<IpAddress> waiting_;  // for the next batch
  Time next_batch_{};            // not before
  std::optional<Time> sweep_;    // nothing is too old before
  Counts counts_{};
};

const char* name_of(Table::Result result);

}  // namespace fairlead::path_mtu
