// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A program that the verifier must refuse: it reads the packet without looking where it ends.
#include "bpf/helpers.h"

extern "C" SEC("xdp") int refused(xdp_md* context) {
  return *reinterpret_cast<volatile __u32*>(static_cast<unsigned long>(context->data)) == 1
             ? XDP_DROP
             : XDP_PASS;
}

BPF_LICENSE("Dual MIT/GPL");
