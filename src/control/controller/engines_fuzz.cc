// SPDX-License-Identifier: MIT
// Both engines on the same frames: the path compiled into this process, and the BPF program run by
// the kernel. Verdicts, bytes, what the slow path makes of the rest, and at the end every byte of
// their connections, fragments, translations and counters must be the same. Needs root.
//
// An input is a list of steps: one byte of time and worker, one of a backend's state, two of a
// length (little endian), a frame. Seeds: engines_fuzz_seeds.py.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "control/config/address.h"
#include "control/config/parse.h"
#include "control/controller/plan.h"
#include "core/verdict.h"
#include "engine/host/slow_path.h"
#include "engine/replay/runner.h"
#include "tables/live_connections.h"
#include "tables/publisher.h"

namespace {

using namespace fairlead;

constexpr uint32_t workers = 2;
constexpr uint64_t start_ms = 100'000'000;  // replay.cc says why
constexpr size_t most_steps = 64;
constexpr size_t shortest = 14;  // no driver shows a program less than an Ethernet header

// Every method, scheduler and kind of service; prefix VIPs that cover nearly all of the rest, so
// that whatever the fuzzer makes of an address gets past the first question.
constexpr const char* services_text = R"({
  "vips": [
    {"id": "one", "address": "198.51.100.10", "services": [
      {"protocol": "tcp", "port": 80, "backend_pool": "gre", "split": [
        {"backend_pool": "gre", "weight": 9}, {"backend_pool": "ipip", "weight": 1}]},
      {"protocol": "tcp", "port": 443, "backend_pool": "nat", "scheduler": "least_connections"},
      {"protocol": "udp", "port": 53, "backend_pool": "nat", "scheduler": "round_robin"},
      {"protocol": "udp", "port": 80, "backend_pool": "snat"},
      {"protocol": "any", "port": 0, "backend_pool": "l2", "affinity": "client_ip"}]},
    {"id": "six", "address": "2001:db8:1::10", "services": [
      {"protocol": "tcp", "port": 80, "backend_pool": "gre"},
      {"protocol": "tcp", "port": 443, "backend_pool": "nat6"},
      {"protocol": "udp", "port": 53, "backend_pool": "snat6"},
      {"protocol": "udp", "port": 0, "backend_pool": "gue", "routes": [
        {"source": "2001:db8:c::/48", "backend_pool": "gre"}]}]},
    {"id": "drop", "address": "198.51.100.11", "ping": "drop", "services": [
      {"protocol": "tcp", "port": 80, "backend_pool": "gue"}]},
    {"id": "low", "address": "0.0.0.0/1", "services": [
      {"protocol": "any", "port": 0, "backend_pool": "gre"}]},
    {"id": "high", "address": "128.0.0.0/2", "services": [
      {"protocol": "tcp", "port": 0, "backend_pool": "ipip"},
      {"protocol": "udp", "port": 0, "backend_pool": "nat", "scheduler": "least_connections"}]},
    {"id": "all6", "address": "2000::/3", "services": [
      {"protocol": "any", "port": 0, "backend_pool": "ipip"}]}],
  "pools": [
    {"id": "gre", "table_size": 251, "health_check": {"type": "none"},
     "backends": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2", "weight": 2}, {"ip": "2001:db8:b::1"}]},
    {"id": "ipip", "method": "ipip", "table_size": 31, "health_check": {"type": "none"},
     "backends": [{"ip": "10.0.1.1"}, {"ip": "2001:db8:b::2"}]},
    {"id": "gue", "method": "gue", "table_size": 31, "health_check": {"type": "none"},
     "backends": [{"ip": "10.0.2.1"}]},
    {"id": "l2", "method": "l2", "table_size": 31, "health_check": {"type": "none"},
     "backends": [{"ip": "10.0.3.1"}, {"ip": "10.0.3.2"}]},
    {"id": "nat", "method": "nat", "table_size": 31, "health_check": {"type": "none"},
     "backends": [{"ip": "10.0.4.1", "port": 8080}, {"ip": "10.0.4.2", "port": 80}]},
    {"id": "snat", "method": "nat", "snat": true, "table_size": 31,
     "health_check": {"type": "none"}, "backends": [{"ip": "10.0.5.1", "port": 8080}]},
    {"id": "nat6", "method": "nat", "table_size": 31, "health_check": {"type": "none"},
     "backends": [{"ip": "2001:db8:b::4", "port": 8443}]},
    {"id": "snat6", "method": "nat", "snat": true, "table_size": 31,
     "health_check": {"type": "none"}, "backends": [{"ip": "2001:db8:b::5", "port": 53}]}]})";

