// SPDX-License-Identifier: MIT
#include "control/health/probe.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace fairlead::health {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr uint32_t head_bytes = 16 * 1024;  // of an answer

tcp::endpoint endpoint_of(const tables::Identity& target) {
  if (target.family == core::Family::v6) {
    asio::ip::address_v6::bytes_type bytes;
    std::memcpy(bytes.data(), target.address.word, bytes.size());
    return {asio::ip::address_v6(bytes), target.port};
  }
  asio::ip::address_v4::bytes_type bytes;
  std::memcpy(bytes.data(), target.address.word, bytes.size());
  return {asio::ip::address_v4(bytes), target.port};
}

std::string host_of(const tcp::endpoint& endpoint) {
  const bool v6 = endpoint.address().is_v6();
  std::string host = endpoint.address().to_string();
  if (v6) host = "[" + host + "]";
  return endpoint.port() == 80 ? host : fmt::format("{}:{}", host, endpoint.port());
}

bool is_http(const error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_version).category();
}

bool is_closed(const error_code& error) {
  return error == http::error::end_of_stream || error == http::error::partial_message ||
         error == asio::error::eof;
}

std::string words_for(const error_code& error, bool connected) {
  switch (result_of(error, connected)) {
    case ProbeResult::refused: return "refused";
    case ProbeResult::timeout: return "no connection, the kernel gave up";
    case ProbeResult::reset:
      return is_closed(error) ? "closed without an answer"
             : error == asio::error::connection_reset || error == asio::error::broken_pipe
                 ? "connection reset"
                 : error.message();
    case ProbeResult::no_route:
      if (error == asio::error::host_unreachable || error == asio::error::network_unreachable) {
        return "no route to host";
      }
      return fmt::format("no way to the host: {}", error.message());
    case ProbeResult::protocol: return fmt::format("not HTTP: {}", error.message());
    case ProbeResult::passed:
    case ProbeResult::status:
    case ProbeResult::local: break;
  }
  return error.message();
}

class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(asio::io_context& loop, const Probe& probe, std::function<void(Outcome)> done)
      : check_(probe.check), timeout_(probe.timeout), done_(std::move(done)), stream_(loop) {
    parser_.header_limit(head_bytes);
  }

  void start() {
    begin_ = now();
    stream_.expires_after(timeout_);
    stream_.async_connect(endpoint_of(check_.target),
                          [self = shared_from_this()](error_code error) {
                            if (error) return self->fail(error);
                            if (self->check_.kind == Kind::http) return self->ask();
                            self->finish(ProbeResult::passed, "connected");
                          });
  }

 private:
  void ask() {
    doing_ = Doing::asking;
    request_.method(http::verb::get);
    request_.target(check_.path);
    request_.version(11);
    const std::string host =
        check_.host.empty() ? host_of(endpoint_of(check_.target)) : check_.host;
    request_.set(http::field::host, host);
    request_.set(http::field::user_agent, "fairlead-health-check");
    request_.set(http::field::accept, "*/*");
    request_.set(http::field::connection, "close");
    http::async_write(stream_, request_, [self = shared_from_this()](error_code error, size_t) {
      if (error) return self->fail(error);
      self->read();
    });
  }

  void read() {
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](error_code error, size_t) {
                              if (error) return self->fail(error);
                              self->compare();
                            });
  }

  void compare() {
    const unsigned status = parser_.get().result_int();
    const bool wanted =
        std::ranges::find(check_.expect_status, status) != check_.expect_status.end();
    finish(wanted ? ProbeResult::passed : ProbeResult::status, fmt::format("status {}", status));
  }

  void fail(const error_code& error) {
    if (error == beast::error::timeout) {
      return finish(ProbeResult::timeout, doing_ == Doing::connecting
                                              ? fmt::format("no connection within {}", wait())
                                              : fmt::format("no answer within {}", wait()));
    }
    const bool connected = doing_ != Doing::connecting;
    finish(result_of(error, connected), words_for(error, connected));
  }

  void finish(ProbeResult result, std::string reason) {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    std::exchange(done_, nullptr)({result, std::move(reason), now() - begin_});
  }

  std::string wait() const { return to_text(timeout_); }

  enum class Doing { connecting, asking };

  Check check_;
  Duration timeout_;
  std::function<void(Outcome)> done_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{head_bytes + 4'096};
  http::request<http::empty_body> request_;
  http::response_parser<http::empty_body> parser_;
  Doing doing_ = Doing::connecting;
  Time begin_{};
};

}  // namespace

ProbeResult result_of(const error_code& error, bool connected) {
  if (is_closed(error)) return ProbeResult::reset;
  if (is_http(error)) return ProbeResult::protocol;
  if (error.category() == boost::system::system_category()) {
    switch (error.value()) {
      case EMFILE:
      case ENFILE:
      case ENOMEM:
      case ENOBUFS:
      case EADDRNOTAVAIL:                     // no local port is left
      case EPERM: return ProbeResult::local;  // a firewall of this host
      case ECONNREFUSED: return ProbeResult::refused;
      case ETIMEDOUT: return ProbeResult::timeout;
      default: break;
    }
  }
  return connected ? ProbeResult::reset : ProbeResult::no_route;
}

void start_probe(asio::io_context& loop, const Probe& probe, std::function<void(Outcome)> done) {
  std::make_shared<Attempt>(loop, probe, std::move(done))->start();
}

}  // namespace fairlead::health
