// SPDX-License-Identifier: MIT
// VethPair: see veth_pair.h.
#include "engine/bpf/veth_pair.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace fairlead::engine {
namespace {

void must(bool done, const std::string& what) {
  if (!done) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
  }
}

}  // namespace

std::optional<std::string> VethPair::unavailable() {
  if (::geteuid() != 0) {
    return "needs root, to make a network namespace";
  }
  if (::unshare(CLONE_NEWNET) != 0) {
    return fmt::format("no network namespace can be made: {}", std::strerror(errno));
  }
  return std::nullopt;
}

bool VethPair::run(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    return false;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

VethPair::VethPair(Options options) {
  must(::unshare(CLONE_NEWNET) == 0, "unshare");
  const std::string queues =
      fmt::format("numtxqueues {} numrxqueues {}", options.queues, options.queues);
  for (const std::string& command :
       {std::string("ip link set lo up"),
        fmt::format(
            "ip link add {} address {} mtu {} {} type veth peer name {} address {} mtu {} {}", near,
            near_mac, options.mtu, queues, far, far_mac, options.mtu, queues),
        // The kernel's own chatter (router solicitations, multicast reports) would be counted.
        fmt::format("ip link set {} addrgenmode none up", near),
        fmt::format("ip link set {} addrgenmode none up", far)}) {
    must(run(command), command);
  }
  socket_ = Fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL)));
  must(static_cast<bool>(socket_), "packet socket");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(near));
  must(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  const int room = 8 << 20;
  must(::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0, "buffer");
}

void VethPair::send(std::span<const std::byte> frame) {
  must(::send(socket_.get(), frame.data(), frame.size(), 0) == static_cast<ssize_t>(frame.size()),
       "send");
}

std::vector<VethPair::Frame> VethPair::receive(size_t count, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::vector<Frame> frames;
  while (frames.size() < count) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      break;
    }
    Frame frame(65'536);
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket_.get(), frame.data(), frame.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got >= 0 && from.sll_pkttype != PACKET_OUTGOING) {
      frame.resize(static_cast<size_t>(got));
      frames.push_back(std::move(frame));
    }
  }
  return frames;
}

}  // namespace fairlead::engine
