// SPDX-License-Identifier: MIT
#include "base/line_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>

namespace fairlead {

LineWriter::LineWriter(int fd) : fd_(fd) {
  struct stat about{};
  if (::fstat(fd, &about) != 0) return;
  socket_ = S_ISSOCK(about.st_mode);
  if (!S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode)) return;
  own_.reset(::open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (own_) fd_ = own_.get();
}

bool LineWriter::write(std::string_view line) {
  if (!finish()) return false;
  const ssize_t done = write_some(line);
  if (done <= 0) return false;
  rest_ = line.substr(static_cast<size_t>(done));
  finish();
  return true;
}

bool LineWriter::finish() {
  while (!rest_.empty()) {
    const ssize_t done = write_some(rest_);
    if (done <= 0) return false;
    rest_.erase(0, static_cast<size_t>(done));
  }
  return true;
}

// Where the descriptor is shared, because it could not be opened again: a pipe that is ready takes
// PIPE_BUF bytes at once. A file always is.
ssize_t LineWriter::write_some(std::string_view bytes) {
  if (!own_ && !socket_) {
    pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) != 1) return -1;
    bytes = bytes.substr(0, PIPE_BUF);
  }
  ssize_t done = 0;
  do {
    done = socket_ ? ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                   : ::write(fd_, bytes.data(), bytes.size());
  } while (done < 0 && errno == EINTR);
  return done;
}

}  // namespace fairlead
