// SPDX-License-Identifier: MIT
// Probes over real sockets of the loopback interface.
#include "control/health/checker.h"

#include <arpa/inet.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "control/health/probe.h"
#include "engine/bpf/veth_pair.h"

namespace fairlead::health {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using namespace std::chrono_literals;

// A server that takes one connection after the other and gives each the same answer; none: it says
// nothing and keeps the connection.
class FakeServer {
 public:
  FakeServer(asio::io_context& loop, std::string answer)
      : acceptor_(loop, {asio::ip::address_v4::loopback(), 0}), answer_(std::move(answer)) {
    accept();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }

  std::string request;  // head of the last one
  int connections = 0;

 private:
  struct Peer {
    explicit Peer(tcp::socket taken) : socket(std::move(taken)) {}
    tcp::socket socket;
    std::string head;
  };

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      connections++;
      auto peer = std::make_shared<Peer>(std::move(socket));
      kept_.push_back(peer);
      asio::async_read_until(peer->socket, asio::dynamic_buffer(peer->head), "\r\n\r\n",
                             [this, peer](error_code read, size_t) {
                               if (read || answer_.empty()) return;
                               request = peer->head;
                               error_code ignored;
                               asio::write(peer->socket, asio::buffer(answer_), ignored);
                               peer->socket.close(ignored);
                             });
      accept();
    });
  }

  tcp::acceptor acceptor_;
  std::string answer_;
  std::vector<std::shared_ptr<Peer>> kept_;
};

tables::Identity loopback(uint16_t port) {
  return {.address = {{htonl(INADDR_LOOPBACK)}}, .family = core::Family::v4, .port = port};
}

Check http_check(uint16_t port) {
  return {.target = loopback(port),
          .kind = Kind::http,
          .path = "/healthz",
          .host = "",
          .expect_status = {200, 204}};
}

class ProbeTest : public testing::Test {
 protected:
  Outcome probe(const Check& check, Duration timeout = 5s) {
    std::optional<Outcome> outcome;
    start_probe(loop, {1, check, timeout}, [&](Outcome done) {
      outcome = std::move(done);
      loop.stop();
    });
    EXPECT_FALSE(outcome) << "answers come from the loop";
    loop.restart();
    loop.run_for(10s);
    EXPECT_TRUE(outcome);
    return outcome.value_or(Outcome{});
  }

  // A port on which nobody listens.
  uint16_t closed_port() {
    return tcp::acceptor(loop, {asio::ip::address_v4::loopback(), 0}).local_endpoint().port();
  }

  asio::io_context loop{1};
};

TEST_F(ProbeTest, TcpPassesWhenTheConnectionIsTaken) {
  FakeServer server(loop, "");
  const Outcome outcome = probe({.target = loopback(server.port())});
  EXPECT_EQ(outcome.result, ProbeResult::passed);
  EXPECT_GT(outcome.latency, 0ns);
}

TEST_F(ProbeTest, AClosedPortIsRefused) {
  const Outcome outcome = probe({.target = loopback(closed_port())});
  EXPECT_EQ(outcome.result, ProbeResult::refused);
  EXPECT_EQ(outcome.reason, "refused");
}

TEST_F(ProbeTest, HttpPassesWithAnExpectedStatusAndAsksForThePath) {
  FakeServer server(loop, "HTTP/1.1 204 No Content\r\n\r\n");
  const Outcome outcome = probe(http_check(server.port()));
  EXPECT_EQ(outcome.result, ProbeResult::passed);
  EXPECT_EQ(outcome.reason, "status 204");
  EXPECT_THAT(server.request, testing::StartsWith("GET /healthz HTTP/1.1\r\n"));
  EXPECT_THAT(server.request,
              testing::HasSubstr("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n"));
}

