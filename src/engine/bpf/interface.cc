// SPDX-License-Identifier: MIT
// find_interface(): see interface.h. Queues are told by ethtool: its channels, else the rings of
// receive hashing; a driver that has neither has one queue.
#include "engine/bpf/interface.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "core/limits.h"

namespace fairlead::engine {
namespace {

class Question {
 public:
  Question(int socket, const std::string& name) : socket_(socket) {
    std::memcpy(request_.ifr_name, name.data(), name.size());
  }
  bool ask(unsigned long what) { return ::ioctl(socket_, what, &request_) == 0; }
  template <class T>
  bool ethtool(T& command) {
    request_.ifr_data = reinterpret_cast<char*>(&command);
    return ask(SIOCETHTOOL);
  }
  const ifreq& answer() const { return request_; }

 private:
  int socket_;
  ifreq request_{};
};

uint32_t receive_queues(int socket, const std::string& name) {
  ethtool_channels channels{.cmd = ETHTOOL_GCHANNELS};
  if (Question(socket, name).ethtool(channels)) {
    return std::max(channels.combined_count + channels.rx_count, 1u);
  }
  ethtool_rxnfc rings{.cmd = ETHTOOL_GRXRINGS};
  if (Question(socket, name).ethtool(rings)) {
    return std::clamp<uint32_t>(static_cast<uint32_t>(rings.data), 1, 4096);
  }
  return 1;
}

}  // namespace

Result<Interface> find_interface(const std::string& name) {
  const auto missing = [&] {
    return failure(
        fmt::format("interface {}: does not exist; `ip link` lists those that do", name));
  };
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return missing();
  }
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) {
    return failure(fmt::format("interface {}: no socket to ask the kernel with: {}", name,
                               std::strerror(errno)));
  }
  Interface found{.name = name};
  Question question(socket.get(), name);
  if (!question.ask(SIOCGIFINDEX)) {
    if (errno == ENODEV) {
      return missing();
    }
    return failure(fmt::format("interface {}: {}", name, std::strerror(errno)));
  }
  found.index = static_cast<uint32_t>(question.answer().ifr_ifindex);
  if (Question flags(socket.get(), name); flags.ask(SIOCGIFFLAGS)) {
    found.up = (flags.answer().ifr_flags & IFF_UP) != 0;
    found.running = (flags.answer().ifr_flags & IFF_RUNNING) != 0;
  }
  if (Question mtu(socket.get(), name); mtu.ask(SIOCGIFMTU)) {
    found.mtu = static_cast<uint32_t>(mtu.answer().ifr_mtu);
  }
  if (Question mac(socket.get(), name); mac.ask(SIOCGIFHWADDR)) {
    if (mac.answer().ifr_hwaddr.sa_family != ARPHRD_ETHER) {
      return failure(
          fmt::format("interface {}: is not Ethernet (type {}); Fairlead forwards on "
                      "Ethernet interfaces",
                      name, mac.answer().ifr_hwaddr.sa_family));
    }
    std::memcpy(found.mac.data(), mac.answer().ifr_hwaddr.sa_data, found.mac.size());
  }
  found.receive_queues = receive_queues(socket.get(), name);
  return found;
}

Result<uint32_t> served_queues(const Interface& interface) {
  constexpr uint32_t most = core::limits::workers;
  if (interface.receive_queues > most) {
    return failure(
        fmt::format("interface {}: has {} receive queues, and at most {} can be served; "
                    "lower them with `ethtool -L {} combined {}`",
                    interface.name, interface.receive_queues, most, interface.name, most));
  }
  return std::max(interface.receive_queues, 1u);
}

}  // namespace fairlead::engine
