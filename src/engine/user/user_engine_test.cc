// SPDX-License-Identifier: MIT
// The user engine on a veth pair: real frames, the real stub, real sockets.
#include "engine/user/user_engine.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/bpf/veth_pair.h"
#include "engine/samples.h"

namespace fairlead::user {
namespace {

namespace samples = engine::samples;
using core::Reason;
using engine::Mode;
using engine::VethPair;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr auto soon = 2s;        // for what must come
constexpr auto a_while = 200ms;  // for what must not come

std::string message(const auto& result) { return result ? "" : result.error().message; }

engine::Options options_for(Mode mode) {
  engine::Options options;
  options.interface = VethPair::far;
  options.mode = mode;
  options.capacity = {.rows = 256,
                      .tables = 16,
                      .slots = 1u << 18,
                      .backends = 64,
                      .services = 16,
                      .narrow_lines = 1024,
                      .wide_lines = 1024};
  return options;
}

std::unique_ptr<engine::Engine> start(const engine::Options& options) {
  auto made = make(options);
  EXPECT_TRUE(made) << message(made);
  return made ? std::move(*made) : nullptr;
}

VethPair::Frame bytes_of(const std::vector<uint8_t>& frame) {
  const auto bytes = std::as_bytes(std::span(frame));
  return {bytes.begin(), bytes.end()};
}
uint8_t at(const VethPair::Frame& frame, size_t index) {
  return static_cast<uint8_t>(frame.at(index));
}

class UserEngine : public ::testing::TestWithParam<Mode> {
 protected:
  void SetUp() override { FAIRLEAD_NEEDS_NETWORK(); }
};
INSTANTIATE_TEST_SUITE_P(, UserEngine, ::testing::Values(Mode::native, Mode::generic),
                         [](const auto& which) {
                           return which.param == Mode::native ? "native" : "generic";
                         });

uint64_t count(const engine::Engine& engine, Reason reason) {
  return engine.counters().total.reason[static_cast<size_t>(reason)];
}

TEST_P(UserEngine, a_syn_to_a_vip_comes_back_in_gre_to_the_gateway) {
  VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  ASSERT_TRUE(engine->publish(samples::snapshot()));
  for (const auto& [sample, inner] : {std::pair{samples::tcp_v4(samples::Flags::syn), 0x0800},
                                      std::pair{samples::tcp_v6(samples::Flags::syn), 0x86dd}}) {
    veth.send(bytes_of(sample.frame));
    const auto out = veth.receive(1, soon);
    ASSERT_EQ(out.size(), 1u);
    ASSERT_EQ(out[0].size(), sample.frame.size() + 24);
    const std::array<uint8_t, 14> link{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0};
    EXPECT_EQ(0, std::memcmp(out[0].data(), link.data(), link.size()));
    EXPECT_EQ(at(out[0], 23), 47) << "GRE";
    EXPECT_EQ(at(out[0], 36) << 8 | at(out[0], 37), inner);
    EXPECT_EQ(0,
              std::memcmp(out[0].data() + 38, sample.frame.data() + 14, sample.frame.size() - 14))
        << "the packet inside is unchanged";
  }
  EXPECT_EQ(count(*engine, Reason::fresh), 2u);
  EXPECT_EQ(engine->counters().worker_packets, std::vector<uint64_t>{2});
}

TEST_P(UserEngine, packets_of_one_flow_go_to_one_backend) {
  VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  ASSERT_TRUE(engine->publish(samples::snapshot()));
  veth.send(bytes_of(samples::tcp_v4(samples::Flags::syn).frame));
  for (int i = 0; i < 9; i++) veth.send(bytes_of(samples::tcp_v4(samples::Flags::ack).frame));
  const auto out = veth.receive(10, soon);
  ASSERT_EQ(out.size(), 10u);
  for (const auto& frame : out) EXPECT_EQ(0, std::memcmp(frame.data(), out[0].data(), 38));
  EXPECT_EQ(count(*engine, Reason::fresh), 1u);
  EXPECT_EQ(count(*engine, Reason::known), 9u);
}

// An ARP request from `near`, for the far end's address 10.9.0.2.
VethPair::Frame arp_request() {
  return bytes_of({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0,  0xa, 8, 6,
                   0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,  0,   0, 0xa,
                   10,   9,    0,    1,    0,    0,    0, 0, 0, 0, 10, 9,   0, 2});
}

TEST_P(UserEngine, arp_and_traffic_of_the_host_stay_with_the_host) {
  VethPair veth({});
  ASSERT_TRUE(VethPair::run("ip address add 10.9.0.2/24 dev far0"));
  const auto engine = start(options_for(GetParam()));
  for (const bool published : {false, true}) {
    if (published) {
      ASSERT_TRUE(engine->publish(samples::snapshot()));
    }
    veth.send(arp_request());
    const auto answer = veth.receive(1, soon);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_EQ(at(answer[0], 13), 6) << "ARP";
    EXPECT_EQ(at(answer[0], 21), 2) << "a reply";

    // UDP from 10.9.0.1 to a socket of this host.
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(4242)};
    inet_pton(AF_INET, "10.9.0.2", &address.sin_addr);
    ASSERT_EQ(0, ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address));
    const timeval patience{.tv_sec = 2, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    veth.send(bytes_of({2, 0,  0, 0, 0,    0xb,  2,  0,  0,    0,    0,   0xa, 8,   0,  0x45, 0,
                        0, 32, 0, 1, 0,    0,    64, 17, 0x66, 0xb8, 10,  9,   0,   1,  10,   9,
                        0, 2,  1, 1, 0x10, 0x92, 0,  12, 0,    0,    'p', 'i', 'n', 'g'}));
    std::array<char, 100> text{};
    EXPECT_EQ(::recv(socket, text.data(), text.size(), 0), 4);
    EXPECT_STREQ(text.data(), "ping");
    ::close(socket);
  }
  EXPECT_EQ(engine->counters().worker_packets, std::vector<uint64_t>{0});
}

TEST_P(UserEngine, what_is_dropped_is_counted_and_nothing_comes_back) {
  VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  ASSERT_TRUE(engine->publish(samples::snapshot()));
  auto no_service = samples::tcp_v4(samples::Flags::syn).frame;
  no_service[37] = 81;
  veth.send(bytes_of(no_service));
  EXPECT_THAT(veth.receive(1, a_while), IsEmpty());
  EXPECT_EQ(count(*engine, Reason::no_service), 1u);
}

TEST_P(UserEngine, tables_are_exchanged_while_packets_flow) {
  VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  auto without = std::make_shared<tables::Snapshot>(*samples::snapshot());
  without->vips.pop_back();  // the IPv6 VIP and its services
  std::erase_if(without->services, [](const auto& service) { return service.vip == 1; });
  const auto v4 = bytes_of(samples::tcp_v4(samples::Flags::syn).frame);
  const auto v6 = bytes_of(samples::tcp_v6(samples::Flags::syn).frame);
  for (int i = 0; i < 5; i++) {
    ASSERT_TRUE(engine->publish(samples::snapshot()));
    veth.send(v4);
    veth.send(v6);
    EXPECT_EQ(veth.receive(2, soon).size(), 2u);
    ASSERT_TRUE(engine->publish(without));
    veth.send(v6);
    veth.send(v4);
    const auto out = veth.receive(1, soon);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(at(out[0], 37), 0) << "IPv4 inside";
  }
  EXPECT_THAT(veth.receive(1, a_while), IsEmpty());
}

TEST_P(UserEngine, a_backend_that_goes_down_gets_no_packet_more) {
  VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  ASSERT_TRUE(engine->publish(samples::snapshot()));
  const auto syn = bytes_of(samples::tcp_v4(samples::Flags::syn).frame);
  veth.send(syn);
  const auto before = veth.receive(1, soon);
  ASSERT_EQ(before.size(), 1u);
  const uint32_t member = at(before[0], 33) - 1u;  // backends are 10.0.0.1 and up
  engine->set_flags(0, member, 0);
  veth.send(bytes_of(samples::tcp_v4(samples::Flags::ack).frame));
  const auto after = veth.receive(1, soon);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(at(after[0], 33), at(before[0], 33));
  EXPECT_EQ(count(*engine, Reason::repinned), 1u);
}

TEST_P(UserEngine, every_queue_has_a_worker) {
  VethPair veth({.queues = 2});
  const auto engine = start(options_for(GetParam()));
  ASSERT_TRUE(engine->publish(samples::snapshot()));
  EXPECT_EQ(engine->status().workers, 2u);
  auto sample = samples::tcp_v4(samples::Flags::syn);
  for (uint8_t i = 0; i < 64; i++) {
    sample.frame[sample.port_offset + 1] = i;
    veth.send(bytes_of(sample.frame));
  }
  EXPECT_EQ(veth.receive(64, soon).size(), 64u);
  const auto packets = engine->counters().worker_packets;
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0] + packets[1], 64u);
}