TEST_F(ProbeTest, TheConfiguredHostIsSent) {
  FakeServer server(loop, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  Check check = http_check(server.port());
  check.host = "www.example.org";
  EXPECT_EQ(probe(check).result, ProbeResult::passed);
  EXPECT_THAT(server.request, testing::HasSubstr("Host: www.example.org\r\n"));
}

TEST_F(ProbeTest, AnotherStatusFailsAndIsNamed) {
  FakeServer server(loop, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  const Outcome outcome = probe(http_check(server.port()));
  EXPECT_EQ(outcome.result, ProbeResult::status);
  EXPECT_EQ(outcome.reason, "status 503");
}

TEST_F(ProbeTest, SomethingThatIsNotHttpIsAProtocolError) {
  FakeServer server(loop, "220 mail.example.org ESMTP\r\n\r\n");
  const Outcome outcome = probe(http_check(server.port()));
  EXPECT_EQ(outcome.result, ProbeResult::protocol);
  EXPECT_THAT(outcome.reason, testing::StartsWith("not HTTP: "));
}

TEST_F(ProbeTest, AnEndlessHeadIsAProtocolErrorAndIsNotReadToItsEnd) {
  FakeServer server(loop, "HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'x'));
  EXPECT_EQ(probe(http_check(server.port())).result, ProbeResult::protocol);
}

TEST_F(ProbeTest, SilenceIsATimeout) {
  FakeServer server(loop, "");
  const Outcome outcome = probe(http_check(server.port()), 200ms);
  EXPECT_EQ(outcome.result, ProbeResult::timeout);
  EXPECT_EQ(outcome.reason, "no answer within 200ms");
}

TEST_F(ProbeTest, ClosingWithoutAnAnswerIsSaid) {
  FakeServer server(loop, "HTTP/1.1 20");  // and the end of the connection
  const Outcome outcome = probe(http_check(server.port()));
  EXPECT_EQ(outcome.result, ProbeResult::reset);
  EXPECT_EQ(outcome.reason, "closed without an answer");
}

error_code error_of(int number) { return {number, boost::system::system_category()}; }

TEST(ResultOf, OnlyWhatIsKnownToBeOfThisSideIsLocal) {
  for (const int number : {EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL, EPERM}) {
    EXPECT_EQ(result_of(error_of(number), false), ProbeResult::local) << std::strerror(number);
  }
  for (const int number : {EACCES, EHOSTDOWN, ENONET, ENOPROTOOPT, EHOSTUNREACH, ENETUNREACH,
                           ENETDOWN, EPROTO, EINVAL}) {
    EXPECT_EQ(result_of(error_of(number), false), ProbeResult::no_route) << std::strerror(number);
  }
  EXPECT_EQ(result_of(error_of(ECONNREFUSED), false), ProbeResult::refused);
  EXPECT_EQ(result_of(error_of(EHOSTUNREACH), true), ProbeResult::reset);
}

// In a network namespace, where routes answer as a router's ICMP would.
TEST_F(ProbeTest, ABackendThatTheNetworkDoesNotLetThroughToFailsWithTheReason) {
  FAIRLEAD_NEEDS_NETWORK();
  const engine::VethPair veth({});
  ASSERT_TRUE(engine::VethPair::run("ip route add prohibit 192.0.2.0/24"));
  const Outcome outcome =
      probe({.target = {.address = {{htonl(0xc0000201)}}, .family = core::Family::v4, .port = 80}});
  EXPECT_EQ(outcome.result, ProbeResult::no_route);
  EXPECT_EQ(outcome.reason, "no way to the host: Permission denied");
}

TEST(Checker, ReportsUpThenDownWhenTheServerGoes) {
  asio::io_context loop{1};
  auto server = std::make_optional<FakeServer>(loop, "");
  const Check check{.target = loopback(server->port())};
  std::vector<Flip> flips;
  int answers = 0;
  Checker checker(loop, 1,
                  {.flip =
                       [&](const Flip& flip) {
                         flips.push_back(flip);
                         if (flip.state == State::up) server.reset();
                         if (flip.state == State::down) loop.stop();
                       },
                   .answer = [&](const Check&, const Outcome&) { answers++; }});
  checker.want({{check, {.interval = 20ms, .timeout = 1s, .healthy = 2, .unhealthy = 3}}});
  loop.run_for(20s);
  ASSERT_EQ(flips.size(), 2u);
  EXPECT_EQ(flips[0].state, State::up);
  EXPECT_EQ(flips[1].state, State::down);
  EXPECT_EQ(flips[1].reason, "refused");
  EXPECT_EQ(answers, 5);
  EXPECT_EQ(checker.find(check)->state, State::down);
}

TEST(Checker, MayGoWhileProbesAreOnTheirWay) {
  asio::io_context loop{1};
  FakeServer server(loop, "");
  int flips = 0;
  {
    Checker checker(loop, 1, {.flip = [&](const Flip&) { flips++; }, .answer = nullptr});
    checker.want({{{.target = loopback(server.port())}, Timing{.healthy = 1}}});
  }
  loop.run_for(200ms);
  EXPECT_EQ(flips, 0);
}

}  // namespace
}  // namespace fairlead::health
