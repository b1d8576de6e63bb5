// SPDX-License-Identifier: MIT
// The ears of control/path_mtu: raw sockets on an Asio loop that receive what routers say about
// packets that were too big. Both engines leave packets to the node's own addresses to the host, so
// these arrive like any other ICMP; a firewall on the node must let them in. The kernel filters by
// type; a flood is read at most `at_once` messages each `rest` (control/limits.h), the kernel drops
// the others. One thread, that of the loop. Needs CAP_NET_RAW.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <memory>

#include "base/result.h"
#include "control/path_mtu/message.h"

namespace fairlead::path_mtu {

class Listener {
 public:
  using Heard = std::function<void(const TooBig&)>;

  // One family. Error: one line, what is not heard and what to do.
  static Result<std::unique_ptr<Listener>> open(boost::asio::io_context& loop, core::Family family,
                                                Heard heard);

 private:
  Listener(boost::asio::io_context& loop, core::Family family, Heard heard);
  void wait();
  void rest();
  bool receive();  // false: there is nothing more

  const core::Family family_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  Heard heard_;
  std::array<uint8_t, 2048> buffer_{};  // a message has 576 or 1280 bytes at most
};

}  // namespace fairlead::path_mtu
