// SPDX-License-Identifier: MIT
#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "bpf_test.bpf.h"
#include "engine/bpf/attach.h"
#include "engine/bpf/interface.h"
#include "engine/bpf/object.h"
#include "engine/bpf/veth_pair.h"
#include "refused_test.bpf.h"

namespace fairlead::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

struct Line {
  uint64_t hits;
  uint64_t spare[7];
};

BpfObject open(const char* name, std::span<const std::byte> image) {
  auto object = BpfObject::open(name, image);
  EXPECT_TRUE(object) << object.error().message;
  return std::move(*object);
}

#define MUST(result)                                 \
  do {                                               \
    const auto& outcome = (result);                  \
    ASSERT_TRUE(outcome) << outcome.error().message; \
  } while (false)

std::string message(const auto& result) { return result ? "" : result.error().message; }

// Resident memory of this process in bytes, and of it what is shared (tmpfs pages of libbpf's).
size_t resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  unsigned long size = 0;
  unsigned long pages = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &size, &pages), 2);
  std::fclose(file);
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

class Bpf : public ::testing::Test {
 protected:
  void SetUp() override { FAIRLEAD_NEEDS_NETWORK(); }
};

TEST_F(Bpf, arrays_get_the_size_that_is_asked_for_and_are_shared_with_the_program) {
  VethPair veth({});
  BpfObject object = open("bpf_test", bpf::bpf_test());
  MUST(object.resize(".bss.lines", 128 * sizeof(Line)));
  MUST(object.set_constant("line_mask", uint32_t{127}));
  MUST(object.set_constant("step", uint64_t{3}));
  MUST(object.load());
  const auto lines = object.array_of<Line>(".bss.lines");
  MUST(lines);
  EXPECT_EQ(lines->size(), 128u);
  (*lines)[100].hits = 1000;

  const auto interface = find_interface(VethPair::far);
  MUST(interface);
  const auto program = object.program("count");
  MUST(program);
  const auto link = XdpLink::attach(*program, *interface, Mode::automatic);
  MUST(link);
  for (int i = 0; i < 5; i++) {
    veth.send(std::vector<std::byte>(100));
  }
  const auto counter = object.array_of<uint64_t>(".bss.long_name_of_an_array");
  MUST(counter);
  for (int i = 0; i < 1000 && (*counter)[1] < 5; i++) {
    ::usleep(1000);
  }
  EXPECT_EQ((*counter)[1], 5u);
  EXPECT_EQ((*lines)[100].hits, 1015u);
}

TEST_F(Bpf, an_array_takes_no_memory_of_this_process_before_it_is_mapped) {
  const size_t before = resident();
  BpfObject object = open("bpf_test", bpf::bpf_test());
  MUST(object.load());
  EXPECT_LT(resident(), before + (8 << 20)) << "the array has 64 MB";
}

TEST_F(Bpf, an_array_has_the_declared_size_at_most) {
  BpfObject object = open("bpf_test", bpf::bpf_test());
  EXPECT_THAT(message(object.resize(".bss.lines", (64ULL << 20) + 1)),
              HasSubstr(".bss.lines can have 1 to 67108864 bytes, not 67108865"));
  EXPECT_THAT(message(object.resize(".bss.lines", 0)), HasSubstr("1 to 67108864"));
  EXPECT_THAT(message(object.resize(".bss.nothing", 1)), HasSubstr("has no map .bss.nothing"));
  EXPECT_THAT(message(object.resize(".rodata", 1)), HasSubstr("is no array"));
  MUST(object.resize(".bss.lines", 64ULL << 20));
  MUST(object.resize(".bss.lines", 64));
  MUST(object.load());
  EXPECT_EQ(object.array(".bss.lines")->size(), 64u);
}

TEST_F(Bpf, objects_are_opened_and_closed_again_without_harm) {
  for (int i = 0; i < 20; i++) {
    BpfObject object = open("bpf_test", bpf::bpf_test());
    MUST(object.resize(".bss.lines", static_cast<uint64_t>(4096 + i * 1000)));
    MUST(object.load());
    MUST(object.array(".bss.lines"));
    BpfObject moved = std::move(object);
    MUST(moved.array(".bss.lines"));
  }
}

