// SPDX-License-Identifier: MIT
#include "operator/http/client.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <chrono>

#include "operator/http/where.h"

namespace fairlead::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using Generic = asio::generic::stream_protocol;

constexpr uint64_t answer_bytes = 64u << 20;
constexpr std::chrono::seconds patience(2);  // a daemon that is well answers within milliseconds

class Exchange {
 public:
  Exchange(const Where& where, const std::string& path) : stream_(loop_) {
    request_.method(bhttp::verb::get);
    request_.target(path);
    request_.version(11);
    request_.set(bhttp::field::host, "localhost");
    request_.set(bhttp::field::connection, "close");
    parser_.body_limit(answer_bytes);
    endpoint_ = where.path.empty()
                    ? Generic::endpoint(asio::ip::tcp::endpoint(where.address, where.port))
                    : Generic::endpoint(asio::local::stream_protocol::endpoint(where.path));
  }

  error_code run() {
    stream_.expires_after(patience);
    stream_.async_connect(endpoint_, [this](error_code error) {
      if (done(error)) return;
      bhttp::async_write(stream_, request_, [this](error_code written, size_t) {
        if (done(written)) return;
        bhttp::async_read(stream_, buffer_, parser_,
                          [this](error_code read, size_t) { error_ = read; });
      });
    });
    loop_.run();
    return error_;
  }

  Response response() {
    auto message = parser_.release();
    Response response{.status = message.result_int(), .body = std::move(message.body())};
    response.type = std::string(message[bhttp::field::content_type]);
    return response;
  }

 private:
  bool done(const error_code& error) {
    error_ = error;
    return static_cast<bool>(error);
  }

  asio::io_context loop_;
  beast::basic_stream<Generic> stream_;
  Generic::endpoint endpoint_;
  beast::flat_buffer buffer_;
  bhttp::request<bhttp::empty_body> request_;
  bhttp::response_parser<bhttp::string_body> parser_;
  error_code error_;
};

}  // namespace

Result<Response> get(const std::string& where, const std::string& path) {
  const auto place = parse_where(where);
  if (!place) return std::unexpected(place.error());
  Exchange exchange(*place, path);
  const error_code error = exchange.run();
  if (error == beast::error::timeout) {
    return failure(
        fmt::format("{} took the connection, but did not answer within {} s; if that is fairlead, "
                    "it hangs or has no CPU time: see its log",
                    where, patience.count()));
  }
  if (error) {
    return failure(
        fmt::format("no daemon answers at {}: {}; is `fairlead run` running, with the same "
                    "[node] http?",
                    where, error.message()));
  }
  return exchange.response();
}

}  // namespace fairlead::http
