// SPDX-License-Identifier: MIT
// A backend host as a whole: everything that must be so for a tunnelled packet to reach a server
// that listens on the VIP, and for the answer to leave with the VIP as its source. setup() brings
// it about, check() looks at each link of the chain, remove() puts back what setup() changed.
//
// The order of setup matters: first the program, whose VIP map is still empty, because that is what
// a kernel may refuse; the sysctls before the address, or the host would answer ARP for the VIP for
// a moment and take it away from the balancers; the address before the entry in the map, or packets
// would be decapsulated for a host that does not know them. remove() goes the other way. A first
// setup that fails leaves nothing behind. Each may be repeated, and setup may be given further VIPs
// later. One process at a time: a lock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/decap.h"
#include "backend/records.h"
#include "base/result.h"

namespace fairlead::backend {

struct Folders {
  std::string bpffs = "/sys/fs/bpf";
  std::string state = "/run/fairlead-backend";

  std::string pins() const { return bpffs + "/fairlead-backend"; }
};

struct SetupDone {
  XdpMode mode;
  std::string why_generic;           // empty in native mode, or when it was attached before
  std::vector<std::string> changed;  // one sentence each; empty when all was so already
};
Result<SetupDone> setup(const std::string& interface, const std::vector<VipKey>& vips,
                        const Folders& folders = {});

// One link of the chain. `remedy` is empty when it is ok.
struct Finding {
  std::string name, detail, remedy;

  bool ok() const { return remedy.empty(); }
};

struct CheckDone {
  std::vector<Finding> findings;
  std::optional<PacketCounts> packets;

  bool ok() const;
};
// No VIPs: those that setup was given. No interface: the one that setup was given.
Result<CheckDone> check(const std::string& interface, const std::vector<VipKey>& vips,
                        const Folders& folders = {});

// Returns one sentence for each thing undone or left alone. Some VIPs: only they go.
Result<std::vector<std::string>> remove(const std::vector<VipKey>& vips,
                                        const Folders& folders = {});

}  // namespace fairlead::backend