TEST_F(Bpf, constants_are_found_by_name_and_must_fit) {
  BpfObject object = open("bpf_test", bpf::bpf_test());
  EXPECT_THAT(message(object.set_constant("line_mask", uint64_t{1})),
              HasSubstr("constant line_mask has 4 bytes, not 8"));
  EXPECT_THAT(message(object.set_constant("nobody", uint64_t{1})),
              HasSubstr("has no constant nobody"));
}

TEST_F(Bpf, a_name_that_is_not_there_is_an_error) {
  BpfObject object = open("bpf_test", bpf::bpf_test());
  MUST(object.load());
  EXPECT_THAT(message(object.program("nobody")), HasSubstr("has no program nobody"));
  EXPECT_THAT(message(object.map("nobody")), HasSubstr("has no map nobody"));
}

TEST_F(Bpf, what_the_verifier_refuses_is_told_in_one_line_with_its_reason) {
  BpfObject object = open("refused_test", bpf::refused_test());
  const auto loaded = object.load();
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message,
              AllOf(HasSubstr("BPF program refused_test: refused by the kernel's verifier"),
                    HasSubstr("invalid access to packet"), Not(HasSubstr("\n"))));
  EXPECT_THAT(object.log(), HasSubstr("BEGIN PROG LOAD LOG"));
}

TEST(BpfObjects, bytes_that_are_no_object_are_an_error) {
  const std::array<std::byte, 100> bytes{};
  EXPECT_THAT(message(BpfObject::open("nonsense", bytes)), HasSubstr("nonsense: cannot be opened"));
}

// Runs `what` in a child process without any privilege, and gives what it returns.
std::string as_nobody(const std::function<std::string()>& what) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string text = "no privilege could be dropped";
    if (::setgroups(0, nullptr) == 0 && ::setresgid(65534, 65534, 65534) == 0 &&
        ::setresuid(65534, 65534, 65534) == 0) {
      text = what();
    }
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

TEST_F(Bpf, without_privileges_the_error_names_the_remedy) {
  const std::string text = as_nobody([] {
    BpfObject object = open("bpf_test", bpf::bpf_test());
    return message(object.load());
  });
  EXPECT_EQ(text,
            "BPF program bpf_test: not permitted; run as root, or with the capabilities "
            "CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON and CAP_IPC_LOCK");
}

TEST_F(Bpf, an_object_without_arrays_says_the_same_without_privileges) {
  const std::string text = as_nobody([] {
    BpfObject object = open("refused_test", bpf::refused_test());
    return message(object.load());
  });
  EXPECT_THAT(text, HasSubstr("not permitted; run as root"));
}

// Attaching.

class Attach : public Bpf {
 protected:
  void SetUp() override {
    Bpf::SetUp();
    if (IsSkipped()) {
      return;
    }
    object_ = std::make_unique<BpfObject>(open("bpf_test", bpf::bpf_test()));
    MUST(object_->resize(".bss.lines", 4096));
    MUST(object_->load());
    program_ = object_->program("pass").value();
  }

  std::unique_ptr<BpfObject> object_;
  int program_ = -1;
};

TEST_F(Attach, native_is_preferred_and_a_closed_link_leaves_nothing) {
  const VethPair veth({});
  const Interface interface = find_interface(VethPair::far).value();
  for (int i = 0; i < 3; i++) {
    const auto link = XdpLink::attach(program_, interface, Mode::automatic);
    MUST(link);
    EXPECT_EQ(link->mode(), Mode::native);
    EXPECT_THAT(link->note(), IsEmpty());
  }
}

TEST_F(Attach, generic_is_obtained_when_asked_for) {
  const VethPair veth({});
  const auto link = XdpLink::attach(program_, find_interface(VethPair::far).value(), Mode::generic);
  MUST(link);
  EXPECT_EQ(link->mode(), Mode::generic);
  EXPECT_EQ(link->note(), "generic XDP was asked for");
}

TEST_F(Attach, a_driver_that_refuses_native_is_used_in_generic_mode_and_its_reason_is_told) {
  const VethPair veth({.mtu = 9000});
  const Interface interface = find_interface(VethPair::far).value();
  {
    const auto link = XdpLink::attach(program_, interface, Mode::automatic);
    MUST(link);
    EXPECT_EQ(link->mode(), Mode::generic);
    EXPECT_THAT(link->note(), HasSubstr("the driver refused native: veth: Peer MTU is too large"));
  }
  EXPECT_THAT(message(XdpLink::attach(program_, interface, Mode::native)),
              AllOf(HasSubstr("interface far0: takes no native XDP program: veth: Peer MTU"),
                    HasSubstr("xdp_mode = \"auto\"")));
}

