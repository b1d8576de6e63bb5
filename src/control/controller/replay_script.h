// SPDX-License-Identifier: MIT
// What happens during a replay, and when, as the controller would do it: a backend that changes is
// seen by the next packet, through its flags; the tables follow 50 ms after the first change, which
// collects what changes meanwhile; another services.json is in force at once, with all of that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "control/config/model.h"
#include "control/controller/backend_change.h"
#include "control/controller/plan.h"
#include "engine/replay/replay.h"

namespace fairlead::controller {

struct ServicesChange {
  config::Services services;
  uint64_t at_ns = 0;
};

class ReplayScript final : public replay::Script {
 public:
  // `services` is in force at the start, unless a change at 0 replaces it. Of changes at the same
  // time the last counts.
  ReplayScript(config::NodeConfig node, config::Services services,
               std::vector<ServicesChange> services_changes,
               std::vector<BackendChange> backend_changes);

  std::optional<uint64_t> next_ns() const override;
  Result<void> perform(tables::Publisher& publisher, uint64_t now_ms) override;

 private:
  bool replace_services(uint64_t now_ns);
  bool change_backends(uint64_t now_ns);
  Word word_of(const config::Backend& backend) const;
  config::Services services_as_said() const;
  std::shared_ptr<const tables::Snapshot> replan();

  config::NodeConfig node_;
  config::Services services_;
  std::vector<ServicesChange> services_changes_;  // by time; those before next_services_ happened
  std::vector<BackendChange> backend_changes_;    // the same, next_backend_
  size_t next_services_ = 0, next_backend_ = 0;
  bool begun_ = false;
  std::optional<uint64_t> rebuild_ns_;  // when the tables follow
  uint64_t generation_ = 0;
  Tables tables_;
};

}  // namespace fairlead::controller
