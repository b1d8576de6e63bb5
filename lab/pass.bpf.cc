// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Lets everything pass. A veth can answer with XDP_TX only towards a peer that has an XDP program,
// so the router of the lab carries this one on its links to the nodes.
#include "bpf/helpers.h"

extern "C" SEC("xdp.frags") int pass(xdp_md*) { return XDP_PASS; }

BPF_LICENSE("Dual MIT/GPL");
