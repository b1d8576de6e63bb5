// SPDX-License-Identifier: MIT
// What a packet costs in the kernel: the program under restore.bpf.cc in the kernel's test run,
// less the same wrapper around a program that does nothing. Times are CPU time of this thread, so
// that others on the machine count little; still, compare rows of one run only.
#include <benchmark/benchmark.h>
#include <bpf/bpf.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine/samples.h"
#include "engine/xdp/program.h"
#include "fairlead_restore.bpf.h"
#include "tables/publisher.h"

namespace fairlead::xdp {
namespace {

namespace samples = engine::samples;

constexpr uint32_t packets = 50'000;  // of one test run

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct World {
  Program program = must(Program::load({.workers = 1,
                                        .rows = 1024,
                                        .tables = 64,
                                        .slots = 1u << 20,
                                        .backends = 1024,
                                        .services = 64,
                                        .narrow_lines = 1u << 20,
                                        .wide_lines = 1u << 20},
                                       Program::Use::packets));
  tables::Publisher publisher{program.memory(), {program.tick_ms(), nullptr}};
  World() { must(publisher.publish(samples::snapshot(), 1'000)); }
};

World& world() {
  static World made;
  return made;
}

struct Case {
  samples::Sample sample;
  uint32_t flows;
  bool new_flows;
  bool v6;
};

class Wrapper {
 public:
  explicit Wrapper(const Case& wanted)
      : frame_(wanted.sample.frame),
        object_(must(engine::BpfObject::open("restore", bpf::fairlead_restore()))) {
    must(object_.set_constant("packet_length", static_cast<uint32_t>(frame_.size())));
    must(object_.set_constant("flow_mask", wanted.flows - 1));
    must(object_.set_constant("source_offset", wanted.sample.source_offset));
    must(object_.set_constant("port_offset", wanted.sample.port_offset));
    must(object_.set_constant("source_base", samples::source_v4));
    must(object_.set_constant("new_flows", wanted.new_flows));
    must(object_.load());
    auto bytes = must(object_.array(".bss.template"));
    std::memcpy(bytes.data(), frame_.data(), std::min(bytes.size(), frame_.size()));
    wrapper_ = must(object_.program(wanted.v6 ? "restore_v6" : "restore_v4"));
    target_ = must(object_.map("target"));
    nothing_ = must(object_.program("nothing"));
    move_head_ = must(object_.program("move_head"));
  }

  int nothing() const { return nothing_; }
  int move_head() const { return move_head_; }

  // Nanoseconds of one packet, wrapper included.
  double run(int program) {
    const uint32_t slot = 0;
    if (bpf_map_update_elem(target_, &slot, &program, BPF_ANY) != 0) std::abort();
    uint8_t out[4096];
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame_.data();
    options.data_size_in = static_cast<uint32_t>(frame_.size());
    options.data_out = out;
    options.data_size_out = sizeof out;
    options.repeat = packets;
    const double before = cpu_ns();
    if (bpf_prog_test_run_opts(wrapper_, &options) != 0) std::abort();
    action = options.retval;
    return (cpu_ns() - before) / packets;
  }

  uint32_t action = 0;

 private:
  static double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  }

  std::vector<uint8_t> frame_;
  engine::BpfObject object_;
  int wrapper_ = -1, target_ = -1, nothing_ = -1, move_head_ = -1;
};

void measure(benchmark::State& state, const Case& wanted, int program, uint32_t action) {
  Wrapper wrapper(wanted);
  if (program < 0) program = wrapper.move_head();
  const uint32_t rounds = wanted.flows / packets + 2;
  for (uint32_t i = 0; i < rounds; i++) wrapper.run(program);  // flows become known
  if (wrapper.action != action) state.SkipWithError("the packet does not take the way meant");
  for (auto _ : state) {
    const double base = wrapper.run(wrapper.nothing());
    state.SetIterationTime(std::max(wrapper.run(program) - base, 0.0) * 1e-9);
  }
}

void add(const std::string& name, Case wanted, bool real = true, uint32_t action = XDP_TX) {
  benchmark::RegisterBenchmark(("xdp/" + name).c_str(),
                               [=](benchmark::State& state) {
                                 measure(state, wanted, real ? world().program.descriptor() : -1,
                                         action);
                               })
      ->UseManualTime()
      ->Iterations(9)
      ->Unit(benchmark::kNanosecond);
}

}  // namespace
}  // namespace fairlead::xdp

int main(int argc, char** argv) {
  using namespace fairlead::xdp;
  using samples::Flags;
  benchmark::Initialize(&argc, argv);
  if (geteuid() != 0) {
    std::fprintf(stderr, "xdp_bench: running a BPF program needs root\n");
    return 1;
  }
  const std::pair<const char*, uint32_t> counts[] = {
      {"1_flow", 1}, {"64Ki_flows", 1u << 16}, {"1Mi_flows", 1u << 20}};
  add("move_head_only", {samples::tcp_v4(Flags::ack), 1, false, false}, false);
  add("not_a_vip", {samples::not_a_vip(), 1, false, false}, true, XDP_PASS);
  for (const auto& [name, flows] : counts) {
    const std::string of = std::string("/") + name;
    add("established_v4" + of, {samples::tcp_v4(Flags::ack), flows, false, false});
    add("established_v6" + of, {samples::tcp_v6(Flags::ack), flows, false, true});
    add("udp_v4" + of, {samples::udp_v4(), flows, false, false});
  }
  add("syn_of_new_flows_v4", {samples::tcp_v4(Flags::syn), 1, true, false});
  benchmark::RunSpecifiedBenchmarks();
}
