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

// The errno at the head of a message that ends an answer, or 0.
int errno_in(const nlmsghdr& message) {
  int error = 0;
  if (mnl_nlmsg_get_payload_len(&message) >= sizeof error) {
    std::memcpy(&error, mnl_nlmsg_get_payload(&message), sizeof error);
  }
  return error < 0 ? -error : 0;
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
  return Netlink(std::move(socket));
}

Netlink::Netlink(Fd socket) : socket_(std::move(socket)) {
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
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
  bool interrupted = false;
  for (;;) {
    const ssize_t bytes = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return failure(fmt::format("netlink: {}: {}", what, std::strerror(errno)));
    if (bytes == 0) return failure(fmt::format("netlink: {}: the socket was closed", what));
    int left = static_cast<int>(bytes);
    const auto* message = reinterpret_cast<const nlmsghdr*>(buffer_.data());
    for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_seq != sequence_) continue;  // of an answer that was given up
      // Read to its end all the same: the kernel makes one dump of a socket at a time.
      interrupted |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
      if (message->nlmsg_type == NLMSG_ERROR) return errno_in(*message);
      if (message->nlmsg_type == NLMSG_DONE) {
        const int error = errno_in(*message);
        return error == 0 && interrupted ? EINTR : error;
      }
      if (message->nlmsg_type >= NLMSG_MIN_TYPE && each) each(*message);
    }
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
