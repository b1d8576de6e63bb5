// SPDX-License-Identifier: MIT
// One probe over a socket: connects to the backend itself and, for http, asks for the path and
// reads the head of the answer. Everything together must be done within the timeout.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

#include <functional>
#include <memory>

#include "control/health/monitor.h"

namespace fairlead::health {

// Calls `done` once, from the loop and never from within this call; not at all if the loop ends
// before.
void start_probe(boost::asio::io_context& loop, const Probe& probe,
                 std::function<void(Outcome)> done);

// What an error of the socket says of the backend. Only what is known to have gone wrong on this
// side is `local`; all else, such as what ICMP tells of the way there, is a bad answer.
ProbeResult result_of(const boost::system::error_code& error, bool connected);

}  // namespace fairlead::health