TEST_F(Attach, a_driver_without_native_xdp_is_used_in_generic_mode) {
  ASSERT_TRUE(VethPair::run("ip link add bridge0 type bridge"));
  const auto link = XdpLink::attach(program_, find_interface("bridge0").value(), Mode::automatic);
  MUST(link);
  EXPECT_EQ(link->mode(), Mode::generic);
  EXPECT_THAT(link->note(), HasSubstr("the driver refused native"));
}

TEST_F(Attach, a_second_program_is_refused_and_the_first_one_named) {
  const VethPair veth({});
  const Interface interface = find_interface(VethPair::far).value();
  for (const Mode first : {Mode::native, Mode::generic}) {
    const auto link = XdpLink::attach(program_, interface, first);
    MUST(link);
    for (const Mode second : {Mode::automatic, Mode::native, Mode::generic}) {
      EXPECT_THAT(message(XdpLink::attach(program_, interface, second)),
                  AllOf(HasSubstr("interface far0: has XDP program "), HasSubstr(") already"),
                        HasSubstr("stop its owner"), HasSubstr("bpftool link detach id "),
                        Not(HasSubstr("ip link set"))));
    }
  }
}

TEST_F(Attach, the_advice_about_a_program_that_no_link_holds_is_what_takes_it_off) {
  const VethPair veth({});
  const Interface interface = find_interface(VethPair::far).value();
  const auto index = static_cast<int>(interface.index);
  for (const auto& [flag, off] :
       {std::pair(XDP_FLAGS_DRV_MODE, "ip link set dev far0 xdp off"),
        std::pair(XDP_FLAGS_SKB_MODE, "ip link set dev far0 xdpgeneric off")}) {
    ASSERT_EQ(bpf_xdp_attach(index, program_, flag, nullptr), 0);
    EXPECT_THAT(message(XdpLink::attach(program_, interface, Mode::automatic)), HasSubstr(off));
    ASSERT_TRUE(VethPair::run(off));
    MUST(XdpLink::attach(program_, interface, Mode::automatic));
  }
}

TEST_F(Attach, an_interface_that_has_gone_is_said_to_be_gone) {
  const VethPair veth({});
  const Interface interface = find_interface(VethPair::far).value();
  ASSERT_TRUE(VethPair::run("ip link del near0"));
  EXPECT_THAT(message(XdpLink::attach(program_, interface, Mode::automatic)),
              HasSubstr("interface far0: does not exist"));
}

// Interfaces.

TEST_F(Bpf, an_interface_is_described_as_it_is_in_this_namespace) {
  const VethPair veth({.queues = 3, .mtu = 1700});
  const auto interface = find_interface(VethPair::far);
  MUST(interface);
  EXPECT_EQ(interface->name, "far0");
  EXPECT_EQ(interface->mtu, 1700u);
  EXPECT_EQ(interface->receive_queues, 3u);
  EXPECT_EQ(interface->mac, (std::array<uint8_t, 6>{2, 0, 0, 0, 0, 0xb}));
  EXPECT_GT(interface->index, 0u);
  EXPECT_TRUE(interface->up);
}

TEST_F(Bpf, a_driver_that_tells_no_queues_has_one) {
  ASSERT_TRUE(VethPair::run("ip link add bridge0 type bridge"));
  const auto interface = find_interface("bridge0");
  MUST(interface);
  EXPECT_EQ(interface->receive_queues, 1u);
  EXPECT_FALSE(interface->up);
}

TEST(Interfaces, one_that_does_not_exist_is_an_error_with_a_remedy) {
  EXPECT_EQ(message(find_interface("nosuch0")),
            "interface nosuch0: does not exist; `ip link` lists those that do");
  EXPECT_THAT(message(find_interface("")), HasSubstr("does not exist"));
  EXPECT_THAT(message(find_interface(std::string(40, 'x'))), HasSubstr("does not exist"));
}

TEST(Interfaces, one_that_is_not_ethernet_is_refused) {
  EXPECT_THAT(message(find_interface("lo")), HasSubstr("interface lo: is not Ethernet"));
}

}  // namespace
}  // namespace fairlead::engine
