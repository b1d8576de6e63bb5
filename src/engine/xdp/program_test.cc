// SPDX-License-Identifier: MIT
// The program in the kernel, through its test run: that it loads, and that frames take the way they
// should. That it agrees with the user engine on every frame is tests/differential's matter.
#include "engine/xdp/program.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "engine/samples.h"
#include "tables/publisher.h"

namespace fairlead::xdp {
namespace {

namespace samples = engine::samples;

using core::Reason;
using core::State;

tables::Capacity small() {
  return {.workers = 2,
          .rows = 64,
          .tables = 16,
          .slots = 1u << 18,
          .backends = 64,
          .services = 16,
          .narrow_lines = 64,
          .wide_lines = 64};
}

class XdpProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "loading a BPF program needs root";
    auto loaded = Program::load(small(), Program::Use::replay);
    ASSERT_TRUE(loaded) << loaded.error().message;
    program_.emplace(std::move(*loaded));
    publisher_.emplace(program_->memory(), tables::Publisher::Options{100, nullptr});
    auto published = publisher_->publish(samples::snapshot(251), 1'000);
    ASSERT_TRUE(published) << published.error().message;
    program_->memory().settings->clock = 10;
  }

  core::Outcome run(const std::vector<uint8_t>& frame) {
    out_.assign(4096, 0);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<uint32_t>(frame.size());
    options.data_out = out_.data();
    options.data_size_out = static_cast<uint32_t>(out_.size());
    options.repeat = 1;
    EXPECT_EQ(bpf_prog_test_run_opts(program_->descriptor(), &options), 0);
    out_.resize(options.data_size_out);
    action_ = options.retval;
    return program_->outcome().outcome;
  }

  std::optional<Program> program_;
  std::optional<tables::Publisher> publisher_;
  std::vector<uint8_t> out_;
  uint32_t action_ = 0;
};

TEST_F(XdpProgram, ASynOpensAConnectionAndLeavesInGre) {
  const auto sample = samples::tcp_v4(samples::Flags::syn);
  const core::Outcome outcome = run(sample.frame);
  EXPECT_EQ(outcome.reason, Reason::fresh);
  EXPECT_EQ(outcome.state, State::handshake);
  EXPECT_EQ(action_, static_cast<uint32_t>(XDP_TX));
  ASSERT_EQ(out_.size(), sample.frame.size() + 24);
  EXPECT_TRUE(std::equal(sample.frame.begin() + 14, sample.frame.end(), out_.begin() + 38));
}

TEST_F(XdpProgram, TheNextPacketFollowsTheConnection) {
  const core::Outcome opened = run(samples::tcp_v4(samples::Flags::syn).frame);
  const core::Outcome followed = run(samples::tcp_v4(samples::Flags::ack).frame);
  EXPECT_EQ(followed.reason, Reason::known);
  EXPECT_EQ(followed.state, State::established);
  EXPECT_EQ(followed.backend, opened.backend);
}

TEST_F(XdpProgram, Ipv6IsRememberedToo) {
  EXPECT_EQ(run(samples::tcp_v6(samples::Flags::syn).frame).reason, Reason::fresh);
  EXPECT_EQ(run(samples::tcp_v6(samples::Flags::ack).frame).reason, Reason::known);
}

TEST_F(XdpProgram, WorkersHaveConnectionsOfTheirOwn) {
  EXPECT_EQ(run(samples::udp_v4().frame).reason, Reason::fresh);
  program_->memory().settings->replay_worker = 1;
  EXPECT_EQ(run(samples::udp_v4().frame).reason, Reason::fresh);
  EXPECT_EQ(run(samples::udp_v4().frame).reason, Reason::known);
}

TEST_F(XdpProgram, WhatIsNoVipsPassesUntouched) {
  const auto sample = samples::not_a_vip();
  EXPECT_EQ(run(sample.frame).reason, Reason::not_vip);
  EXPECT_EQ(action_, static_cast<uint32_t>(XDP_PASS));
  EXPECT_EQ(out_, sample.frame);
}

TEST_F(XdpProgram, AConnectionIsForgottenAfterItsTime) {
  const auto syn = samples::tcp_v4(samples::Flags::syn);
  run(syn.frame);
  program_->memory().settings->clock += 50;
  EXPECT_EQ(run(syn.frame).reason, Reason::known);
  program_->memory().settings->clock += 51;
  EXPECT_EQ(run(syn.frame).reason, Reason::fresh);
}

TEST_F(XdpProgram, CountersAreThoseOfTheWorker) {
  run(samples::tcp_v4(samples::Flags::syn).frame);
  run(samples::tcp_v4(samples::Flags::ack).frame);
  const tables::Memory& memory = program_->memory();
  EXPECT_EQ(memory.workers[0].reason[static_cast<uint32_t>(Reason::fresh)], 1u);
  EXPECT_EQ(memory.workers[0].reason[static_cast<uint32_t>(Reason::known)], 1u);
  EXPECT_EQ(memory.workers[1].reason[static_cast<uint32_t>(Reason::fresh)], 0u);
}

}  // namespace
}  // namespace fairlead::xdp
