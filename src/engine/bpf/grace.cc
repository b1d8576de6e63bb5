// SPDX-License-Identifier: MIT
#include "engine/bpf/grace.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace fairlead::engine {

void wait_for_kernel() {
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0) ::nanosleep(&pause, nullptr);
}

}  // namespace fairlead::engine
