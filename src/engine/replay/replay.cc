// SPDX-License-Identifier: MIT
#include "engine/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "core/wire.h"
#include "engine/host/slow_path.h"
#include "engine/io/pcap.h"
#include "engine/replay/outputs.h"
#include "engine/replay/runner.h"
#include "engine/replay/steering.h"
#include "engine/replay/verdict_lines.h"
#include "tables/live_connections.h"

namespace fairlead::replay {
namespace {

// The engine's clock at the first frame: more than a day, the longest TTL, so that whatever was
// never written is old.
constexpr uint64_t start_ms = 100'000'000;
constexpr size_t mac_bytes = sizeof(core::wire::Ethernet::source);

class Replay final : host::SlowPath::Sink {
 public:
  Replay(const Options& options, Script& script, std::unique_ptr<Runner> runner, Outputs& outputs)
      : options_(options),
        script_(script),
        runner_(std::move(runner)),
        publisher_(runner_->memory(), {.tick_ms = tick_ms, .wait = {}}),
        outputs_(outputs),
        limits_(runner_->memory().capacity.services),
        buffer_(headroom + engine::CaptureReader::largest_frame) {
    for (uint32_t i = 0; i < options.workers; i++)
      slow_.emplace_back(options.icmp_rate_limit, limits_);
  }

  Result<void> advance(uint64_t now_ns);
  Result<void> take(const engine::CapturedFrame& captured);
  // Gives up what still waits, and says what happened.
  Result<Summary> finish(const std::string& warning);

 private:
  // A frame whose verdict is not known yet.
  struct Pending {
    VerdictLines::Frame line;
    std::array<std::byte, 2 * mac_bytes> came_to_and_from;
  };

  void send(uint64_t ticket, std::span<const uint8_t> frame) override;
  void settle(uint64_t ticket, const core::Outcome& outcome) override;
  void poll(uint64_t now_us);
  void count_live();
  void keep(const Result<void>& written) {
    if (written_ && !written) written_ = written;
  }
  void leave(Pending& pending, std::span<std::byte> frame, bool forwarded);
  host::Tables tables(uint32_t worker) const { return {runner_->memory(), tick(), worker}; }
  core::Tick tick() const { return static_cast<core::Tick>(clock_ms(now_ns_) / tick_ms); }
  uint64_t clock_ms(uint64_t ns) const { return start_ms + ns / 1'000'000; }
  uint64_t clock_us(uint64_t ns) const { return start_ms * 1'000 + ns / 1'000; }

