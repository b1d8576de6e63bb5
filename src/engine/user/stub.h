// SPDX-License-Identifier: MIT
// The XDP program of the user engine (stub.bpf.cc), loaded and attached to the interface: sends
// frames to VIPs to sockets, and all others to the host's stack.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/bpf/attach.h"
#include "engine/bpf/object.h"
#include "tables/memory.h"

namespace fairlead::user {

class Stub {
 public:
  // Until the first publish() everything passes to the host. Error: one line with the remedy.
  static Result<Stub> attach(const engine::Interface& interface, engine::Mode mode,
                             const tables::Capacity& capacity);

  // From now on frames to VIPs that arrive on `queue` go to this AF_XDP socket.
  Result<void> connect(uint32_t queue, int socket);

  // Takes over the rows that `memory` has in force. When this returns, no frame is being looked up
  // in the rows before.
  void publish(const tables::Memory& memory);

  // Connections of method nat: the stub sees by them which packets are replies. For the workers to
  // use instead of memory of their own.
  core::Translation* translations() const { return translations_; }

  const engine::XdpLink& link() const { return link_; }

 private:
  Stub(engine::BpfObject object, engine::XdpLink link)
      : object_(std::move(object)), link_(std::move(link)) {}

  engine::BpfObject object_;
  core::Settings* settings_ = nullptr;
  core::Row* rows_ = nullptr;
  core::Translation* translations_ = nullptr;
  int sockets_ = -1;
  engine::XdpLink link_;  // detached first
};

}  // namespace fairlead::user
