// SPDX-License-Identifier: MIT
// Waiting for the programs in the kernel.
#pragma once

namespace fairlead::engine {

// Returns when every CPU has left what it was doing in the kernel (RCU): no BPF program that saw
// what was replaced is running any more. Some milliseconds; 100 on kernels with nohz_full CPUs,
// which do not offer that: no program runs for as long.
void wait_for_kernel();

}  // namespace fairlead::engine
