// SPDX-License-Identifier: MIT
// The resolver (control/neighbours/resolver.h) on an Asio loop: looks when the kernel tells of a
// change in links, addresses, routes or neighbours, and each second (control/limits.h). Looks at
// the host's own addresses too. One thread, that of the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "control/neighbours/resolver.h"

namespace fairlead::neighbours {

class Watcher {
 public:
  struct Change {
    std::vector<Resolver::Found> hops;          // those that changed
    std::optional<std::vector<IpAddress>> own;  // all of them, if one came or went; sorted
  };
  using Changed = std::function<void(const Change&)>;

  static Result<std::unique_ptr<Watcher>> open(boost::asio::io_context& loop, std::string interface,
                                               uint32_t index, Changed changed);

  void want(std::vector<IpAddress> backends);  // and look at once
  // Addresses of this host at the last look that was not in vain.
  const std::vector<IpAddress>& own() const { return own_; }

 private:
  Watcher(boost::asio::io_context& loop, Resolver resolver, Netlink events, Changed changed);
  void wait_for_events();
  void look_after(Duration delay);
  void look();
  Result<bool> look_at_own();  // whether one came or went

  Resolver resolver_;
  Netlink events_;
  boost::asio::posix::stream_descriptor readable_;
  boost::asio::steady_timer timer_;
  Changed changed_;
  std::vector<IpAddress> own_;
  Time last_look_{};
  bool soon_ = false;
  bool failing_ = false;
};

}  // namespace fairlead::neighbours
