// SPDX-License-Identifier: MIT
// What ThreadSanitizer need not tell of the packet path: by design the publisher and the readers of
// counters exchange single aligned words with it, without atomic types, which the core cannot have
// in the kernel. What keeps records whole is the order in which they are written
// (tables/publisher.h), and test_reader.h in tables checks that order with atomic reads.
//
// Include in one source of every program that publishes while a worker runs.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:fairlead::user::process_batch\n";
}
#endif
