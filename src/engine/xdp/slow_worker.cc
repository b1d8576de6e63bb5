// SPDX-License-Identifier: MIT
#include "engine/xdp/slow_worker.h"

#include <bpf/bpf.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"

namespace fairlead::xdp {
namespace {

constexpr int idle_ms = 100;   // how late stopping may be noticed
constexpr int holding_ms = 1;  // how late a held fragment follows its first one

uint64_t now_us() {
  return static_cast<uint64_t>(now().time_since_epoch() / std::chrono::microseconds(1));
}

}  // namespace

SlowWorker::SlowWorker(const tables::Memory& memory)
    : memory_(memory),
      workers_(memory.capacity.workers),
      backends_(size_t{memory.capacity.workers} * memory.capacity.backends),
      services_(size_t{memory.capacity.workers} * memory.capacity.services),
      limits_(memory.capacity.services) {
  memory_.workers = workers_.data();
  memory_.backend_counters = backends_.data();
  memory_.service_counters = services_.data();
}

Result<std::unique_ptr<SlowWorker>> SlowWorker::start(const engine::Interface& interface,
                                                      const tables::Memory& memory, int sockets,
                                                      uint32_t icmp_rate_limit) {
  std::unique_ptr<SlowWorker> made(new SlowWorker(memory));
  const uint32_t queues = std::min(interface.receive_queues, memory.capacity.workers);
  for (uint32_t queue = 0; queue < queues; queue++) {
    // Copies, always: with zero-copy the driver would take every frame of the queue through the
    // socket's memory, for the sake of a few.
    auto opened = engine::AfXdpQueue::open(
        interface, {.queue = queue, .chunks = 1024, .to_fill = 512, .zero_copy = false});
    if (!opened) return std::unexpected(opened.error());
    const int descriptor = (*opened)->descriptor();
    if (bpf_map_update_elem(sockets, &queue, &descriptor, BPF_ANY) != 0) {
      return failure(fmt::format("interface {}: the slow path's socket of queue {} is refused: {}",
                                 interface.name, queue, std::strerror(errno)));
    }
    made->ports_.emplace_back(std::move(*opened), icmp_rate_limit, made->limits_);
  }
  made->thread_ = std::thread([worker = made.get()] { worker->run(); });
  pthread_setname_np(made->thread_.native_handle(), "slow-path");
  return made;
}

SlowWorker::~SlowWorker() {
  stopped_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void SlowWorker::run() {
  while (!stopped_.load(std::memory_order_relaxed)) {
    bool busy = false;
    for (uint32_t worker = 0; worker < ports_.size(); worker++) {
      busy |= turn(worker, ports_[worker]);
    }
    if (!busy) wait();
  }
}

bool SlowWorker::turn(uint32_t worker, Port& port) {
  std::array<engine::HeldFrame, 64> frames;
  const size_t count = port.queue->receive(frames);
  if (count == 0 && !port.slow.holding()) return false;
  turns_.begin();
  // The program wrote the tick when it sent a frame here.
  const host::Tables tables(memory_, memory_.settings->clock, worker);
  const uint64_t time = now_us();
  for (size_t i = 0; i < count; i++) {
    port.slow.handle({frames[i].data, frames[i].length}, 0, tables, time, port.sink);
    port.queue->release(frames[i]);
  }
  if (port.slow.holding()) port.slow.poll(tables, time, port.sink);
  turns_.end();
  port.queue->flush();
  return count != 0;
}

void SlowWorker::wait() {
  std::array<pollfd, core::limits::workers> sockets;
  int patience = idle_ms;
  for (size_t i = 0; i < ports_.size(); i++) {
    sockets[i] = {.fd = ports_[i].queue->descriptor(), .events = POLLIN, .revents = 0};
    if (ports_[i].slow.holding()) patience = holding_ms;
  }
  ::poll(sockets.data(), ports_.size(), patience);
}

}  // namespace fairlead::xdp
