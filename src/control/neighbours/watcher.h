// SPDX-License-Identifier: MIT
// The resolver (control/neighbours/resolver.h) on an Asio loop: looks when the kernel tells of a
// change in links, addresses, routes or neighbours, and each second. One thread, that of the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "control/neighbours/resolver.h"

namespace fairlead::neighbours {

class Watcher {
 public:
  using Changed = std::function<void(const std::vector<Resolver::Found>&)>;

  static Result<std::unique_ptr<Watcher>> open(boost::asio::io_context& loop, std::string interface,
                                               uint32_t index, Changed changed);

  void want(std::vector<IpAddress> backends);  // and look at once
  Result<std::vector<IpAddress>> own() { return resolver_.own(); }

 private:
  Watcher(boost::asio::io_context& loop, Resolver resolver, Netlink events, Changed changed);
  void wait_for_events();
  void look_after(std::chrono::milliseconds delay);
  void look();

  Resolver resolver_;
  Netlink events_;
  boost::asio::posix::stream_descriptor readable_;
  boost::asio::steady_timer timer_;
  Changed changed_;
  bool soon_ = false;
  bool failing_ = false;
};

}  // namespace fairlead::neighbours
