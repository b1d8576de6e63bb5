// SPDX-License-Identifier: MIT OR GPL-2.0-only
// For afxdp_test.cc: every frame goes to the socket of its queue, or to the host where there is
// none.
#include "bpf/helpers.h"

extern "C" {

struct sockets_map {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __uint(max_entries, 64);
  __type(key, __u32);
  __type(value, __u32);
} sockets SEC(".maps");

SEC("xdp") int to_socket(xdp_md* context) {
  return static_cast<int>(fairlead::bpf::redirect_map(&sockets, context->rx_queue_index, XDP_PASS));
}
}

BPF_LICENSE("Dual MIT/GPL");
