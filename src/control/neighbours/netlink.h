// SPDX-License-Identifier: MIT
// A route netlink socket: a request and its answers, or notifications. The kernel answers requests
// while they are made, so that waiting for it holds up nothing. One thread.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fairlead::neighbours {

class Netlink {
 public:
  // `groups`: RTMGRP_* to be told of; 0: for requests.
  static Result<Netlink> open(uint32_t groups = 0);
  // Over a socket that leads to the kernel, or to what a test puts in its place.
  explicit Netlink(Fd socket);

  // Calls `each` for every message of the answer. 0, or the kernel's errno; `what` is in the
  // message of an error of the socket itself. EINTR is the answer of a dump during which the
  // kernel's table changed: something may be missing, and whoever wants all asks again.
  Result<int> ask(nlmsghdr* request, std::string_view what,
                  const std::function<void(const nlmsghdr&)>& each = {});

  // Reads notifications without waiting; false if there were none. That some were lost counts as
  // one: whoever reads looks at the kernel's state again.
  bool drain();

  int descriptor() const { return socket_.get(); }

 private:
  Fd socket_;
  uint32_t sequence_ = 0;
  std::vector<char> buffer_ = std::vector<char>(64 * 1024);
};

}  // namespace fairlead::neighbours
