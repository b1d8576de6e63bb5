// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The core's Tables and Frame inside the kernel.
#pragma once

#include "engine/xdp/maps.h"

namespace fairlead::xdp {

struct XdpTables {
  Tick tick;
  u32 generation;  // read once per packet
  u32 worker;

  Tick now() const { return tick; }
  const Settings& settings() const { return xdp::settings; }
  const PrefixLengths& prefixes() const { return xdp::settings.prefixes[generation & 1]; }
  const Row& row(u32 i) const { return rows[(i & rows_mask) + (generation & 1) * (rows_mask + 1)]; }
  TableRef table(u32 i) const { return tables[i & tables_mask]; }
  Slot slot(u32 i) const { return slots[i & slots_mask]; }
  const Backend& backend(u32 i) const { return backends[i & backends_mask]; }
  template <class Bucket>
  Bucket& line(u32 i) const {
    if constexpr (Same<Bucket, NarrowBucket>) {
      return narrow[(i & narrow_mask) + (worker & workers_mask) * (narrow_mask + 1)];
    } else {
      return wide[(i & wide_mask) + (worker & workers_mask) * (wide_mask + 1)];
    }
  }
  WorkerCounters& counters() const { return worker_counters[worker & workers_mask]; }
  BackendCounters& backend_counters(u32 i) const {
    return xdp::backend_counters[(i & backends_mask) +
                                 (worker & workers_mask) * (backends_mask + 1)];
  }
  ServiceCounters& service_counters(u32 i) const {
    return xdp::service_counters[(i & services_mask) +
                                 (worker & workers_mask) * (services_mask + 1)];
  }
};
static_assert(core::Tables<XdpTables>);

struct XdpFrame {
  using Handle = xdp_md*;

  explicit XdpFrame(xdp_md* context) : context_(context) { find(); }
  Handle handle() const { return context_; }
  u32 length() const { return static_cast<u32>(end_ - data_); }

  template <class Header>
  Header* at(u32 offset) const {
    if (!__builtin_constant_p(offset)) {
      BPF_BARRIER(offset);  // else clang drops a mask that the verifier needs to see
      offset &= 0x7fff;
    }
    u8* header = data_ + offset;
    BPF_BARRIER(header);  // else clang checks one register and reads through another
    if (header + sizeof(Header) > end_) return nullptr;
    return reinterpret_cast<Header*>(header);
  }

  bool grow(u32 bytes) {
    if (bpf::xdp_adjust_head(context_, -static_cast<int>(bytes)) != 0) return false;
    find();
    return true;
  }

 private:
  void find() {
    data_ = reinterpret_cast<u8*>(static_cast<u64>(context_->data));
    end_ = reinterpret_cast<u8*>(static_cast<u64>(context_->data_end));
  }

  xdp_md* context_;
  u8* data_;
  u8* end_;
};
static_assert(core::Frame<XdpFrame>);

}  // namespace fairlead::xdp
