// SPDX-License-Identifier: MIT
// What `setup` changed on this host, so that `remove` puts back exactly that. It lies under /run,
// as everything it speaks of is gone after a reboot, too. A change is written down before it is
// made: one that is written down but was not made is undone without effect.
//
// The file, one fact a line:
//   fairlead-backend 1
//   interface eth0                               (once setup has been given one)
//   bpffs
//   address 198.51.100.10
//   sysctl net.ipv4.conf.all.arp_ignore 0 1        (before, after)
#pragma once

#include <string>
#include <vector>

#include "backend/records.h"
#include "base/fd.h"
#include "base/result.h"

namespace fairlead::backend {

struct Changes {
  struct Sysctl {
    std::string name;
    int before, after;
  };

  std::string interface;
  bool mounted_bpffs = false;
  std::vector<VipKey> addresses;
  std::vector<Sysctl> sysctls;

  // No file: no changes.
  static Result<Changes> read(const std::string& folder);
  // Replaces the file in one step, makes the folder when needed.
  Result<void> write(const std::string& folder) const;
  static Result<void> forget(const std::string& folder);
};

// Held while one process looks at or changes the host; waits at most 10 s for the other. An error
// when this is not root. Locks the parent of `folder`.
Result<Fd> lock_host(const std::string& folder);

}  // namespace fairlead::backend
