// SPDX-License-Identifier: MIT
#include "operator/http/server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "operator/http/session.h"
#include "operator/http/where.h"

namespace fairlead::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds out_of_descriptors(100);
constexpr mode_t socket_mode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;

template <class Protocol>
class Listener final : public Server {
 public:
  Listener(asio::io_context& loop, std::string path, Handler handler)
      : acceptor_(loop), timer_(loop), path_(std::move(path)), shared_(std::make_shared<Shared>()) {
    shared_->handler = std::move(handler);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() override {
    shared_->handler = nullptr;  // connections that are open end with the loop
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  uint32_t connections() const override { return shared_->connections; }

  error_code open(const typename Protocol::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    // The name gets the mode of the socket less the umask: nobody else is let in before the chmod.
    if (!error && !path_.empty()) ::fchmod(acceptor_.native_handle(), socket_mode);
    if (!error) acceptor_.bind(endpoint, error);
    if (error) {
      path_.clear();  // not ours
      return error;
    }
    if (!path_.empty() && ::chmod(path_.c_str(), socket_mode) != 0) {
      return {errno, boost::system::system_category()};
    }
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) accept();
    return error;
  }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, typename Protocol::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return later();
      if (shared_->connections < limits::connections) serve(std::move(socket), shared_);
      accept();
    });
  }

  void later() {
    timer_.expires_after(out_of_descriptors);
    timer_.async_wait([this](error_code error) {
      if (!error) accept();
    });
  }

  typename Protocol::acceptor acceptor_;
  asio::steady_timer timer_;
  std::string path_;
  std::shared_ptr<Shared> shared_;
};

// A socket that nobody listens on was left behind by a daemon that was killed.
void remove_stale(asio::io_context& loop, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_socket(path, ignored)) return;
  error_code error;
  Local::socket socket(loop);
  socket.connect(Local::endpoint(path), error);
  if (error == asio::error::connection_refused) std::filesystem::remove(path, ignored);
}

Error in_the_way(const std::string& where, const error_code& error) {
  const bool used = error == asio::error::address_in_use;
  return {
      fmt::format("http = \"{}\": {}{}", where, error.message(),
                  used ? "; does another fairlead run here? Stop it, or choose another [node] http"
                       : "; choose another [node] http in node.toml")};
}

}  // namespace

Response problem(unsigned status, std::string detail) {
  const auto title =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  const nlohmann::ordered_json body = {{"type", "about:blank"},
                                       {"title", std::string(title.data(), title.size())},
                                       {"status", status},
                                       {"detail", std::move(detail)}};
  using Replace = nlohmann::ordered_json::error_handler_t;
  return {.status = status,
          .type = "application/problem+json",
          .body = body.dump(-1, ' ', false, Replace::replace) + "\n"};
}

Result<std::unique_ptr<Server>> Server::listen(asio::io_context& loop, const std::string& where,
                                               Handler handler) {
  const auto place = parse_where(where);
  if (!place) return std::unexpected(place.error());
  if (!place->path.empty()) {
    remove_stale(loop, place->path);
    auto listener = std::make_unique<Listener<Local>>(loop, place->path, std::move(handler));
    if (const auto error = listener->open(Local::endpoint(place->path)); error) {
      return std::unexpected(in_the_way(where, error));
    }
    return listener;
  }
  auto listener = std::make_unique<Listener<Tcp>>(loop, "", std::move(handler));
  if (const auto error = listener->open({place->address, place->port}); error) {
    return std::unexpected(in_the_way(where, error));
  }
  return listener;
}

}  // namespace fairlead::http
