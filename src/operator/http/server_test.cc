// SPDX-License-Identifier: MIT
// The server and the client over real sockets.
#include "operator/http/server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "operator/http/client.h"

namespace fairlead::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using testing::HasSubstr;
using testing::StartsWith;

uint16_t free_port() {
  asio::io_context loop;
  return asio::ip::tcp::acceptor(loop, {asio::ip::address_v4::loopback(), 0})
      .local_endpoint()
      .port();
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    where = "127.0.0.1:" + std::to_string(port);
    auto listening = Server::listen(loop, where, [](const Request& request) {
      return Response{.type = "text/plain",
                      .body = request.method + " " + request.path + "?" + request.query};
    });
    ASSERT_TRUE(listening) << listening.error().message;
    server = std::move(*listening);
    thread = std::thread([this] { loop.run(); });
  }

  void TearDown() override {
    loop.stop();
    if (thread.joinable()) thread.join();
  }

  asio::ip::tcp::socket connect() {
    asio::ip::tcp::socket socket(client);
    socket.connect({asio::ip::address_v4::loopback(), port});
    return socket;
  }

  // Sends bytes and reads until the server closes.
  std::string talk(const std::string& text) {
    auto socket = connect();
    error_code ignored;
    asio::write(socket, asio::buffer(text), ignored);
    std::string answer;
    asio::read(socket, asio::dynamic_buffer(answer), ignored);
    return answer;
  }

  uint16_t port = free_port();
  std::string where;
  asio::io_context loop{1}, client{1};
  std::unique_ptr<Server> server;
  std::thread thread;
};

TEST_F(ServerTest, AnswersWhatTheHandlerSays) {
  const auto answer = get(where, "/v1/pools/a%20b?x=1");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->type, "text/plain");
  EXPECT_EQ(answer->body, "GET /v1/pools/a b?x=1");
}

TEST_F(ServerTest, KeepsAConnectionForTheNextRequest) {
  const std::string request = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answer = talk(request + last);
  EXPECT_THAT(answer, HasSubstr("GET /a?"));
  EXPECT_THAT(answer, HasSubstr("GET /b?"));
}

TEST_F(ServerTest, HeadHasNoBody) {
  const std::string answer = talk("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, testing::EndsWith("\r\n\r\n"));
}

TEST_F(ServerTest, ARequestAfterAHeadGetsItsBodyAlsoWhenItIsWrong) {
  const std::string answer = talk("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /%zz HTTP/1.1\r\n\r\n");
  const size_t second = answer.find("HTTP/1.1 400 ");
  ASSERT_NE(second, std::string::npos) << answer;
  EXPECT_THAT(answer.substr(second), HasSubstr("two hexadecimal digits"));
}

TEST_F(ServerTest, CountsItsConnections) {
  EXPECT_EQ(server->connections(), 0u);
  auto socket = connect();
  asio::write(socket, asio::buffer(std::string("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")));
  char byte = 0;
  asio::read(socket, asio::buffer(&byte, 1));
  loop.stop();
  thread.join();
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(ServerTest, RefusesWhatIsNotHttp) {
  EXPECT_THAT(talk("hello world, this is not http\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerTest, RefusesAHeadThatIsTooLarge) {
  const std::string answer =
      talk("GET /a HTTP/1.1\r\nX: " + std::string(limits::head_bytes, 'x') + "\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer, HasSubstr("application/problem+json"));
}

TEST_F(ServerTest, RefusesABodyThatIsTooLargeBeforeItComes) {
  EXPECT_THAT(talk("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, RefusesAPathWithABrokenEscape) {
  EXPECT_THAT(talk("GET /a%zz HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerTest, OneConnectionTooManyIsClosedAndTheOthersGoOn) {
  std::vector<asio::ip::tcp::socket> open;
  for (uint32_t i = 0; i < limits::connections; i++) open.push_back(connect());
  // The last of them has been taken when it is answered.
  asio::write(open.back(), asio::buffer(std::string("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")));
  char byte = 0;
  asio::read(open.back(), asio::buffer(&byte, 1));
  EXPECT_EQ(talk("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"), "");
  open.clear();
  for (int i = 0; i < 100; i++) {  // until the server has seen that they are closed
    if (get(where, "/a")) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "the server does not recover";
}

TEST_F(ServerTest, APortInUseIsNamedWithTheRemedy) {
  asio::io_context other;
  const auto second = Server::listen(other, where, nullptr);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(where));
  EXPECT_THAT(second.error().message, HasSubstr("Address already in use"));
}

TEST(Client, SaysThatNoDaemonAnswers) {
  const auto answer = get("127.0.0.1:" + std::to_string(free_port()), "/v1/status");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("no daemon answers at 127.0.0.1:"));
}

TEST(Client, RefusesAPathThatNoSocketCanHave) {
  const auto answer = get("/" + std::string(200, 'x'), "/v1/status");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("at most 107 bytes"));
}

class UnixSocketTest : public testing::Test {
 protected:
  std::string path = testing::TempDir() + "fairlead-http-" + std::to_string(::getpid()) + ".sock";
  void TearDown() override { std::filesystem::remove(path); }
};

TEST_F(UnixSocketTest, ServesOnAPathAndRemovesItAtTheEnd) {
  asio::io_context loop{1};
  auto server = Server::listen(loop, path, [](const Request&) { return Response{.body = "{}"}; });
  ASSERT_TRUE(server) << server.error().message;
  std::thread thread([&] { loop.run(); });
  const auto answer = get(path, "/");
  loop.stop();
  thread.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixSocketTest, IsForItsOwnerAndGroupWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  asio::io_context loop{1};
  const auto server = Server::listen(loop, path, nullptr);
  ::umask(before);
  ASSERT_TRUE(server) << server.error().message;
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            perms::owner_read | perms::owner_write | perms::group_read | perms::group_write);
}

TEST_F(UnixSocketTest, TakesThePlaceOfASocketThatWasLeftBehind) {
  asio::io_context loop{1};
  {
    asio::local::stream_protocol::acceptor left(loop, asio::local::stream_protocol::endpoint(path));
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(Server::listen(loop, path, nullptr));
}

TEST_F(UnixSocketTest, DoesNotTakeThePlaceOfAFileOrOfARunningDaemon) {
  asio::io_context loop{1};
  std::ofstream(path) << "precious";
  EXPECT_FALSE(Server::listen(loop, path, nullptr));
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  std::filesystem::remove(path);
  const auto first = Server::listen(loop, path, nullptr);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Server::listen(loop, path, nullptr));
}

}  // namespace
}  // namespace fairlead::http