std::shared_ptr<const tables::Snapshot> make_snapshot() {
  config::NodeConfig node;
  node.node.address = config::parse_address("192.0.2.11");
  node.node.address6 = config::parse_address("2001:db8:f::11");
  const auto services = config::parse_services(services_text, "services.json", node);
  check(services.has_value(), "{}", services ? "" : services.error().front().format());
  const auto next_hop = [](const config::IpAddress&) {
    return controller::NextHop{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, ""};
  };
  return controller::plan({node, *services, {}, next_hop, {}, 1}).snapshot;
}

// One engine, its slow path and what came of the frames.
class Side final : host::SlowPath::Sink {
 public:
  struct Result {
    uint64_t step;
    core::Outcome outcome;         // of the frame itself; else what follows
    std::vector<uint8_t> frame{};  // that leaves
  };

  Side(std::unique_ptr<replay::Runner> runner, std::shared_ptr<const tables::Snapshot> snapshot)
      : runner_(std::move(runner)),
        publisher_(runner_->memory(), {.tick_ms = replay::tick_ms, .wait = {}}),
        snapshot_(std::move(snapshot)) {
    const auto published = publisher_.publish(snapshot_, start_ms);
    check(published.has_value(), "{}", published ? "" : published.error().message);
  }

  // As if nothing had ever come.
  void reset() {
    visit([](auto* records, size_t count) {
      std::memset(static_cast<void*>(records), 0, count * sizeof *records);
    });
    for (uint32_t p = 0; p < snapshot_->pools.size(); p++) {
      for (uint32_t m = 0; m < snapshot_->pools[p].members.size(); m++) set_state(p, m, usable);
    }
    limits_ = std::make_unique<host::IcmpLimits>(memory().capacity.services);
    slow_.clear();
    for (uint32_t i = 0; i < workers; i++) {
      slow_.push_back(std::make_unique<host::SlowPath>(100, *limits_));
    }
    results.clear();
  }

  void set_state(uint32_t pool, uint32_t member, uint8_t flags) {
    publisher_.set_flags(pool, member, flags);
  }

  void take(uint64_t step, std::span<const uint8_t> bytes, core::Tick now, uint32_t worker) {
    if (memory().settings->counts_live != 0) {
      tables::count_live_connections(memory(), now);
    }
    buffer_.assign(replay::headroom + bytes.size(), std::byte{0});
    const std::span frame = std::span(buffer_).subspan(replay::headroom);
    std::memcpy(frame.data(), bytes.data(), bytes.size());
    const auto processed = runner_->run(frame, now, worker);
    check(processed.has_value(), "{}", processed ? "" : processed.error().message);
    if (processed->slow) {
      slow_[worker]->handle(bytes, step, tables_of(now, worker), now_us(now), *this);
    } else {
      Result& result = results.emplace_back(Result{step, processed->outcome});
      const auto* left = reinterpret_cast<const uint8_t*>(processed->frame.data());
      result.frame.assign(left, left + processed->frame.size());
    }
    poll(now);
  }

  void poll(core::Tick now) {
    for (uint32_t worker = 0; worker < workers; worker++) {
      if (slow_[worker]->holding()) {
        slow_[worker]->poll(tables_of(now, worker), now_us(now), *this);
      }
    }
  }

  // All that packets write, array by array.
  template <class F>
  void visit(F visitor) {
    const tables::Memory& m = memory();
    const tables::Capacity& c = m.capacity;
    visitor(m.narrow, size_t{workers} * c.narrow_lines);
    visitor(m.wide, size_t{workers} * c.wide_lines);
    visitor(m.fragments, c.fragment_lines);
    visitor(m.translations, c.translations);
    visitor(m.turns, c.tables);
    visitor(m.live, c.backends);
    visitor(m.workers, workers);
    visitor(m.backend_counters, size_t{workers} * c.backends);
    visitor(m.service_counters, size_t{workers} * c.services);
  }

  std::vector<Result> results;
  static constexpr uint8_t usable = core::backend_flag::takes_new | core::backend_flag::keeps_known;

