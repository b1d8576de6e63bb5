// SPDX-License-Identifier: MIT
// AfXdpQueue: see afxdp.h.
#include "engine/io/afxdp.h"

#include <fmt/format.h>
#include <linux/if_link.h>
#include <poll.h>
#include <sys/socket.h>
#include <xdp/xsk.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/bpf/libbpf_log.h"
#include "engine/bpf/object.h"

namespace fairlead::engine {
namespace {

constexpr uint32_t small_shift = 11;
constexpr uint32_t large_shift = 12;
static_assert(1u << large_shift == AfXdpQueue::largest_chunk);
constexpr uint32_t kernel_room = 256;  // XDP_PACKET_HEADROOM: in front of every frame
constexpr uint32_t fill_batch = 64;
// Copy mode sends at most so many frames with one system call (TX_BATCH_SIZE of net/xdp/xsk.c);
// newer kernels can be asked for more.
constexpr uint32_t kernel_budget = 32;
constexpr int option_budget = 9;  // XDP_MAX_TX_SKB_BUDGET, Linux 6.17
constexpr uint32_t wanted_budget = 256;
// Bytes of copies under way, so that the socket's own bound is not what holds frames back.
constexpr int send_buffer = 16 << 20;
constexpr std::chrono::milliseconds busy_patience{1000};
constexpr std::chrono::milliseconds busy_pause{10};

}  // namespace

struct AfXdpQueue::Rings {
  xsk_umem* umem = nullptr;
  xsk_socket* socket = nullptr;
  xsk_ring_prod fill{};
  xsk_ring_cons sent{};
  xsk_ring_cons received{};
  xsk_ring_prod to_send{};
};

AfXdpQueue::AfXdpQueue(Options options, uint32_t chunk_shift)
    : options_(options),
      chunk_shift_(chunk_shift),
      memory_(size_t{options.chunks} << chunk_shift),
      rings_(std::make_unique<Rings>()) {
  free_.reserve(options.chunks);
  for (uint32_t chunk = options.chunks; chunk != 0; chunk--) {
    free_.push_back(chunk - 1);
  }
  if (options.audit) {
    places_.assign(options.chunks, Place::free);
  }
}

AfXdpQueue::~AfXdpQueue() { unbind(); }

Result<std::unique_ptr<AfXdpQueue>> AfXdpQueue::open(const Interface& interface, Options options) {
  check(std::has_single_bit(options.chunks) && options.to_fill <= options.chunks / 2,
        "{} of {} chunks to fill", options.to_fill, options.chunks);
  if (interface.mtu > largest_mtu) {
    return failure(
        fmt::format("interface {}: its MTU is {}, and AF_XDP sockets take {} at most; "
                    "lower the MTU, or set engine = \"xdp\"",
                    interface.name, interface.mtu, largest_mtu));
  }
  const uint32_t needed = frame_offset + 14 + 8 + interface.mtu;
  std::unique_ptr<AfXdpQueue> queue(
      new AfXdpQueue(options, needed <= 1u << small_shift ? small_shift : large_shift));
  if (queue->memory_.data() == nullptr) {
    return queue->refused(interface, ENOMEM);
  }
  // The kernel frees the queue of a closed socket a moment later, which a restart must survive.
  const auto end = std::chrono::steady_clock::now() + busy_patience;
  int error = queue->bind(interface);
  while (error == EBUSY && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(busy_pause);
    error = queue->bind(interface);
  }
  if (error != 0) {
    return queue->refused(interface, error);
  }
  queue->refill();
  return queue;
}

void AfXdpQueue::unbind() {
  if (rings_->socket != nullptr) {
    xsk_socket__delete(rings_->socket);
  }
  if (rings_->umem != nullptr) {
    xsk_umem__delete(rings_->umem);
  }
  *rings_ = {};
}

int AfXdpQueue::bind(const Interface& interface) {
  const LibbpfLog log;  // libxdp speaks of what is told by the result
  unbind();
  const xsk_umem_config memory_config{
      .fill_size = options_.chunks,
      .comp_size = options_.chunks,
      .frame_size = 1u << chunk_shift_,
      .frame_headroom = frame_offset - kernel_room,
      .flags = 0,
  };
  Rings& r = *rings_;
  // The chunks and no more: the rest of a huge page would be more than the rings can hold.
  if (const int error =
          xsk_umem__create(&r.umem, memory_.data(), uint64_t{options_.chunks} << chunk_shift_,
                           &r.fill, &r.sent, &memory_config);
      error != 0) {
    return -error;
  }
  xsk_socket_config config{};
  config.rx_size = options_.chunks;
  config.tx_size = options_.chunks;
  config.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD;
  // Without either flag the kernel takes zero-copy if the driver has it, and copies otherwise.
  config.bind_flags =
      static_cast<uint16_t>(XDP_USE_NEED_WAKEUP | (options_.zero_copy ? 0 : XDP_COPY));
  if (const int error = xsk_socket__create(&r.socket, interface.name.c_str(), options_.queue,
                                           r.umem, &r.received, &r.to_send, &config);
      error != 0) {
    return -error;
  }
  xdp_options obtained{};
  socklen_t size = sizeof obtained;
  if (::getsockopt(descriptor(), SOL_XDP, XDP_OPTIONS, &obtained, &size) == 0) {
    zero_copy_ = (obtained.flags & XDP_OPTIONS_ZEROCOPY) != 0;
  }
  if (!zero_copy_) {
    ::setsockopt(descriptor(), SOL_XDP, option_budget, &wanted_budget, sizeof wanted_budget);
    ::setsockopt(descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof send_buffer);
  }
  return 0;
}

std::unexpected<Error> AfXdpQueue::refused(const Interface& interface, int error) const {
  const std::string what =
      fmt::format("interface {}: an AF_XDP socket for queue {}", interface.name, options_.queue);
  switch (error) {
    case EPERM:
    case EACCES: return failure(not_permitted(what));
    case EBUSY:
      return failure(
          fmt::format("{}: the queue is taken; stop its owner (another fairlead?)", what));
    case EINVAL:
      return failure(fmt::format("{}: no such queue (the interface has {}); see `ethtool -l {}`",
                                 what, interface.receive_queues, interface.name));
    case ENOBUFS:
    case ENOMEM:
      return failure(
          fmt::format("{}: no {} MB of memory that may be locked; raise the limit "
                      "(LimitMEMLOCK=infinity), or grant CAP_IPC_LOCK",
                      what, memory_.size() >> 20));
    case EAFNOSUPPORT:
      return failure(
          fmt::format("{}: this kernel has none; it needs CONFIG_XDP_SOCKETS, or set "
                      "engine = \"xdp\"",
                      what));
    default: return failure(fmt::format("{}: {}", what, std::strerror(error)));
  }
}

int AfXdpQueue::descriptor() const { return xsk_socket__fd(rings_->socket); }

AfXdpQueue::Census AfXdpQueue::census() const {
  return {to_fill_, held_, to_send_, static_cast<uint32_t>(free_.size())};
}

AfXdpQueue::Statistics AfXdpQueue::statistics() const {
  xdp_statistics kernel{};
  socklen_t size = sizeof kernel;
  ::getsockopt(descriptor(), SOL_XDP, XDP_STATISTICS, &kernel, &size);
  return {kernel.rx_dropped + kernel.rx_ring_full, kernel.rx_fill_ring_empty_descs,
          kernel.rx_invalid_descs + kernel.tx_invalid_descs, unsent_};
}

void AfXdpQueue::move(uint32_t chunk, Place from, Place to) {
  if (places_.empty()) {
    return;
  }
  check(chunk < places_.size(), "chunk {} of {}", chunk, places_.size());
  check(places_[chunk] == from, "chunk {} is in place {}, not {}", chunk,
        static_cast<int>(places_[chunk]), static_cast<int>(from));
  places_[chunk] = to;
}

size_t AfXdpQueue::receive(std::span<HeldFrame> frames) {
  collect_sent();
  refill();
  Rings& r = *rings_;
  uint32_t at = 0;
  const uint32_t count =
      xsk_ring_cons__peek(&r.received, static_cast<uint32_t>(frames.size()), &at);
  for (uint32_t i = 0; i < count; i++) {
    const xdp_desc& descriptor = *xsk_ring_cons__rx_desc(&r.received, at + i);
    const auto chunk = static_cast<uint32_t>(descriptor.addr >> chunk_shift_);
    frames[i] = {.data = memory_.data() + descriptor.addr,
                 .length = descriptor.len,
                 .room = static_cast<uint32_t>(descriptor.addr & ((1u << chunk_shift_) - 1)),
                 .chunk = chunk};
    move(chunk, Place::to_fill, Place::held);
  }
  if (count != 0) {
    xsk_ring_cons__release(&r.received, count);
    to_fill_ -= count;
    held_ += count;
  }
  return count;
}

void AfXdpQueue::transmit(const HeldFrame& frame) {
  Rings& r = *rings_;
  uint32_t at = 0;
  if (xsk_ring_prod__reserve(&r.to_send, 1, &at) != 1) [[unlikely]] {
    unsent_++;
    release(frame);
    return;
  }
  *xsk_ring_prod__tx_desc(&r.to_send, at) = {
      .addr = static_cast<uint64_t>(frame.data - memory_.data()),
      .len = frame.length,
      .options = 0};
  move(frame.chunk, Place::held, Place::to_send);
  held_--;
  to_send_++;
  unsubmitted_++;
}

void AfXdpQueue::release(const HeldFrame& frame) {
  move(frame.chunk, Place::held, Place::free);
  held_--;
  free_.push_back(frame.chunk);
}

bool AfXdpQueue::lend(HeldFrame& frame, uint32_t length) {
  if (free_.empty() || length > (1u << chunk_shift_) - frame_offset) return false;
  const uint32_t chunk = free_.back();
  free_.pop_back();
  move(chunk, Place::free, Place::held);
  held_++;
  frame = {.data = memory_.data() + (uint64_t{chunk} << chunk_shift_) + frame_offset,
           .length = length,
           .room = frame_offset,
           .chunk = chunk};
  return true;
}

void AfXdpQueue::flush() {
  if (unsubmitted_ != 0) {
    xsk_ring_prod__submit(&rings_->to_send, unsubmitted_);
    unsubmitted_ = 0;
  }
  if (to_send_ != 0 && xsk_ring_prod__needs_wakeup(&rings_->to_send)) {
    kick_transmit();
  }
}

uint32_t AfXdpQueue::waiting_to_send() const {
  xsk_ring_prod& ring = rings_->to_send;
  return ring.size - xsk_prod_nb_free(&ring, ring.size);  // looks at the kernel's index
}

// In copy mode the system call itself sends, a budget of frames each time; else it only wakes the
// driver. What is not sent now (the device's queue is full) is tried again with the next batch.
void AfXdpQueue::kick_transmit() {
  uint32_t calls = zero_copy_ ? 1 : waiting_to_send() / kernel_budget + 1;
  while (calls-- != 0 && waiting_to_send() != 0) {
    if (::sendto(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 && errno != EAGAIN) {
      break;
    }
  }
}

void AfXdpQueue::collect_sent() {
  Rings& r = *rings_;
  uint32_t at = 0;
  const uint32_t count = to_send_ == 0 ? 0 : xsk_ring_cons__peek(&r.sent, to_send_, &at);
  for (uint32_t i = 0; i < count; i++) {
    const auto chunk =
        static_cast<uint32_t>(*xsk_ring_cons__comp_addr(&r.sent, at + i) >> chunk_shift_);
    move(chunk, Place::to_send, Place::free);
    free_.push_back(chunk);
  }
  if (count != 0) {
    xsk_ring_cons__release(&r.sent, count);
    to_send_ -= count;
  }
}

// The kernel may show what it took of the fill ring only when it has taken all that it saw, so up
// to `to_fill` slots look taken that are not: hence a ring of twice as many.
void AfXdpQueue::refill() {
  Rings& r = *rings_;
  const auto missing =
      static_cast<uint32_t>(std::min<size_t>(options_.to_fill - to_fill_, free_.size()));
  uint32_t at = 0;
  if (missing != 0 && missing >= std::min(fill_batch, options_.to_fill / 8) &&
      xsk_ring_prod__reserve(&r.fill, missing, &at) == missing) {
    for (uint32_t i = 0; i < missing; i++) {
      const uint32_t chunk = free_.back();
      free_.pop_back();
      move(chunk, Place::free, Place::to_fill);
      *xsk_ring_prod__fill_addr(&r.fill, at + i) = uint64_t{chunk} << chunk_shift_;
    }
    xsk_ring_prod__submit(&r.fill, missing);
    to_fill_ += missing;
  }
  if (xsk_ring_prod__needs_wakeup(&r.fill)) {
    ::recvfrom(descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
  }
}

void AfXdpQueue::wait(std::chrono::milliseconds timeout) {
  if (waiting_to_send() != 0) {
    timeout = std::min(timeout, std::chrono::milliseconds(1));  // poll() sends, too
  }
  pollfd ready{.fd = descriptor(), .events = POLLIN, .revents = 0};
  ::poll(&ready, 1, static_cast<int>(timeout.count()));
}

}  // namespace fairlead::engine
