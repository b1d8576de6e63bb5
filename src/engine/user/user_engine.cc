// SPDX-License-Identifier: MIT
// UserEngine: see user_engine.h.
#include "engine/user/user_engine.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/bpf/interface.h"
#include "engine/counters.h"
#include "engine/io/afxdp.h"
#include "engine/user/stub.h"
#include "engine/user/tsan.h"
#include "engine/user/worker.h"
#include "tables/live_connections.h"
#include "tables/publisher.h"

namespace fairlead::user {
namespace {

using engine::AfXdpQueue;
using engine::Interface;
using SocketWorker = Worker<AfXdpQueue>;

uint64_t now_ms() {
  return static_cast<uint64_t>(now().time_since_epoch() / std::chrono::milliseconds(1));
}

// Every receive queue needs a worker: what arrives on another one would go to the host.
Result<uint32_t> count_workers(const engine::Options& options, const Interface& interface) {
  const auto queues = engine::served_queues(interface);
  if (!queues) return queues;
  if (options.workers != 0 && options.workers < *queues) {
    return failure(
        fmt::format("interface {}: has {} receive queues, and each needs a thread of its "
                    "own; set num_threads = 0, or lower the queues with `ethtool -L {} "
                    "combined {}`",
                    interface.name, *queues, interface.name, options.workers));
  }
  return queues;
}

class UserEngine final : public engine::Engine {
 public:
  UserEngine(const engine::Options& options, Interface interface, tables::OwnMemory memory,
             Stub stub)
      : interface_(std::move(interface)),
        memory_(std::move(memory)),
        view_(with_translations(memory_.view(), stub)),
        publisher_(view_, {host::tick_ms, [this] { wait_for_batches(); }}),
        batch_(options.batch),
        icmp_rate_(options.icmp_rate_limit),
        limits_(view_.capacity.services),
        stub_(std::make_unique<Stub>(std::move(stub))),
        live_(view_, [] { return tick_of(now()); }) {}

  ~UserEngine() override {
    stub_.reset();
    for (const auto& worker : workers_) worker->stop();
    for (std::thread& thread : threads_) thread.join();
  }
  UserEngine(const UserEngine&) = delete;
  UserEngine& operator=(const UserEngine&) = delete;

  Result<void> open_queues() {
    const bool zero_copy = stub_->link().mode() == engine::Mode::native;
    for (uint32_t i = 0; i < view_.capacity.workers; i++) {
      auto queue = AfXdpQueue::open(interface_, {.queue = i, .zero_copy = zero_copy});
      if (!queue) return std::unexpected(queue.error());
      if (auto connected = stub_->connect(i, (*queue)->descriptor()); !connected) return connected;
      workers_.push_back(
          std::make_unique<SocketWorker>(**queue, view_, i, batch_, icmp_rate_, limits_));
      queues_.push_back(std::move(*queue));
    }
    return {};
  }

  // Worker i runs on cpus[i], if there are so many.
  Result<void> start(const std::vector<uint32_t>& cpus) {
    for (size_t i = 0; i < workers_.size(); i++) {
      threads_.emplace_back([worker = workers_[i].get()] { worker->run(); });
      const pthread_t thread = threads_.back().native_handle();
      pthread_setname_np(thread, fmt::format("worker-{}", i).c_str());
      if (i >= cpus.size()) continue;
      cpu_set_t set;
      CPU_ZERO(&set);
      if (cpus[i] < CPU_SETSIZE) CPU_SET(cpus[i], &set);
      if (const int error = pthread_setaffinity_np(thread, sizeof set, &set); error != 0) {
        return failure(
            fmt::format("cpu_affinity: worker {} cannot run on CPU {}: {}; `nproc` and "
                        "`taskset -p $$` tell which there are",
                        i, cpus[i], std::strerror(error)));
      }
    }
    return {};
  }

  // Workers first: a frame that the stub sends to a worker finds its VIP there. (A VIP that goes is
  // still sent for a moment to workers who no longer know it: see WorkerStatistics::strayed.)
  Result<void> publish(std::shared_ptr<const tables::Snapshot> snapshot) override {
    if (auto published = publisher_.publish(std::move(snapshot), now_ms()); !published) {
      return published;
    }
    stub_->publish(view_);
    return {};
  }

  void set_flags(uint32_t pool, uint32_t member, uint8_t flags) override {
    publisher_.set_flags(pool, member, flags);
  }

  engine::Counters counters() const override { return engine::read_counters(view_, publisher_); }

  engine::Status status() const override {
    const bool zero_copy =
        std::ranges::all_of(queues_, [](const auto& queue) { return queue->zero_copy(); });
    std::string note = stub_->link().note();
    if (note.empty() && !zero_copy) {
      note = "frames are copied, because the driver has no zero-copy for AF_XDP";
    }
    return {.engine = "user",
            .interface = interface_.name,
            .mode = stub_->link().mode(),
            .zero_copy = zero_copy,
            .workers = static_cast<uint32_t>(workers_.size()),
            .note = std::move(note)};
  }

 private:
  static tables::Memory with_translations(tables::Memory memory, const Stub& stub) {
    memory.translations = stub.translations();
    return memory;
  }

  void wait_for_batches() const {
    for (const auto& worker : workers_) worker->wait_for_batch();
  }

  Interface interface_;
  tables::OwnMemory memory_;
  tables::Memory view_;  // of it, but for what the stub shares with the workers
  tables::Publisher publisher_;
  uint32_t batch_;
  uint32_t icmp_rate_;
  host::IcmpLimits limits_;
  std::unique_ptr<Stub> stub_;
  std::vector<std::unique_ptr<AfXdpQueue>> queues_;
  std::vector<std::unique_ptr<SocketWorker>> workers_;
  std::vector<std::thread> threads_;
  tables::LiveCounter live_;
};

}  // namespace

Result<std::unique_ptr<engine::Engine>> make(const engine::Options& options) {
  auto interface = engine::find_interface(options.interface);
  if (!interface) return std::unexpected(interface.error());
  const auto workers = count_workers(options, *interface);
  if (!workers) return std::unexpected(workers.error());
  tables::Capacity capacity = tables::rounded(options.capacity);
  capacity.workers = *workers;
  auto memory = tables::OwnMemory::make(capacity);
  if (!memory) return std::unexpected(memory.error());
  auto stub = Stub::attach(*interface, options.mode, capacity);
  if (!stub) return std::unexpected(stub.error());
  auto made = std::make_unique<UserEngine>(options, std::move(*interface), std::move(*memory),
                                           std::move(*stub));
  if (auto opened = made->open_queues(); !opened) return std::unexpected(opened.error());
  if (auto started = made->start(options.cpus); !started) return std::unexpected(started.error());
  return made;
}

}  // namespace fairlead::user
