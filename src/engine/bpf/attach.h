// SPDX-License-Identifier: MIT
// An XDP program on an interface, attached by a bpf_link: it goes when the link's descriptor is
// closed, so that a crash of the owner leaves no program behind, and nobody can detach it by
// accident with `ip link`.
//
// Native (in the driver) is tried first, then generic (the kernel does it for any driver, but only
// after it has built an skb: several times slower).
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "engine/bpf/interface.h"
#include "engine/engine.h"

namespace fairlead::engine {

class XdpLink {
 public:
  // Error: another program is there; not permitted; the kernel's reason, with the remedy. With
  // Mode::native there is no second try.
  static Result<XdpLink> attach(int program, const Interface& interface, Mode mode);

  Mode mode() const { return mode_; }                // native or generic
  const std::string& note() const { return note_; }  // why not native; empty if it is
  int descriptor() const { return link_.get(); }

 private:
  XdpLink(Fd link, Mode mode, std::string note);

  Fd link_;
  Mode mode_;
  std::string note_;
};

}  // namespace fairlead::engine
