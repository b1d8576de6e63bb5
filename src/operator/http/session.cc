// SPDX-License-Identifier: MIT
#include "operator/http/session.h"

#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace fairlead::http {
namespace {

namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using Stream = beast::basic_stream<boost::asio::generic::stream_protocol>;

// "%2F" is "/"; nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned char value = 0;
    const char* begin = text.data() + i + 1;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
    if (error != std::errc{} || end != begin + 2) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::generic::stream_protocol::socket socket, std::shared_ptr<Shared> shared)
      : stream_(std::move(socket)), shared_(std::move(shared)) {
    shared_->connections++;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { shared_->connections--; }

  void read() {
    head_ = false;
    parser_.emplace();
    parser_->header_limit(limits::head_bytes);
    parser_->body_limit(limits::body_bytes);
    stream_.expires_after(std::chrono::seconds(limits::seconds));
    bhttp::async_read(stream_, buffer_, *parser_,
                      [self = shared_from_this()](error_code error, size_t) { self->got(error); });
  }

 private:
  void got(const error_code& error) {
    if (error == bhttp::error::body_limit) {
      return answer(
          problem(413, fmt::format("the body is larger than {} bytes", limits::body_bytes)), false);
    }
    if (error == bhttp::error::header_limit) {
      return answer(
          problem(431, fmt::format("the head is larger than {} bytes", limits::head_bytes)), false);
    }
    if (error == bhttp::error::end_of_stream || error == beast::error::timeout) return;
    if (error && error.category() == bhttp::make_error_code(bhttp::error::bad_version).category()) {
      return answer(problem(400, "not an HTTP/1.1 request: " + error.message()), false);
    }
    if (error || !shared_->handler) return;
    const auto& message = parser_->get();
    const std::string_view target(message.target().data(), message.target().size());
    const size_t mark = target.find('?');
    const auto path = decoded(target.substr(0, mark));
    if (!path)
      return answer(problem(400, "the path has a % without two hexadecimal digits"), false);
    Request request{std::string(message.method_string()), *path,
                    mark == std::string_view::npos ? "" : std::string(target.substr(mark + 1)),
                    message.body()};
    head_ = request.method == "HEAD";
    if (head_) request.method = "GET";
    answer(shared_->handler(request), message.keep_alive());
  }

  void answer(Response response, bool keep_alive) {
    message_ = {static_cast<bhttp::status>(response.status), 11};
    message_.set(bhttp::field::content_type, response.type);
    message_.set(bhttp::field::cache_control, "no-store");
    if (!response.allow.empty()) message_.set(bhttp::field::allow, response.allow);
    message_.keep_alive(keep_alive);
    message_.content_length(response.body.size());
    if (!head_) message_.body() = std::move(response.body);
    stream_.expires_after(std::chrono::seconds(limits::seconds));
    bhttp::async_write(
        stream_, message_, [self = shared_from_this(), keep_alive](error_code error, size_t) {
          if (error) return;
          if (keep_alive) return self->read();
          error_code ignored;
          self->stream_.socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
        });
  }

  Stream stream_;
  std::shared_ptr<Shared> shared_;
  beast::flat_buffer buffer_{limits::head_bytes + limits::body_bytes};
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  bhttp::response<bhttp::string_body> message_;
  bool head_ = false;
};

}  // namespace

void serve(boost::asio::generic::stream_protocol::socket socket, std::shared_ptr<Shared> shared) {
  std::make_shared<Session>(std::move(socket), std::move(shared))->read();
}

}  // namespace fairlead::http