TEST_P(UserEngine, the_host_gets_everything_again_when_the_engine_is_gone) {
  VethPair veth({});
  ASSERT_TRUE(VethPair::run("ip address add 10.9.0.2/24 dev far0"));
  for (int i = 0; i < 3; i++) {
    const auto engine = start(options_for(GetParam()));
    ASSERT_TRUE(engine->publish(samples::snapshot()));
    veth.send(bytes_of(samples::tcp_v4(samples::Flags::syn).frame));
    ASSERT_EQ(veth.receive(1, soon).size(), 1u);
  }
  veth.send(bytes_of(samples::tcp_v4(samples::Flags::syn).frame));
  veth.send(arp_request());
  const auto out = veth.receive(2, a_while);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(at(out[0], 13), 6) << "ARP";
}

TEST_P(UserEngine, its_status_says_how_it_runs_and_why_not_better) {
  const VethPair veth({});
  const auto engine = start(options_for(GetParam()));
  const engine::Status status = engine->status();
  EXPECT_EQ(status.engine, "user");
  EXPECT_EQ(status.interface, "far0");
  EXPECT_EQ(status.mode, GetParam());
  EXPECT_FALSE(status.zero_copy) << "veth has none";
  EXPECT_EQ(status.workers, 1u);
  EXPECT_THAT(status.note, GetParam() == Mode::native ? HasSubstr("no zero-copy")
                                                      : HasSubstr("generic XDP was asked for"));
}

