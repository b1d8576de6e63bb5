// SPDX-License-Identifier: MIT
#include "engine/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "core/wire.h"
#include "engine/io/pcap.h"
#include "engine/replay/outputs.h"
#include "engine/replay/runner.h"
#include "engine/replay/steering.h"
#include "engine/replay/verdict_lines.h"

namespace fairlead::replay {
namespace {

// The engine's clock at the first frame: more than a day, the longest TTL, so that whatever was
// never written is old.
constexpr uint64_t start_ms = 100'000'000;
constexpr size_t mac_bytes = sizeof(core::wire::Ethernet::source);

class Replay {
 public:
  Replay(const Options& options, Script& script, std::unique_ptr<Runner> runner)
      : options_(options),
        script_(script),
        runner_(std::move(runner)),
        publisher_(runner_->memory(), {.tick_ms = tick_ms, .wait = {}}),
        buffer_(headroom + engine::CaptureReader::largest_frame) {}

  Result<void> advance(uint64_t now_ns);
  Result<void> take(const engine::CapturedFrame& captured, Outputs& outputs);
  Summary finish(const std::string& warning);

 private:
  uint64_t clock_ms(uint64_t ns) const { return start_ms + ns / 1'000'000; }
  void address(std::span<std::byte> left, const engine::CapturedFrame& captured,
               core::Verdict verdict) const;

  const Options& options_;
  Script& script_;
  std::unique_ptr<Runner> runner_;
  tables::Publisher publisher_;
  VerdictLines lines_;
  std::shared_ptr<const tables::Snapshot> learnt_;
  std::vector<std::byte> buffer_;  // room in front, then the frame in hand
  uint64_t first_ns_ = 0;          // time of the first frame, since 1970
  uint64_t now_ns_ = 0;            // since the first frame
  uint64_t cut_ = 0;               // frames of which the capture has only a part
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
  return {};
}

Result<void> Replay::take(const engine::CapturedFrame& captured, Outputs& outputs) {
  if (summary_.frames++ == 0) first_ns_ = captured.time_ns;
  if (captured.bytes.size() < captured.original_length) cut_++;
  summary_.last_ns = static_cast<int64_t>(captured.time_ns - first_ns_);
  const auto since_first = static_cast<uint64_t>(std::max<int64_t>(summary_.last_ns, 0));
  if (auto done = advance(since_first); !done) return done;

  const std::span frame(buffer_.data() + headroom, captured.bytes.size());
  std::ranges::copy(captured.bytes, frame.begin());
  const uint32_t worker = options_.workers == 1 ? 0 : worker_of(frame, options_.workers);
  const auto now = static_cast<core::Tick>(clock_ms(now_ns_) / tick_ms);
  const auto processed = runner_->run(frame, now, worker);
  if (!processed) {
    return failure(fmt::format("frame {}: {}", summary_.frames, processed.error().message));
  }

  const core::Reason reason = processed->outcome.reason;
  const core::Verdict verdict = core::verdict_of(reason);
  summary_.reasons[static_cast<size_t>(reason)]++;
  VerdictLines::Frame line{summary_.frames, summary_.last_ns, processed->outcome, worker, 0};
  Result<void> written;
  if (verdict == core::Verdict::pass) written = outputs.passed(captured.time_ns, captured.bytes);
  if (!processed->frame.empty()) {
    address(processed->frame, captured, verdict);
    written = outputs.left(captured.time_ns, processed->frame);
    line.left = ++summary_.left;
  }
  return written ? outputs.line(lines_, line) : written;
}

// Fills in what only an interface and its neighbours know.
void Replay::address(std::span<std::byte> left, const engine::CapturedFrame& captured,
                     core::Verdict verdict) const {
  const std::byte* came_to = captured.bytes.data();
  const std::byte* came_from = came_to + mac_bytes;
  std::memcpy(left.data() + mac_bytes, came_to, mac_bytes);
  if (verdict == core::Verdict::forward && !options_.has_gateway) {
    std::memcpy(left.data(), came_from, mac_bytes);
  }
}

Summary Replay::finish(const std::string& warning) {
  if (!warning.empty()) summary_.warnings.push_back(warning);
  if (cut_ != 0) {
    summary_.warnings.push_back(
        fmt::format("{}: {} of {} frames were cut when they were captured (snap length) and may "
                    "count as malformed",
                    options_.in, cut_, summary_.frames));
  }
  return std::move(summary_);
}

Result<void> take_all(engine::CaptureReader& reader, Replay& replay, Outputs& outputs) {
  for (;;) {
    const auto captured = reader.next();
    if (!captured) return std::unexpected(captured.error());
    if (!*captured) return {};
    if (auto taken = replay.take(**captured, outputs); !taken) return taken;
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
  Replay replay(options, script, std::move(*runner));
  if (auto begun = replay.advance(0); !begun) return std::unexpected(begun.error());
  auto outputs = Outputs::create(options, reader->precision());
  if (!outputs) return std::unexpected(outputs.error());

  const Result<void> taken = take_all(*reader, replay, *outputs);
  const Result<void> closed = outputs->close();
  if (!taken) return std::unexpected(taken.error());
  if (!closed) return std::unexpected(closed.error());
  return replay.finish(reader->warning());
}

}  // namespace fairlead::replay
