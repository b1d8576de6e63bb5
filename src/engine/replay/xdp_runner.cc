// SPDX-License-Identifier: MIT
// The BPF program, run by the kernel on one frame at a time (bpf_prog_test_run_xdp in
// net/bpf/test_run.c). What that takes: 14 to 73,152 bytes, of which the program sees the first
// 3,520 directly and the rest as further buffers, as with jumbo frames.
//   - Shorter than an Ethernet header: no driver shows a program such a frame. By contract it is
//     not_ip.
//   - Longer: what is behind the largest IP packet is padding to the path, and stays as it is.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/path/packet.h"
#include "core/verdict.h"
#include "core/wire.h"
#include "engine/replay/runner.h"
#include "engine/xdp/program.h"

namespace fairlead::replay {
namespace {

constexpr size_t shortest = sizeof(core::wire::Ethernet);
constexpr size_t longest = 65'535 + shortest + core::limits::vlan_tags * sizeof(core::wire::Vlan);

constexpr uint32_t action_of(core::Verdict verdict) {
  switch (verdict) {
    case core::Verdict::pass: return XDP_PASS;
    case core::Verdict::forward:
    case core::Verdict::reply: return XDP_TX;
    case core::Verdict::drop: return XDP_DROP;
  }
  return XDP_ABORTED;
}

class XdpRunner final : public Runner {
 public:
  explicit XdpRunner(xdp::Program program) : program_(std::move(program)) {}

  const tables::Memory& memory() const override { return program_.memory(); }

  Result<Processed> run(std::span<std::byte> frame, core::Tick now, uint32_t worker) override {
    if (frame.size() < shortest) return Processed{{.reason = core::Reason::not_ip}, false, {}};
    const size_t shown = std::min(frame.size(), longest);
    program_.memory().settings->clock = now;
    program_.memory().settings->replay_worker = worker;
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = out_,
                .data_size_in = static_cast<uint32_t>(shown), .data_size_out = sizeof out_,
                .repeat = 1);
    if (bpf_prog_test_run_opts(program_.descriptor(), &options) != 0) {
      return failure(
          fmt::format("BPF program: the kernel does not run it on a frame of {} bytes: {}",
                      frame.size(), std::strerror(errno)));
    }
    const core::Outcome outcome = program_.outcome().outcome;
    if (program_.outcome().slow != 0) return Processed{outcome, true, {}};
    if (options.retval != action_of(core::verdict_of(outcome.reason))) {
      return failure(
          fmt::format("BPF program: ended with XDP action {} and the verdict {}: they "
                      "do not go together",
                      options.retval, core::name_of(outcome.reason)));
    }
    if (options.retval != XDP_TX) return Processed{outcome, false, {}};
    return Processed{outcome, false, put_back(frame, shown, options.data_size_out)};
  }

 private:
  // The frame in place of what came in, which grows to the front.
  std::span<std::byte> put_back(std::span<std::byte> frame, size_t shown, size_t left) {
    std::byte* begin = frame.data() + shown - left;
    std::memcpy(begin, out_, left);
    return {begin, frame.data() + frame.size()};
  }

  xdp::Program program_;
  std::byte out_[longest + headroom];
};

}  // namespace

Result<std::unique_ptr<Runner>> make_xdp_runner(const tables::Capacity& capacity) {
  auto program = xdp::Program::load(capacity, xdp::Program::Use::replay);
  if (!program) return std::unexpected(program.error());
  return std::make_unique<XdpRunner>(std::move(*program));
}

}  // namespace fairlead::replay
