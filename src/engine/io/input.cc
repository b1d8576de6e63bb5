// SPDX-License-Identifier: MIT
// Input: see input.h.
#include "engine/io/input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace fairlead::engine {

Input::Input(Fd fd) : fd_(std::move(fd)), buffer_(largest_look) {}

Input::Input(std::span<const std::byte> memory) : ready_(memory), ended_(true) {}

std::span<const std::byte> Input::look(size_t wanted) {
  check(wanted <= largest_look, "look at {} bytes of at most {}", wanted, largest_look);
  if (ready_.size() < wanted) {
    fill(wanted);
  }
  return ready_;
}

bool Input::skip(uint64_t count) {
  while (count > ready_.size()) {
    count -= ready_.size();
    offset_ += ready_.size();
    ready_ = {};
    fill(1);
    if (ready_.empty()) {
      return false;
    }
  }
  offset_ += count;
  ready_ = ready_.subspan(static_cast<size_t>(count));
  return true;
}

void Input::fill(size_t wanted) {
  if (ended_) {
    return;
  }
  if (!ready_.empty()) {
    std::memmove(buffer_.data(), ready_.data(), ready_.size());
  }
  size_t have = ready_.size();
  while (have < wanted) {
    const ssize_t got = ::read(fd_.get(), buffer_.data() + have, buffer_.size() - have);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      error_ = got < 0 ? errno : 0;
      ended_ = true;
      break;
    }
    have += static_cast<size_t>(got);
  }
  ready_ = std::span(buffer_).first(have);
}

}  // namespace fairlead::engine
