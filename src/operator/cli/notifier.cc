// SPDX-License-Identifier: MIT
#include "operator/cli/notifier.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace fairlead::cli {

Notifier::Notifier(boost::asio::io_context& loop) : timer_(loop) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  constexpr size_t most = sizeof(sockaddr_un::sun_path);
  if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= most) return;
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_) path_ = path;
}

void Notifier::tell(std::string state) {
  if (path_.empty()) return;
  if (waiting_.size() == most_waiting) waiting_.pop_front();
  waiting_.push_back(std::move(state));
  send();
}

void Notifier::send() {
  while (!waiting_.empty() && send_one(waiting_.front())) waiting_.pop_front();
  if (waiting_.empty()) return;
  timer_.expires_after(std::chrono::milliseconds(100));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) send();
  });
}

// False: its queue is full. Whoever does not listen at all is not told.
bool Notifier::send_one(const std::string& state) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  const ssize_t sent =
      ::sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL,
               static_cast<const sockaddr*>(static_cast<const void*>(&address)), size);
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

}  // namespace fairlead::cli
