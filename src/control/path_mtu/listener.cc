// SPDX-License-Identifier: MIT
#include "control/path_mtu/listener.h"

#include <fmt/format.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "control/limits.h"

namespace fairlead::path_mtu {
namespace {

using core::Family;

Fd open_icmp() {
  Fd socket(::socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMP));
  const icmp_filter filter{.data = ~(1u << ICMP_DEST_UNREACH)};
  if (socket && ::setsockopt(socket.get(), SOL_RAW, ICMP_FILTER, &filter, sizeof filter) != 0) {
    socket.reset();
  }
  return socket;
}

Fd open_icmpv6() {
  Fd socket(::socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6));
  icmp6_filter filter;
  ICMP6_FILTER_SETBLOCKALL(&filter);
  ICMP6_FILTER_SETPASS(ICMP6_PACKET_TOO_BIG, &filter);
  if (socket &&
      ::setsockopt(socket.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) != 0) {
    socket.reset();
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(boost::asio::io_context& loop, Family family,
                                                 Heard heard) {
  const bool v6 = family == Family::v6;
  Fd socket = v6 ? open_icmpv6() : open_icmp();
  const char* name = v6 ? "ICMPv6" : "ICMP";
  if (!socket) {
    return failure(
        fmt::format("no {} socket: {}; it needs CAP_NET_RAW", name, std::strerror(errno)));
  }
  std::unique_ptr<Listener> listener(new Listener(loop, family, std::move(heard)));
  boost::system::error_code error;
  listener->socket_.assign(socket.release(), error);
  if (error) return failure(fmt::format("{} socket: {}", name, error.message()));
  listener->wait();
  return listener;
}

Listener::Listener(boost::asio::io_context& loop, Family family, Heard heard)
    : family_(family), socket_(loop), timer_(loop), heard_(std::move(heard)) {}

void Listener::wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code error) {
                       if (error) return;
                       for (uint32_t i = 0; i < limits::at_once; i++) {
                         if (!receive()) return wait();
                       }
                       rest();
                     });
}

void Listener::rest() {
  timer_.expires_after(limits::rest);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) wait();
  });
}

bool Listener::receive() {
  sockaddr_in6 sender{};
  socklen_t size = sizeof sender;
  const ssize_t length = ::recvfrom(socket_.native_handle(), buffer_.data(), buffer_.size(),
                                    MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&sender), &size);
  if (length < 0) return errno == EINTR;
  const std::span<const uint8_t> bytes(buffer_.data(), static_cast<size_t>(length));
  std::optional<TooBig> message;
  if (family_ == Family::v4) {
    message = read_icmp(bytes);
  } else {
    IpAddress from{.family = Family::v6};
    std::memcpy(from.bytes.word, &sender.sin6_addr, sizeof sender.sin6_addr);
    message = read_icmpv6(bytes, from);
  }
  if (message) heard_(*message);
  return true;
}

}  // namespace fairlead::path_mtu
