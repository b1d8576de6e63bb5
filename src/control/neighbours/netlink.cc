// SPDX-License-Identifier: MIT
#include "control/neighbours/netlink.h"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

namespace fairlead::neighbours {
namespace {

constexpr timeval patience{.tv_sec = 2, .tv_usec = 0};  // should the kernel never answer

struct Reader {
  const std::function<void(const nlmsghdr&)>& each;
};

int take(const nlmsghdr* message, void* data) {
  const auto& reader = *static_cast<Reader*>(data);
  if (reader.each) reader.each(*message);
  return MNL_CB_OK;
}

}  // namespace

Result<Netlink> Netlink::open(uint32_t groups) {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return failure(fmt::format("no netlink socket to ask the kernel for routes and neighbours: {}",
                               std::strerror(errno)));
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return Netlink(std::move(socket));
}

Result<int> Netlink::ask(nlmsghdr* request, std::string_view what,
                         const std::function<void(const nlmsghdr&)>& each) {
  request->nlmsg_seq = ++sequence_;
  request->nlmsg_flags |= NLM_F_REQUEST;
  // A request for one object is answered by it alone unless an acknowledgement is asked for.
  if ((request->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP) request->nlmsg_flags |= NLM_F_ACK;
  if (::send(socket_.get(), request, request->nlmsg_len, 0) < 0) {
    return failure(fmt::format("netlink: {}: {}", what, std::strerror(errno)));
  }
  Reader reader{each};
  for (;;) {
    const ssize_t bytes = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failure(fmt::format("netlink: {}: {}", what, std::strerror(errno)));
    const auto* first = reinterpret_cast<const nlmsghdr*>(buffer_.data());
    if (first->nlmsg_seq != sequence_) continue;  // the rest of an answer that was given up
    const int state =
        mnl_cb_run(buffer_.data(), static_cast<size_t>(bytes), sequence_, 0, take, &reader);
    if (state == MNL_CB_STOP) return 0;
    if (state < 0) return errno;
  }
}

bool Netlink::drain() {
  bool any = false;
  for (;;) {
    const ssize_t bytes = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (bytes < 0 && (errno == EINTR || errno == ENOBUFS)) {
      any = true;
      continue;
    }
    if (bytes <= 0) return any;
    any = true;
  }
}

}  // namespace fairlead::neighbours
