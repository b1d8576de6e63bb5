// SPDX-License-Identifier: MIT
// The path as the user engine compiles it, one frame at a time.
#include <utility>

#include "core/path/path.h"
#include "engine/host/frame.h"
#include "engine/host/tables.h"
#include "engine/io/frame_queue.h"
#include "engine/replay/runner.h"

namespace fairlead::replay {
namespace {

class UserRunner final : public Runner {
 public:
  explicit UserRunner(tables::OwnMemory memory) : memory_(std::move(memory)) {}

  const tables::Memory& memory() const override { return memory_.view(); }

  Result<Processed> run(std::span<std::byte> bytes, core::Tick now, uint32_t worker) override {
    engine::HeldFrame held{.data = reinterpret_cast<uint8_t*>(bytes.data()),
                           .length = static_cast<uint32_t>(bytes.size()),
                           .room = headroom};
    host::Frame frame(&held);
    const host::Tables tables(memory_.view(), now, worker);
    const auto [outcome, slow] = core::process(frame, tables);
    if (slow) return Processed{outcome, true, {}};
    const core::Verdict verdict = core::verdict_of(outcome.reason);
    const bool leaves = verdict == core::Verdict::forward || verdict == core::Verdict::reply;
    if (!leaves) return Processed{outcome, false, {}};
    return Processed{outcome, false, {reinterpret_cast<std::byte*>(held.data), held.length}};
  }

 private:
  tables::OwnMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Runner>> make_user_runner(const tables::Capacity& capacity) {
  auto memory = tables::OwnMemory::make(capacity);
  if (!memory) return std::unexpected(memory.error());
  return std::make_unique<UserRunner>(std::move(*memory));
}

}  // namespace fairlead::replay
