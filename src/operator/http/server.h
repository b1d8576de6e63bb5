// SPDX-License-Identifier: MIT
// A small HTTP/1.1 server on the control plane's loop, on a TCP port or a unix socket. What a
// client can cost is bounded: connections, the size of a request, and the time for it and for its
// answer. The handler runs on the loop, so it sees the controller's state without locks and must be
// quick.
#pragma once

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace fairlead::http {

namespace limits {
constexpr uint32_t connections = 64;  // more are closed at once
constexpr uint32_t head_bytes = 8 * 1024;
constexpr uint32_t body_bytes = 64 * 1024;
constexpr uint32_t seconds = 10;  // for a request to arrive, and for its answer to be taken
}  // namespace limits

struct Request {
  std::string method;
  std::string path;   // decoded, without the query
  std::string query;  // as it came
  std::string body;
};

struct Response {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body;
  std::string allow;  // methods, with status 405
};

using Handler = std::function<Response(const Request&)>;

// An error as RFC 9457 has it.
Response problem(unsigned status, std::string detail);

// What serves while it lives.
class Server {
 public:
  virtual ~Server() = default;
  virtual uint32_t connections() const = 0;  // open now, limits::connections at most
  // `where` is "ADDRESS:PORT" or the path of a unix socket. Error: what is in the way.
  static Result<std::unique_ptr<Server>> listen(boost::asio::io_context& loop,
                                                const std::string& where, Handler handler);
};

}  // namespace fairlead::http
