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
    if (error == asio::error::connection_refused) return finish(ProbeResult::refused, "refused");
    if (error == asio::error::host_unreachable || error == asio::error::network_unreachable) {
      return finish(ProbeResult::no_route, "no route to host");
    }
    if (error == asio::error::timed_out) {
      return finish(ProbeResult::timeout, "no connection, the kernel gave up");
    }
    if (error == asio::error::connection_reset || error == asio::error::broken_pipe) {
      return finish(ProbeResult::reset, "connection reset");
    }
    if (error == http::error::end_of_stream || error == asio::error::eof) {
      return finish(ProbeResult::reset, "closed without an answer");
    }
    if (error.category() == http::make_error_code(http::error::bad_version).category()) {
      return finish(ProbeResult::protocol, fmt::format("not HTTP: {}", error.message()));
    }
    finish(ProbeResult::local, error.message());
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

void start_probe(asio::io_context& loop, const Probe& probe, std::function<void(Outcome)> done) {
  std::make_shared<Attempt>(loop, probe, std::move(done))->start();
}

}  // namespace fairlead::health
