// SPDX-License-Identifier: MIT
// Decap owns the decapsulation program (decap.bpf.cc) from the host's side: loads it, fills its VIP
// map, reads its counters, attaches it to an interface. Pinned in a folder of a bpffs, program and
// maps outlive the process; the next one finds them there, so that loading again (a newer version,
// say) exchanges the program in one step, under traffic, and forgets neither VIPs nor counts.
//
// One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/records.h"
#include "base/fd.h"
#include "base/result.h"

struct bpf_object;

namespace fairlead::backend {

enum class XdpMode { native, generic };

constexpr const char* name_of(XdpMode mode) {
  return mode == XdpMode::native ? "native" : "generic";
}

using PacketCounts = std::array<std::uint64_t, outcome_count>;  // by Outcome, all CPUs together

// Where a program is attached.
struct Attachment {
  unsigned ifindex;
  XdpMode mode;
};

class Decap {
 public:
  // Loads program and maps, pinned in `folder` on a bpffs; maps already pinned there are used on.
  // An empty folder: private to this object, for tests.
  static Result<Decap> load(const std::string& folder);

  // The maps and the attachment that are pinned in `folder`; nothing when there are none. It has
  // no program: it can be looked at and filled, not attached.
  static Result<std::optional<Decap>> open(const std::string& folder);

  Decap(Decap&&) noexcept;
  Decap& operator=(Decap&&) noexcept;
  ~Decap();

  Result<void> add(const VipKey& vip);     // one that is there already: nothing happens
  Result<void> remove(const VipKey& vip);  // one that is not there: nothing happens
  Result<std::vector<VipKey>> vips() const;
  Result<PacketCounts> packets() const;

  // Attaches the loaded program, in the driver when it can, else in the generic path, and then
  // `why_generic` says what the kernel answered. Attached there already: exchanges the program.
  struct Attached {
    XdpMode mode;
    std::string why_generic;
  };
  Result<Attached> attach(const std::string& interface);

  // Nothing: not attached, or the interface is gone.
  Result<std::optional<Attachment>> attachment() const;

  // Detaches and removes everything pinned in `folder`, and the folder.
  static Result<void> unpin(const std::string& folder);

  int program() const;                         // descriptor, -1 after open()
  int vip_map() const { return vips_.get(); }  // descriptor

 private:
  struct CloseObject {
    void operator()(bpf_object* object) const;
  };

  Decap() = default;
  Result<Fd> link_in_driver_or_generic(unsigned ifindex, const std::string& interface,
                                       Attached& attached) const;

  std::string folder_;
  std::unique_ptr<bpf_object, CloseObject> object_;
  Fd vips_, packets_, link_;
};

}  // namespace fairlead::backend