 private:
  const tables::Memory& memory() const { return runner_->memory(); }
  host::Tables tables_of(core::Tick now, uint32_t worker) const {
    return {runner_->memory(), now, worker};
  }
  static uint64_t now_us(core::Tick now) { return uint64_t{now} * replay::tick_ms * 1'000; }

  void send(uint64_t step, std::span<const uint8_t> frame) override {
    results.push_back({step, {}, {frame.begin(), frame.end()}});
  }
  void settle(uint64_t step, const core::Outcome& outcome) override {
    results.push_back({step, outcome});
  }

  std::unique_ptr<replay::Runner> runner_;
  tables::Publisher publisher_;
  std::shared_ptr<const tables::Snapshot> snapshot_;
  std::unique_ptr<host::IcmpLimits> limits_;
  std::vector<std::unique_ptr<host::SlowPath>> slow_;
  std::vector<std::byte> buffer_;
};

void compare(const Side::Result& user, const Side::Result& xdp) {
  check(user.step == xdp.step && std::memcmp(&user.outcome, &xdp.outcome, sizeof xdp.outcome) == 0,
        "frame {}: user says {} (backend {}), frame {}: xdp says {} (backend {})", user.step,
        core::name_of(user.outcome.reason), user.outcome.backend, xdp.step,
        core::name_of(xdp.outcome.reason), xdp.outcome.backend);
  check(user.frame == xdp.frame, "frame {} ({}): other bytes leave", user.step,
        core::name_of(user.outcome.reason));
}

void compare_memory(Side& user, Side& xdp) {
  std::vector<std::span<const std::byte>> arrays;
  const auto bytes = [](const auto* records, size_t count) {
    return std::as_bytes(std::span(records, count));
  };
  user.visit([&](auto* records, size_t count) { arrays.push_back(bytes(records, count)); });
  size_t number = 0;
  xdp.visit([&](auto* records, size_t count) {
    const auto other = bytes(records, count);
    const auto [at, _] = std::ranges::mismatch(arrays[number], other);
    const auto offset = static_cast<size_t>(at - arrays[number].begin());
    check(at == arrays[number].end(), "array {} differs in record {}, byte {}", number,
          offset / sizeof *records, offset % sizeof *records);
    number++;
  });
}

struct Engines {
  Engines() {
    const tables::Capacity capacity{.workers = workers,
                                    .rows = 64,
                                    .branches = 16,
                                    .tables = 64,
                                    .slots = 1u << 16,
                                    .backends = 32,
                                    .services = 32,
                                    .narrow_lines = 8,
                                    .wide_lines = 8,
                                    .fragment_lines = 4,
                                    .translations = 16};
    const auto snapshot = make_snapshot();
    const auto made = [&](auto make) {
      auto runner = make(capacity);
      check(runner.has_value(), "{}", runner ? "" : runner.error().message);
      return std::make_unique<Side>(std::move(*runner), snapshot);
    };
    user = made(replay::make_user_runner);
    xdp = made(replay::make_xdp_runner);
    for (const tables::Pool& pool : snapshot->pools) {
      members.push_back(static_cast<uint32_t>(pool.members.size()));
    }
  }
  std::unique_ptr<Side> user, xdp;
  std::vector<uint32_t> members;  // by pool
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Engines engines;
  constexpr uint32_t later[] = {0, 1, 60, 700};  // ticks: some TTLs pass in 60, all in 700
  constexpr uint8_t states[] = {Side::usable, core::backend_flag::keeps_known, 0, Side::usable};
  engines.user->reset();
  engines.xdp->reset();
  core::Tick now = start_ms / replay::tick_ms;
  std::span left(data, size);
  for (uint64_t step = 0; step < most_steps && left.size() > 4; step++) {
    now += later[left[0] & 3];
    const uint32_t worker = left[0] >> 2 & 1;
    const uint32_t pool = left[1] % static_cast<uint32_t>(engines.members.size());
    const uint32_t member = (left[1] >> 4) % engines.members[pool];
    const size_t length = std::min<size_t>(left[2] | uint32_t{left[3]} << 8, left.size() - 4);
    for (Side* side : {engines.user.get(), engines.xdp.get()}) {
      if (left[0] & 8) side->set_state(pool, member, states[left[0] >> 4 & 3]);
      if (length >= shortest) side->take(step, left.subspan(4, length), now, worker);
    }
    left = left.subspan(4 + length);
  }
  engines.user->poll(now + 10);
  engines.xdp->poll(now + 10);
  const auto &user = engines.user->results, &xdp = engines.xdp->results;
  for (size_t i = 0; i < std::min(user.size(), xdp.size()); i++) compare(user[i], xdp[i]);
  check(user.size() == xdp.size(), "{} results of user, {} of xdp", user.size(), xdp.size());
  compare_memory(*engines.user, *engines.xdp);
  return 0;
}
