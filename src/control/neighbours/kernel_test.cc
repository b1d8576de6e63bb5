// SPDX-License-Identifier: MIT
// What goes wrong between the kernel and us, with a kernel of the test's own: its answers lie ready
// in a socket before they are asked for.
#include "control/neighbours/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>

#include "control/config/address.h"
#include "control/neighbours/resolver.h"

namespace fairlead::neighbours {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t interface = 7;

IpAddress address(const std::string& text) { return *config::parse_address(text); }

class FakeKernel {
 public:
  FakeKernel() {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ours_.reset(pair[0]);
    theirs_.reset(pair[1]);
  }

  Kernel take() { return Kernel(Netlink(std::move(theirs_))); }

  using Fill = std::function<void(nlmsghdr*)>;
  void say(uint32_t sequence, uint16_t type, uint16_t flags, const Fill& fill) {
    alignas(nlmsghdr) char buffer[512]{};
    nlmsghdr* message = mnl_nlmsg_put_header(buffer);
    message->nlmsg_type = type;
    message->nlmsg_flags = flags;
    message->nlmsg_seq = sequence;
    fill(message);
    ASSERT_GT(::send(ours_.get(), buffer, message->nlmsg_len, 0), 0);
  }
  void end(uint32_t sequence, uint16_t type = NLMSG_DONE, int error = 0) {
    say(sequence, type, 0, [error](nlmsghdr* message) {
      *static_cast<int*>(mnl_nlmsg_put_extra_header(message, sizeof error)) = error;
    });
  }
  void own(uint32_t sequence, const std::string& text, uint16_t flags = 0) {
    say(sequence, RTM_NEWADDR, flags, [&](nlmsghdr* message) {
      auto* body = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifaddrmsg)));
      body->ifa_family = AF_INET;
      mnl_attr_put_u32(message, IFA_LOCAL, address(text).bytes.word[0]);
    });
  }
  void neighbour(uint32_t sequence, const std::string& text) {
    say(sequence, RTM_NEWNEIGH, 0, [&](nlmsghdr* message) {
      auto* body = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ndmsg)));
      body->ndm_family = AF_INET;
      body->ndm_ifindex = interface;
      body->ndm_state = NUD_PERMANENT;
      mnl_attr_put_u32(message, NDA_DST, address(text).bytes.word[0]);
      mnl_attr_put(message, NDA_LLADDR, 6, "\2\0\0\0\0\1");
    });
  }
  void route(uint32_t sequence) {
    say(sequence, RTM_NEWROUTE, 0, [](nlmsghdr* message) {
      static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)))->rtm_family = AF_INET;
      mnl_attr_put_u32(message, RTA_OIF, interface);
    });
    end(sequence, NLMSG_ERROR);  // the acknowledgement
  }
  void fall_silent() { ::shutdown(ours_.get(), SHUT_WR); }

 private:
  Fd ours_, theirs_;
};

TEST(Kernel, ADumpDuringWhichTheTableChangedIsAskedForAgain) {
  FakeKernel fake;
  fake.own(1, "10.0.0.1");
  fake.own(1, "10.0.0.2", NLM_F_DUMP_INTR);
  fake.own(1, "10.0.0.3");
  fake.end(1);
  fake.own(2, "10.0.0.1");
  fake.own(2, "10.0.0.3");
  fake.end(2);
  Kernel kernel = fake.take();
  const auto found = kernel.addresses();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre(address("10.0.0.1"), address("10.0.0.3")));
}

TEST(Kernel, ATableThatChangesDuringEveryDumpIsAnErrorInTheEnd) {
  FakeKernel fake;
  for (uint32_t sequence = 1; sequence <= 5; sequence++) {
    fake.own(sequence, "10.0.0.1", NLM_F_DUMP_INTR);
    fake.end(sequence);
  }
  fake.fall_silent();
  Kernel kernel = fake.take();
  const auto found = kernel.addresses();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("changes all the time"));
}

TEST(Kernel, WhatIsLeftOfAnAnswerThatWasGivenUpIsSkipped) {
  FakeKernel fake;
  fake.own(77, "10.0.0.9");
  fake.end(77);
  fake.own(1, "10.0.0.1");
  fake.end(1);
  Kernel kernel = fake.take();
  const auto found = kernel.addresses();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(*found, ElementsAre(address("10.0.0.1")));
}

TEST(Kernel, ARefusalIsSaidWithItsReason) {
  FakeKernel fake;
  fake.end(1, NLMSG_ERROR, -EPERM);
  fake.end(2, NLMSG_DONE, -ENOMEM);
  fake.end(3, NLMSG_ERROR, -EINVAL);
  Kernel kernel = fake.take();
  EXPECT_EQ(kernel.addresses().error().message, "netlink: addresses: Operation not permitted");
  EXPECT_EQ(kernel.neighbours(interface).error().message,
            "netlink: neighbours: Cannot allocate memory");
  EXPECT_EQ(kernel.route(address("10.0.0.1"))->error, EINVAL) << "of a route it is an answer";
}

TEST(Kernel, ASocketThatClosesIsAnError) {
  FakeKernel fake;
  fake.own(1, "10.0.0.1");
  fake.fall_silent();
  Kernel kernel = fake.take();
  const auto found = kernel.addresses();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "netlink: addresses: the socket was closed");
}

TEST(Resolver, WhatWasFoundBeforeAFailureIsToldBesideIt) {
  FakeKernel fake;
  fake.neighbour(1, "10.0.0.1");
  fake.neighbour(1, "10.0.0.2");
  fake.end(1);
  fake.route(2);
  fake.fall_silent();
  Resolver resolver(fake.take(), "eth0", interface);
  resolver.want({address("10.0.0.1"), address("10.0.0.2")});
  const Resolver::Looked looked = resolver.look();
  ASSERT_EQ(looked.changed.size(), 1u);
  EXPECT_EQ(looked.changed[0].backend, address("10.0.0.1"));
  EXPECT_TRUE(looked.changed[0].hop.mac);
  ASSERT_TRUE(looked.failed);
  EXPECT_THAT(looked.failed->message, HasSubstr("the socket was closed"));
}

}  // namespace
}  // namespace fairlead::neighbours
