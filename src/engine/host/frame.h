// SPDX-License-Identifier: MIT
// The core's Frame in user space: a frame that a queue lent, changed in place.
#pragma once

#include "core/path/concepts.h"
#include "engine/io/frame_queue.h"

namespace fairlead::host {

class Frame {
 public:
  using Handle = const Frame*;

  explicit Frame(engine::HeldFrame* held) : held_(held) {}
  explicit Frame(Handle other) : held_(other->held_) {}

  Handle handle() const { return this; }
  core::u32 length() const { return held_->length; }

  template <class Header>
  Header* at(core::u32 offset) const {
    if (offset + sizeof(Header) > held_->length) return nullptr;
    return reinterpret_cast<Header*>(held_->data + offset);
  }

  bool grow(core::u32 bytes) {
    if (held_->room < bytes) return false;
    held_->data -= bytes;
    held_->room -= bytes;
    held_->length += bytes;
    return true;
  }

 private:
  engine::HeldFrame* held_;
};
static_assert(core::Frame<Frame>);

}  // namespace fairlead::host
