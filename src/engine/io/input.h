// SPDX-License-Identifier: MIT
// Bytes of a capture, in order: from a file descriptor (regular files and pipes) through one buffer
// of fixed size, or straight from memory. Whoever reads asks for n bytes side by side, looks, and
// moves on. What a length inside the capture says never decides how much memory is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"

namespace fairlead::engine {

class Input {
 public:
  static constexpr size_t largest_look = 512 * 1024;

  explicit Input(Fd fd);
  explicit Input(std::span<const std::byte> memory);  // must outlive the Input

  // The next bytes, at least `wanted` of them (<= largest_look) unless the input ends before. They
  // stay valid until the next look() or skip(). Check error() when fewer came.
  std::span<const std::byte> look(size_t wanted);
  // Moves on by `count` bytes; false if the input ends before.
  bool skip(uint64_t count);

  uint64_t offset() const { return offset_; }  // of the next byte, from the start of the input
  int error() const { return error_; }         // errno of a failed read; 0: none

 private:
  void fill(size_t wanted);

  Fd fd_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> ready_;  // what was read and not yet moved past
  uint64_t offset_ = 0;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace fairlead::engine
