// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Programs for bpf_test.cc: what the loader has to cope with, as small as it gets.
#include "bpf/helpers.h"

struct alignas(64) Line {
  __u64 hits;
  __u64 spare[7];
};

extern "C" {

extern const volatile __u32 line_mask;
const volatile __u32 line_mask = 0;
extern const volatile __u64 step;
const volatile __u64 step = 1;

Line lines[1 << 20] SEC(".bss.lines");
__u64 long_named_counter[8] SEC(".bss.long_name_of_an_array");

SEC("xdp") int count(xdp_md* context) {
  __u32 index = static_cast<__u32>(context->data_end - context->data) & line_mask;
  BPF_BARRIER(index);
  if (index <= line_mask) lines[index].hits += step;
  long_named_counter[1]++;
  return XDP_DROP;
}

SEC("xdp") int pass([[maybe_unused]] xdp_md* context) { return XDP_PASS; }
}

BPF_LICENSE("Dual MIT/GPL");
