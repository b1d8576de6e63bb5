// SPDX-License-Identifier: MIT
// Clamp owns the program that lowers the MSS of SYN-ACKs (clamp.bpf.cc) from the host's side: loads
// it, tells it the limits, attaches it to the egress of an interface. It reads the VIP map of the
// decapsulation program (decap.h), so it needs no VIPs of its own. Pinned beside that, it outlives
// the process; loading again exchanges the program under traffic.
//
// In tcx (Linux 6.6) where the kernel has it: the pinned link keeps it there, and goes with the
// pin. Else as a filter of the clsact qdisc, which stays until it is detached. One thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/records.h"
#include "base/fd.h"
#include "base/result.h"

struct bpf_object;

namespace fairlead::backend {

// What a tunnel from a balancer has room for.
struct TunnelRoom {
  std::uint32_t network_mtu = 0;  // bytes of an IP packet between balancer and backend; 0: not said
  std::uint32_t overhead = 0;     // bytes of it that the tunnel takes; 0: not said

  static constexpr std::uint32_t usual_mtu = 1500;
  static constexpr std::uint32_t most_overhead = 52;  // GUE over IPv6: what any pool may use

  // IP and TCP header without options: 40 and 60 bytes.
  MssLimits limits() const { return {network_mtu - overhead - 40, network_mtu - overhead - 60}; }
};

class Clamp {
 public:
  enum class Hook { tcx, clsact };

  // Loads program and maps, pinned in `folder` on a bpffs; maps already pinned there are used on.
  // An empty folder: private to this object, for tests. `vip_map`: descriptor, Decap::vip_map().
  static Result<Clamp> load(const std::string& folder, int vip_map);

  // What is pinned in `folder`; nothing when there is none. Cannot be attached.
  static Result<std::optional<Clamp>> open(const std::string& folder);

  Clamp(Clamp&&) noexcept;
  Clamp& operator=(Clamp&&) noexcept;
  ~Clamp();

  Result<void> set(const MssLimits& limits);
  Result<MssLimits> limits() const;
  Result<std::uint64_t> clamped() const;  // packets so far, all CPUs together

  // Attached there already: exchanges the program. `wanted` alone is tried if it is given.
  Result<Hook> attach(const std::string& interface, std::optional<Hook> wanted = {});

  // How it is attached to this interface; nothing: it is not.
  Result<std::optional<Hook>> attachment(const std::string& interface) const;

  // Detaches and removes all of it that is pinned in `folder`, not the folder.
  static Result<void> unpin(const std::string& folder, const std::string& interface);

  int program() const { return program_.get(); }

 private:
  struct CloseObject {
    void operator()(bpf_object* object) const;
  };

  Clamp() = default;
  Result<bool> attach_tcx(int ifindex);
  Result<void> attach_clsact(int ifindex);
  Result<void> pin_all();

  std::string folder_;
  std::unique_ptr<bpf_object, CloseObject> object_;
  Fd program_, limits_, clamped_, link_;
};

constexpr const char* name_of(Clamp::Hook hook) {
  return hook == Clamp::Hook::tcx ? "tcx" : "clsact";
}

}  // namespace fairlead::backend
