// SPDX-License-Identifier: MIT
// Fd owns a file descriptor: closed once, by whoever holds it last. It may be moved between
// threads, not used by two at once.
#pragma once

#include <unistd.h>

#include <utility>

namespace fairlead {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}  // takes ownership; a negative one is no descriptor
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset(other.release());
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }  // -1 when it holds none
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (const int old = std::exchange(fd_, fd); old >= 0) {
      ::close(old);
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace fairlead
