// SPDX-License-Identifier: MIT
// Tells systemd how the daemon is: the protocol of sd_notify(3), one datagram a state. It never
// waits, since the thread that tells is the only one that decides: what the socket does not take
// now is sent again each 100 ms, in order, until it does. Nothing happens when nobody has set
// NOTIFY_SOCKET. One thread, that of the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <string>

#include "base/fd.h"

namespace fairlead::cli {

class Notifier {
 public:
  explicit Notifier(boost::asio::io_context& loop);

  void tell(std::string state);  // "READY=1", lines of NAME=value

 private:
  static constexpr size_t most_waiting = 64;  // then the oldest is left out

  void send();
  bool send_one(const std::string& state) const;

  std::string path_;  // empty: nobody listens
  Fd socket_;
  std::deque<std::string> waiting_;
  boost::asio::steady_timer timer_;
};

}  // namespace fairlead::cli
