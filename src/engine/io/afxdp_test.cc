// SPDX-License-Identifier: MIT
#include "engine/io/afxdp.h"

#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "afxdp_test.bpf.h"
#include "engine/bpf/attach.h"
#include "engine/bpf/object.h"
#include "engine/bpf/veth_pair.h"

namespace fairlead::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

std::string message(const auto& result) { return result ? "" : result.error().message; }

// A veth pair whose far end hands every frame to sockets of this process.
class Bed {
 public:
  Bed(VethPair::Options options, Mode mode)
      : veth(options), interface(find_interface(VethPair::far).value()) {
    object_ = std::make_unique<BpfObject>(BpfObject::open("sockets", bpf::afxdp_test()).value());
    object_->load().value();
    link_ = std::make_unique<XdpLink>(
        XdpLink::attach(object_->program("to_socket").value(), interface, mode).value());
  }

  std::unique_ptr<AfXdpQueue> open(AfXdpQueue::Options options) {
    options.audit = true;
    auto queue = AfXdpQueue::open(interface, options);
    EXPECT_TRUE(queue) << message(queue);
    const int descriptor = (*queue)->descriptor();
    EXPECT_EQ(bpf_map_update_elem(object_->map("sockets").value(), &options.queue, &descriptor, 0),
              0);
    return std::move(*queue);
  }

  VethPair veth;
  Interface interface;

 private:
  std::unique_ptr<BpfObject> object_;
  std::unique_ptr<XdpLink> link_;
};

size_t receive(AfXdpQueue& queue, std::span<HeldFrame> frames, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  size_t count = 0;
  while (count < frames.size() && std::chrono::steady_clock::now() < end) {
    count += queue.receive(frames.subspan(count));
    if (count < frames.size()) {
      queue.wait(10ms);
    }
  }
  return count;
}

// Every chunk is with the kernel to be filled, or free; nothing is held or under way.
void expect_nothing_leaked(AfXdpQueue& queue, uint32_t chunks) {
  for (int i = 0; i < 1000 && queue.census().to_send != 0; i++) {
    std::array<HeldFrame, 1> none{};
    ASSERT_EQ(queue.receive(none), 0u);
    ::usleep(1000);
  }
  const auto census = queue.census();
  EXPECT_EQ(census.held, 0u);
  EXPECT_EQ(census.to_send, 0u);
  EXPECT_EQ(census.to_fill + census.free, chunks);
  EXPECT_EQ(queue.statistics().invalid, 0u);
  EXPECT_EQ(queue.statistics().unsent, 0u);
}

VethPair::Frame random_frame(std::mt19937& random, size_t length) {
  VethPair::Frame frame(length);
  for (std::byte& byte : frame) {
    byte = static_cast<std::byte>(random());
  }
  frame[0] = std::byte{2};  // no multicast
  return frame;
}

class AfXdp : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override { FAIRLEAD_NEEDS_NETWORK(); }
};
INSTANTIATE_TEST_SUITE_P(, AfXdp, ::testing::Values(Mode::native, Mode::generic),
                         [](const auto& which) {
                           return which.param == Mode::native ? "native" : "generic";
                         });

TEST_P(AfXdp, frames_come_and_go_unchanged_and_none_is_lost) {
  Bed bed({}, GetParam());
  // Few chunks, so that every ring goes round many times.
  const auto queue = bed.open({.chunks = 64, .to_fill = 32});
  std::mt19937 random(3);
  for (int round = 0; round < 60; round++) {
    ASSERT_EQ(queue->receive({}), 0u);  // a turn of the loop: gives the kernel chunks to fill
    std::vector<VethPair::Frame> sent;
    for (auto n = 1 + random() % 24; n != 0; n--) {
      sent.push_back(random_frame(random, 60 + random() % 1455));
      bed.veth.send(sent.back());
    }
    std::vector<HeldFrame> held(sent.size());
    ASSERT_EQ(receive(*queue, held, 2s), sent.size());
    ASSERT_EQ(queue->census().held, sent.size());
    std::vector<VethPair::Frame> kept;
    for (size_t i = 0; i < held.size(); i++) {
      ASSERT_EQ(held[i].length, sent[i].size());
      EXPECT_EQ(0, std::memcmp(held[i].data, sent[i].data(), sent[i].size()));
      if (random() % 3 == 0) {
        queue->release(held[i]);
      } else {
        queue->transmit(held[i]);
        kept.push_back(sent[i]);
      }
    }
    queue->flush();
    ASSERT_EQ(bed.veth.receive(kept.size(), 2s), kept);
  }
  expect_nothing_leaked(*queue, 64);
}

TEST_P(AfXdp, headers_are_put_in_front_without_a_copy) {
  Bed bed({}, GetParam());
  const auto queue = bed.open({});
  std::mt19937 random(4);
  const VethPair::Frame frame = random_frame(random, 1000);
  bed.veth.send(frame);
  std::array<HeldFrame, 1> held{};
  ASSERT_EQ(receive(*queue, held, 2s), 1u);
  HeldFrame& got = held[0];
  EXPECT_EQ(std::bit_cast<uintptr_t>(got.data) % 64, 24u) << "outer and inner headers share lines";
  ASSERT_GE(got.room, 64u);
  const VethPair::Frame front = random_frame(random, 64);
  got.data -= front.size();
  got.length += 64;
  got.room -= 64;
  std::memcpy(got.data, front.data(), front.size());
  queue->transmit(got);
  queue->flush();
  VethPair::Frame whole = front;
  whole.insert(whole.end(), frame.begin(), frame.end());
  EXPECT_EQ(bed.veth.receive(1, 2s), std::vector<VethPair::Frame>{whole});
  expect_nothing_leaked(*queue, 4096);
}

