// SPDX-License-Identifier: MIT
#include "engine/xdp/xdp_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/clock.h"
#include "engine/bpf/attach.h"
#include "engine/bpf/grace.h"
#include "engine/counters.h"
#include "engine/xdp/program.h"
#include "engine/xdp/slow_worker.h"
#include "tables/live_connections.h"
#include "tables/publisher.h"

namespace fairlead::xdp {
namespace {

uint64_t now_ms() {
  return static_cast<uint64_t>(now().time_since_epoch() / std::chrono::milliseconds(1));
}

class XdpEngine final : public engine::Engine {
 public:
  XdpEngine(Program program, engine::XdpLink link, const engine::Interface& interface)
      : program_(std::move(program)),
        publisher_(program_.memory(), {program_.tick_ms(), [this] { wait_for_readers(); }}),
        interface_(interface),
        link_(std::move(link)) {}

  // Without it the engine forwards all the same, but for what needs the slow path.
  void start_slow_path(uint32_t icmp_rate_limit) {
    auto started =
        SlowWorker::start(interface_, program_.memory(), program_.sockets(), icmp_rate_limit);
    if (started) {
      slow_ = std::move(*started);
    } else {
      no_slow_path_ = started.error().message;
    }
    live_.emplace(program_.memory(), [this] { return program_.now(); });
  }

  Result<void> publish(std::shared_ptr<const tables::Snapshot> snapshot) override {
    return publisher_.publish(std::move(snapshot), now_ms());
  }

  void set_flags(uint32_t pool, uint32_t member, uint8_t flags) override {
    publisher_.set_flags(pool, member, flags);
  }

  engine::Counters counters() const override {
    const tables::Memory* const memories[] = {&program_.memory(),
                                              slow_ ? &slow_->memory() : nullptr};
    return engine::read_counters(std::span(memories, slow_ ? 2 : 1), publisher_);
  }

  engine::Status status() const override {
    return {.engine = "xdp",
            .interface = interface_.name,
            .mode = link_.mode(),
            .zero_copy = false,
            .workers = interface_.receive_queues,
            .note = note()};
  }

 private:
  // Of the old tables: packets in the program, and the slow path.
  void wait_for_readers() {
    engine::wait_for_kernel();
    if (slow_) slow_->wait_for_batch();
  }

  std::string note() const {
    if (no_slow_path_.empty()) return link_.note();
    return fmt::format("no pings, fragments and packets beyond the MTU: {}", no_slow_path_);
  }

  Program program_;
  tables::Publisher publisher_;
  engine::Interface interface_;
  std::unique_ptr<SlowWorker> slow_;
  std::string no_slow_path_;
  std::optional<tables::LiveCounter> live_;
  engine::XdpLink link_;  // detached first
};

}  // namespace

Result<std::unique_ptr<engine::Engine>> make(const engine::Options& options) {
  auto interface = engine::find_interface(options.interface);
  if (!interface) return std::unexpected(interface.error());
  const auto queues = engine::served_queues(*interface);
  if (!queues) return std::unexpected(queues.error());
  tables::Capacity capacity = options.capacity;
  capacity.workers = std::bit_ceil(*queues);
  auto program = Program::load(capacity, Program::Use::packets);
  if (!program) return std::unexpected(program.error());
  auto link = engine::XdpLink::attach(program->descriptor(), *interface, options.mode);
  if (!link) return std::unexpected(link.error());
  auto made = std::make_unique<XdpEngine>(std::move(*program), std::move(*link), *interface);
  made->start_slow_path(options.icmp_rate_limit);
  return made;
}

}  // namespace fairlead::xdp