std::string name_of_thread(const std::string& id) {
  std::ifstream file("/proc/self/task/" + id + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

TEST_P(UserEngine, workers_are_named_and_run_where_they_are_told_to) {
  const VethPair veth({});
  auto options = options_for(GetParam());
  options.cpus = {0};
  const auto engine = start(options);
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename();
    if (name_of_thread(id) != "worker-0") continue;
    found = true;
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(0, ::sched_getaffinity(std::stoi(id), sizeof set, &set));
    EXPECT_EQ(CPU_COUNT(&set), 1);
    EXPECT_TRUE(CPU_ISSET(0, &set));
  }
  EXPECT_TRUE(found);
}

TEST_P(UserEngine, what_stands_in_the_way_is_told_in_one_line_with_the_remedy) {
  const VethPair veth({.queues = 2});
  auto options = options_for(GetParam());
  options.cpus = {0, 1000};
  EXPECT_THAT(message(make(options)), HasSubstr("cpu_affinity: worker 1 cannot run on CPU 1000"));
  options = options_for(GetParam());
  options.workers = 1;
  EXPECT_THAT(message(make(options)),
              AllOf(HasSubstr("interface far0: has 2 receive queues"),
                    HasSubstr("set num_threads = 0, or lower the queues with `ethtool -L far0")));
  options.interface = "nosuch0";
  EXPECT_THAT(message(make(options)), HasSubstr("interface nosuch0: does not exist"));
  options = options_for(GetParam());
  options.capacity.rows = 3u << 20;
  EXPECT_THAT(message(make(options)), HasSubstr("capacity of rows"));
  const auto engine = start(options_for(GetParam()));
  EXPECT_THAT(message(make(options_for(GetParam()))),
              HasSubstr("stop its owner (another fairlead?)"));
}

}  // namespace
}  // namespace fairlead::user
