// SPDX-License-Identifier: MIT
#include "engine/user/worker.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/io/memory_queue.h"
#include "engine/samples.h"
#include "tables/publisher.h"

namespace fairlead::user {
namespace {

namespace samples = engine::samples;
using namespace std::chrono_literals;
using core::Reason;
using engine::HeldFrame;
using engine::MemoryQueue;

tables::Capacity small() {
  return {.workers = 2,
          .rows = 64,
          .tables = 16,
          .slots = 8192,
          .backends = 64,
          .services = 16,
          .narrow_lines = 1024,
          .wide_lines = 1024};
}

class WorkerTest : public ::testing::Test {
 protected:
  uint64_t count(uint32_t worker, Reason reason) const {
    return memory_.view().workers[worker].reason[static_cast<size_t>(reason)];
  }

  tables::OwnMemory memory_ = tables::OwnMemory::make(small()).value();
  tables::Publisher publisher_{memory_.view(), {}};
  host::IcmpLimits limits_{16};
};

TEST_F(WorkerTest, forwarded_frames_are_sent_in_a_tunnel_and_the_rest_is_given_back) {
  publisher_.publish(samples::snapshot(251), 0).value();
  MemoryQueue queue(8);
  const auto syn = samples::tcp_v4(samples::Flags::syn).frame;
  queue.offer(syn);
  queue.offer(samples::not_a_vip().frame);
  auto malformed = syn;
  malformed[14] = 0x41;  // an IPv4 header of 4 bytes
  queue.offer(malformed);
  queue.offer(samples::tcp_v6(samples::Flags::syn).frame);

  Worker worker(queue, memory_.view(), 1, 64, 100, limits_);
  EXPECT_EQ(worker.turn(), 4u);
  EXPECT_EQ(worker.turn(), 0u);
  ASSERT_EQ(queue.sent().size(), 2u);
  EXPECT_EQ(queue.released(), 2u);
  EXPECT_EQ(queue.held(), 0u);
  const auto& out = queue.sent()[0];
  ASSERT_EQ(out.size(), syn.size() + 24);
  EXPECT_EQ(out[5], 9) << "to the gateway";
  EXPECT_EQ(out[23], 47) << "GRE";
  EXPECT_TRUE(std::equal(syn.begin() + 14, syn.end(), out.begin() + 38));
  EXPECT_EQ(queue.sent()[1].size(), samples::tcp_v6(samples::Flags::syn).frame.size() + 24);

  EXPECT_EQ(count(1, Reason::fresh), 2u);
  EXPECT_EQ(count(1, Reason::not_vip), 1u);
  EXPECT_EQ(count(1, Reason::malformed), 1u);
  EXPECT_EQ(count(0, Reason::fresh), 0u);
  EXPECT_EQ(worker.statistics().frames, 4u);
  EXPECT_EQ(worker.statistics().batches, 1u);
  EXPECT_EQ(worker.statistics().strayed, 1u);
  EXPECT_GT(worker.statistics().busy_ns, 0u);
}

TEST_F(WorkerTest, a_batch_has_at_most_the_size_that_was_asked_for) {
  MemoryQueue queue(128);
  for (int i = 0; i < 100; i++) queue.offer(samples::udp_v4().frame);
  Worker worker(queue, memory_.view(), 0, 32, 100, limits_);
  EXPECT_EQ(worker.turn(), 32u);
  Worker greedy(queue, memory_.view(), 0, 1000, 100, limits_);
  EXPECT_EQ(greedy.turn(), largest_batch);
  EXPECT_EQ(greedy.turn(), 100u - 32 - largest_batch);
}

// A queue that wakes its worker, and holds it inside a batch when told to.
class SlowQueue {
 public:
  size_t receive(std::span<HeldFrame> frames) {
    const std::lock_guard lock(mutex_);
    return memory_.receive(frames);
  }
  void transmit(const HeldFrame& frame) { memory_.transmit(frame); }
  void release(const HeldFrame& frame) { memory_.release(frame); }
  bool lend(HeldFrame& frame, uint32_t length) { return memory_.lend(frame, length); }
  void flush() { flushed_++; }
  void wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, timeout, [this] { return memory_.waiting() != 0; });
  }
  void offer(std::span<const uint8_t> frame) {
    const std::lock_guard lock(mutex_);
    memory_.offer(frame);
    woken_.notify_one();
  }
  int flushed() const { return flushed_; }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  MemoryQueue memory_{1024};
  std::atomic<int> flushed_ = 0;
};
static_assert(engine::FrameQueue<SlowQueue>);

TEST_F(WorkerTest, it_sleeps_when_there_is_nothing_to_do_and_wakes_up_for_a_frame) {
  SlowQueue queue;
  Worker worker(queue, memory_.view(), 0, 64, 100, limits_);
  std::thread thread([&] { worker.run(); });
  for (int i = 0; i < 5; i++) {
    for (int n = 0; n < 2000 && worker.statistics().parked <= static_cast<uint64_t>(i); n++) {
      std::this_thread::sleep_for(1ms);
    }
    queue.offer(samples::udp_v4().frame);
    for (int n = 0; n < 2000 && queue.flushed() <= i; n++) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(queue.flushed(), i + 1);
  }
  worker.stop();
  thread.join();
  EXPECT_EQ(worker.statistics().frames, 5u);
  EXPECT_GE(worker.statistics().parked, 5u);
}

TEST_F(WorkerTest, waiting_for_a_batch_returns_at_once_when_the_worker_sleeps) {
  SlowQueue queue;
  Worker worker(queue, memory_.view(), 0, 64, 100, limits_);
  std::thread thread([&] { worker.run(); });
  while (worker.statistics().parked == 0) std::this_thread::sleep_for(1ms);
  const Time begin = now();
  worker.wait_for_batch();
  EXPECT_LT(now() - begin, 50ms);
  worker.stop();
  thread.join();
}

}  // namespace
}  // namespace fairlead::user
