// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The core's Frame inside the kernel, for every XDP program that reads packets with the core; and
// the function that reads IPv6 extensions apart (core/path/concepts.h says why). For BPF sources
// only.
#pragma once

#include "bpf/helpers.h"
#include "core/path/admit.h"

namespace fairlead::bpf {

struct XdpFrame {
  using Handle = xdp_md*;

  explicit XdpFrame(xdp_md* context) : context_(context) { find(); }
  Handle handle() const { return context_; }
  // Jumbo frames come in several buffers, of which only the first can be read here. No driver cuts
  // a frame that fits into 1,536 bytes, so the usual ones do not pay for the call.
  core::u32 length() const {
    const auto first = static_cast<core::u32>(end_ - data_);
    return first < 1536 ? first : static_cast<core::u32>(xdp_get_buff_len(context_));
  }

  template <class Header>
  Header* at(core::u32 offset) const {
    if (!__builtin_constant_p(offset)) {
      BPF_BARRIER(offset);  // else clang drops a mask that the verifier needs to see
      offset &= 0x7fff;
    }
    core::u8* header = data_ + offset;
    BPF_BARRIER(header);  // else clang checks one register and reads through another
    if (header + sizeof(Header) > end_) return nullptr;
    return reinterpret_cast<Header*>(header);
  }

  bool grow(core::u32 bytes) {
    if (xdp_adjust_head(context_, -static_cast<int>(bytes)) != 0) return false;
    find();
    return true;
  }

 private:
  void find() {
    data_ = reinterpret_cast<core::u8*>(static_cast<core::u64>(context_->data));
    end_ = reinterpret_cast<core::u8*>(static_cast<core::u64>(context_->data_end));
  }

  xdp_md* context_;
  core::u8* data_;
  core::u8* end_;
};
static_assert(core::Frame<XdpFrame>);

}  // namespace fairlead::bpf

extern "C" {

[[gnu::noinline]] fairlead::core::u64 walk_extensions_apart(xdp_md* context,
                                                            fairlead::core::u32 next,
                                                            fairlead::core::u32 at,
                                                            fairlead::core::u32 end,
                                                            fairlead::core::be32* id) {
  using namespace fairlead;
  if (!context || !id) return core::admit_detail::Chain::broken;
  return core::admit_detail::walk_extensions(bpf::XdpFrame(context), next, at, end, *id);
}

}  // extern "C"
