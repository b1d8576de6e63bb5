// SPDX-License-Identifier: MIT OR GPL-2.0-only
// What makes a program that changes its packet measurable. The kernel's test run repeats a program
// on one packet without putting it back, so that from the second pass on an encapsulating program
// sees its own output. This program is the one that is repeated: it moves the head back, writes the
// headers anew, makes the packet the next of N flows, and tail-calls the program in slot 0.
//
// The stores lie on field boundaries, and the locked add at the end drains the store buffer: what
// comes after reads settled lines, not what this wrapper left in flight.
#include "bpf/helpers.h"
#include "core/types.h"

namespace fairlead::xdp {

using namespace core;

extern "C" {

struct target_map {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
} target SEC(".maps");

// Set before load.
extern const volatile u32 packet_length = 64;
extern const volatile u32 flow_mask = 0;       // flows less one, a power of two less one
extern const volatile u32 source_offset = 26;  // of the word of the source address that varies
extern const volatile u32 port_offset = 34;    // of the source port
extern const volatile u32 source_base = 0;     // host byte order
extern const volatile bool new_flows = false;  // each packet is of a flow never seen before

u8 packet_template[128] SEC(".bss.template");
u64 iteration SEC(".bss.iteration");
u64 fence SEC(".bss.fence");

}  // extern "C"

template <class T>
FAIRLEAD_INLINE void copy(u8* packet, u32 at) {
  *reinterpret_cast<volatile T*>(packet + at) =
      *reinterpret_cast<volatile T*>(packet_template + at);
}

template <u32 headers>
FAIRLEAD_INLINE int restore(xdp_md* context) {
  long length = static_cast<long>(context->data_end) - static_cast<long>(context->data);
  BPF_BARRIER(length);  // else clang subtracts the halves of pointers
  const int moved = static_cast<int>(length) - static_cast<int>(packet_length);
  if (bpf::xdp_adjust_head(context, moved) != 0) return XDP_ABORTED;
  u8* packet = reinterpret_cast<u8*>(static_cast<u64>(context->data));
  u8* end = reinterpret_cast<u8*>(static_cast<u64>(context->data_end));
  if (packet + headers > end) return XDP_ABORTED;
  copy<u32>(packet, 0);
  copy<u16>(packet, 4);
  copy<u32>(packet, 6);
  copy<u16>(packet, 10);
  copy<u16>(packet, 12);
#pragma unroll
  for (u32 at = 14; at + 4 <= headers; at += 4) copy<u32>(packet, at);
  const u64 i = iteration;
  iteration = i + 1;
  // An odd factor: all flows once per round, in scattered order.
  const u32 flow = new_flows ? static_cast<u32>(i) : static_cast<u32>(i) * 2654435761u & flow_mask;
  if (new_flows || flow_mask != 0) {
    *reinterpret_cast<volatile u32*>(packet + source_offset) = swap32(source_base + (flow >> 14));
    *reinterpret_cast<volatile u16*>(packet + port_offset) =
        swap16(static_cast<u16>(1024 + (flow & 0x3fff)));
  }
  __sync_fetch_and_add(&fence, 1);
  bpf::tail_call(context, &target, 0);
  return XDP_ABORTED;
}

extern "C" {
SEC("xdp.frags") int restore_v4(xdp_md* context) { return restore<62>(context); }
SEC("xdp.frags") int restore_v6(xdp_md* context) { return restore<78>(context); }

// What is measured beside the real program.
SEC("xdp.frags") int nothing([[maybe_unused]] xdp_md* context) { return XDP_TX; }
SEC("xdp.frags") int move_head(xdp_md* context) {
  return bpf::xdp_adjust_head(context, -24) != 0 ? XDP_ABORTED : XDP_TX;
}
}

}  // namespace fairlead::xdp

BPF_LICENSE("Dual MIT/GPL");
