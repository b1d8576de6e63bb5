// SPDX-License-Identifier: MIT
// Writes a Snapshot into the records of an engine while packets flow. A packet sees the old or the
// new state of each record, never half of one: backends first, then Maglev tables in slots that
// nobody reads, then the rows of the generation that nobody reads, then the generation's number.
//
// Gives out the ids of backends and services and keeps them while the thing exists: by
// identity (tables/holders.h) and by (VIP address, protocol, port). An id that is free again is
// used again only after `quarantine`, when no connection can name it any more. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tables/memory.h"
#include "tables/snapshot.h"

namespace fairlead::tables {

class Publisher {
 public:
  struct Options {
    uint64_t tick_ms = 100;      // length of a tick of the engine's clock; at most 100
    std::function<void()> wait;  // returns when no packet reads what was replaced; null: none can
  };

  Publisher(const Memory& memory, Options options);
  ~Publisher();

  // Error: which capacity is exceeded, by how much; nothing that packets see has changed then.
  // `now_ms` is the engine's clock, for the quarantine.
  Result<void> publish(std::shared_ptr<const Snapshot> snapshot, uint64_t now_ms);

  // The flags (core::backend_flag) of a backend, seen by the next packet; tables stay as they are.
  // `pool` and `member` index the published snapshot.
  void set_flags(uint32_t pool, uint32_t member, uint8_t flags);

  // What an id of the records names, in the published snapshot; -1: no longer there.
  struct BackendName {
    int32_t pool = -1;
    int32_t member = -1;
  };
  BackendName backend(uint32_t id) const;
  int32_t service(uint32_t id) const;  // index into services
  int32_t vip(uint32_t id) const;
  uint32_t backend_id(uint32_t pool, uint32_t member) const;  // 0: none

  const std::shared_ptr<const Snapshot>& snapshot() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fairlead::tables