TEST_P(AfXdp, more_than_the_kernel_sends_at_once_is_sent_with_one_flush) {
  Bed bed({}, GetParam());
  const auto queue = bed.open({});
  std::mt19937 random(5);
  std::vector<VethPair::Frame> sent;
  for (int i = 0; i < 300; i++) {
    sent.push_back(random_frame(random, 64));
    bed.veth.send(sent.back());
  }
  std::vector<HeldFrame> held(sent.size());
  ASSERT_EQ(receive(*queue, held, 2s), sent.size());
  for (const HeldFrame& frame : held) {
    queue->transmit(frame);
  }
  queue->flush();
  EXPECT_EQ(bed.veth.receive(sent.size(), 2s), sent);
  expect_nothing_leaked(*queue, 4096);
}

TEST_P(AfXdp, a_flood_that_nobody_takes_is_dropped_by_the_kernel_and_does_no_harm) {
  Bed bed({}, GetParam());
  const auto queue = bed.open({.chunks = 64, .to_fill = 32});
  std::mt19937 random(6);
  const VethPair::Frame frame = random_frame(random, 80);
  for (int i = 0; i < 200; i++) {
    bed.veth.send(frame);
  }
  std::vector<HeldFrame> held(100);
  const size_t got = receive(*queue, held, 100ms);
  EXPECT_EQ(got, 32u) << "as many as there were chunks to fill";
  EXPECT_EQ(queue->census().held, got);
  for (size_t i = 0; i < got; i++) {
    queue->release(held[i]);
  }
  expect_nothing_leaked(*queue, 64);
  bed.veth.send(frame);
  EXPECT_EQ(receive(*queue, std::span(held).first(1), 2s), 1u) << "and goes on";
}

TEST_P(AfXdp, larger_mtus_get_larger_chunks) {
  Bed bed({.mtu = 3400}, GetParam());
  const auto queue = bed.open({});
  std::mt19937 random(8);
  const VethPair::Frame frame = random_frame(random, 3414);
  bed.veth.send(frame);
  std::array<HeldFrame, 1> held{};
  ASSERT_EQ(receive(*queue, held, 2s), 1u);
  queue->transmit(held[0]);
  queue->flush();
  EXPECT_EQ(bed.veth.receive(1, 2s), std::vector<VethPair::Frame>{frame});
}

TEST_P(AfXdp, every_queue_has_a_socket_of_its_own) {
  Bed bed({.queues = 2}, GetParam());
  const auto first = bed.open({.queue = 0});
  const auto second = bed.open({.queue = 1});
  std::mt19937 random(9);
  for (int i = 0; i < 50; i++) {
    bed.veth.send(random_frame(random, 100));
  }
  std::vector<HeldFrame> held(50);
  size_t count = 0;
  for (int i = 0; i < 200 && count < held.size(); i++) {
    count += first->receive(std::span(held).subspan(count));
    count += second->receive(std::span(held).subspan(count));
    ::usleep(1000);
  }
  EXPECT_EQ(count, held.size());
}

TEST_P(AfXdp, a_queue_that_does_not_exist_or_is_taken_is_told_in_one_line) {
  Bed bed({}, GetParam());
  EXPECT_THAT(message(AfXdpQueue::open(bed.interface, {.queue = 9})),
              AllOf(HasSubstr("interface far0: an AF_XDP socket for queue 9: no such queue"),
                    HasSubstr("ethtool -l far0")));
  const auto queue = bed.open({});
  EXPECT_THAT(message(AfXdpQueue::open(bed.interface, {})),
              HasSubstr("interface far0: an AF_XDP socket for queue 0: the queue is taken"));
}

TEST_P(AfXdp, a_queue_can_be_opened_again_after_it_was_closed) {
  Bed bed({}, GetParam());
  for (int i = 0; i < 5; i++) {
    const auto queue = bed.open({});
    std::mt19937 random(10);
    bed.veth.send(random_frame(random, 100));
    std::array<HeldFrame, 1> held{};
    ASSERT_EQ(receive(*queue, held, 2s), 1u);
  }
}

TEST_P(AfXdp, an_mtu_that_no_chunk_holds_is_told_with_the_remedy) {
  const VethPair veth({.mtu = 9000});
  EXPECT_THAT(message(AfXdpQueue::open(find_interface(VethPair::far).value(), {})),
              AllOf(HasSubstr("its MTU is 9000, and AF_XDP sockets take 3794 at most"),
                    HasSubstr("lower the MTU, or set engine = \"xdp\"")));
}

TEST_P(AfXdp, giving_a_frame_back_twice_is_noticed) {
  Bed bed({}, GetParam());
  const auto queue = bed.open({});
  std::mt19937 random(11);
  bed.veth.send(random_frame(random, 100));
  std::array<HeldFrame, 1> held{};
  ASSERT_EQ(receive(*queue, held, 2s), 1u);
  queue->release(held[0]);
  EXPECT_DEATH(queue->release(held[0]), "chunk .* is in place 0, not 2");
}

}  // namespace
}  // namespace fairlead::engine