  const Options& options_;
  Script& script_;
  std::unique_ptr<Runner> runner_;
  tables::Publisher publisher_;
  Outputs& outputs_;
  host::IcmpLimits limits_;
  std::deque<host::SlowPath> slow_;      // by worker
  std::map<uint64_t, Pending> pending_;  // by number of the frame
  VerdictLines lines_;
  std::shared_ptr<const tables::Snapshot> learnt_;
  std::vector<std::byte> buffer_;  // room in front, then the frame in hand
  uint64_t time_ns_ = 0;           // of the frame in hand, since 1970
  uint64_t first_ns_ = 0;          // of the first frame
  uint64_t now_ns_ = 0;            // since the first frame
  core::Tick counted_ = 0;         // when live connections were counted last
  uint64_t cut_ = 0;               // frames of which the capture has only a part
  Result<void> written_;           // the first failure to write, if any
  Summary summary_;
};

// Makes everything happen that is due by now.
Result<void> Replay::advance(uint64_t now_ns) {
  now_ns_ = std::max(now_ns_, now_ns);
  for (auto due = script_.next_ns(); due && *due <= now_ns_; due = script_.next_ns()) {
    if (auto done = script_.perform(publisher_, clock_ms(*due)); !done) return done;
    if (publisher_.snapshot() != learnt_) {
      learnt_ = publisher_.snapshot();
      lines_.learn(publisher_);
    }
  }
  count_live();
  poll(clock_us(now_ns_));
  return written_;
}

// As the engines do, at every tick in which a frame comes.
void Replay::count_live() {
  const tables::Memory& memory = runner_->memory();
  if (memory.settings->counts_live == 0 || tick() == counted_) return;
  counted_ = tick();
  tables::count_live_connections(memory, counted_);
}

void Replay::poll(uint64_t now_us) {
  for (uint32_t worker = 0; worker < slow_.size(); worker++) {
    if (slow_[worker].holding()) slow_[worker].poll(tables(worker), now_us, *this);
  }
}

Result<void> Replay::take(const engine::CapturedFrame& captured) {
  if (summary_.frames++ == 0) first_ns_ = captured.time_ns;
  if (captured.bytes.size() < captured.original_length) cut_++;
  time_ns_ = captured.time_ns;
  summary_.last_ns = static_cast<int64_t>(captured.time_ns - first_ns_);
  const auto since_first = static_cast<uint64_t>(std::max<int64_t>(summary_.last_ns, 0));
  if (auto done = advance(since_first); !done) return done;

  const std::span frame(buffer_.data() + headroom, captured.bytes.size());
  std::ranges::copy(captured.bytes, frame.begin());
  const uint32_t worker = options_.workers == 1 ? 0 : worker_of(frame, options_.workers);
  const uint64_t number = summary_.frames;
  Pending& pending = pending_[number];
  pending.line = {number, summary_.last_ns, {}, worker, {}};
  std::ranges::copy(captured.bytes.first(std::min<size_t>(captured.bytes.size(), 2 * mac_bytes)),
                    pending.came_to_and_from.begin());
  const auto processed = runner_->run(frame, tick(), worker);
  if (!processed) return failure(fmt::format("frame {}: {}", number, processed.error().message));

  if (processed->slow) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(captured.bytes.data());
    slow_[worker].handle({bytes, captured.bytes.size()}, number, tables(worker), clock_us(now_ns_),
                         *this);
  } else {
    const core::Verdict verdict = core::verdict_of(processed->outcome.reason);
    if (verdict == core::Verdict::pass) keep(outputs_.passed(captured.time_ns, captured.bytes));
    if (!processed->frame.empty()) {
      leave(pending, processed->frame, verdict == core::Verdict::forward);
    }
    settle(number, processed->outcome);
  }
  poll(clock_us(now_ns_));
  return written_;
}

// A frame leaves: what only an interface and its neighbours know is filled in. A reply goes back to
// where its cause came from, as the slow path has written already.
void Replay::leave(Pending& pending, std::span<std::byte> frame, bool forwarded) {
  const std::byte* came_to = pending.came_to_and_from.data();
  std::memcpy(frame.data() + mac_bytes, came_to, mac_bytes);
  if (forwarded && !options_.has_gateway) {
    std::memcpy(frame.data(), came_to + mac_bytes, mac_bytes);
  }
  keep(outputs_.left(time_ns_, frame));
  pending.line.left.push_back(++summary_.left);
}

void Replay::send(uint64_t ticket, std::span<const uint8_t> frame) {
  std::vector<std::byte> copy(frame.size());
  std::memcpy(copy.data(), frame.data(), frame.size());
  Pending& pending = pending_.at(ticket);
  const bool back =
      std::memcmp(copy.data(), pending.came_to_and_from.data() + mac_bytes, mac_bytes) == 0;
  leave(pending, copy, !back);
}

void Replay::settle(uint64_t ticket, const core::Outcome& outcome) {
  const auto found = pending_.find(ticket);
  found->second.line.outcome = outcome;
  summary_.reasons[static_cast<size_t>(outcome.reason)]++;
  keep(outputs_.line(lines_, found->second.line));
  pending_.erase(found);
}

Result<Summary> Replay::finish(const std::string& warning) {
  poll(clock_us(now_ns_) + host::HeldFragments::longest_us + 1);
  if (!written_) return std::unexpected(written_.error());
  if (!warning.empty()) summary_.warnings.push_back(warning);
  if (cut_ != 0) {
    summary_.warnings.push_back(
        fmt::format("{}: {} of {} frames were cut when they were captured (snap length) and may "
                    "count as malformed",
                    options_.in, cut_, summary_.frames));
  }
  return std::move(summary_);
}

Result<void> take_all(engine::CaptureReader& reader, Replay& replay) {
  for (;;) {
    const auto captured = reader.next();
    if (!captured) return std::unexpected(captured.error());
    if (!*captured) return {};
    if (auto taken = replay.take(**captured); !taken) return taken;
  }
}

}  // namespace

Result<Summary> replay(const Options& options, Script& script) {
  auto reader = engine::CaptureReader::open(options.in);
  if (!reader) return std::unexpected(reader.error());
  tables::Capacity capacity = options.capacity;
  capacity.workers = std::bit_ceil(options.workers);
  auto runner =
      options.engine == Engine::xdp ? make_xdp_runner(capacity) : make_user_runner(capacity);
  if (!runner) return std::unexpected(runner.error());
  auto outputs = Outputs::create(options, reader->precision());
  if (!outputs) return std::unexpected(outputs.error());
  Replay replay(options, script, std::move(*runner), *outputs);
  if (auto begun = replay.advance(0); !begun) return std::unexpected(begun.error());

  const Result<void> taken = take_all(*reader, replay);
  Result<Summary> summary = replay.finish(reader->warning());
  const Result<void> closed = outputs->close();
  if (!taken) return std::unexpected(taken.error());
  if (!closed) return std::unexpected(closed.error());
  return summary;
}

}  // namespace fairlead::replay
