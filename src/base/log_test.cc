// SPDX-License-Identifier: MIT
// The tests read what really arrives on stderr, through a pipe in its place.
#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace fairlead::log {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

// What `action` writes to stderr; less than a pipe holds (64 KiB).
std::string written(const std::function<void()>& action) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(write_end.get(), STDERR_FILENO);
  write_end.reset();
  action();
  ::dup2(before.get(), STDERR_FILENO);
  start(Form::automatic);  // and lets go of the pipe
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

class Log : public testing::Test {
 protected:
  ~Log() override {
    set_level(Level::info);
    start(Form::automatic);
  }
};

TEST_F(Log, WritesJsonWhereStderrIsNoTerminal) {
  const std::string line = written([] {
    start(Form::automatic);
    info("interface {}: {} queues", "eth0", 4);
  });
  EXPECT_THAT(line,
              MatchesRegex(
                  R"(\{"time":"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\.[0-9]+Z","level":"info",)"
                  R"("message":"interface eth0: 4 queues"\}.)"));
}

TEST_F(Log, EscapesWhatJsonCannotHold) {
  const std::string line = written([] {
    start(Form::json);
    warning("{}", "a \"quoted\" back\\slash\nnext\x01");
  });
  EXPECT_THAT(line, HasSubstr(R"("message":"a \"quoted\" back\\slash\nnext\u0001"})"));
}

TEST_F(Log, WritesPlainLinesForPeople) {
  const std::string line = written([] {
    start(Form::human);
    error("no such interface");
  });
  EXPECT_THAT(line, HasSubstr("error"));
  EXPECT_THAT(line, HasSubstr("no such interface\n"));
  EXPECT_THAT(line, Not(HasSubstr("{")));
}

TEST_F(Log, ChangesItsLevelWhileItRuns) {
  const std::string text = written([] {
    start(Form::json);
    debug("one");
    set_level(Level::debug);
    debug("two");
    set_level(Level::error);
    warning("three");
    error("four");
  });
  EXPECT_THAT(text, Not(HasSubstr("one")));
  EXPECT_THAT(text, HasSubstr("two"));
  EXPECT_THAT(text, Not(HasSubstr("three")));
  EXPECT_THAT(text, HasSubstr("four"));
}

TEST_F(Log, WritesEachLineWholeFromManyThreads) {
  const std::string text = written([] {
    start(Form::json);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) {
          info("a line");
        }
      });
    }
  });
  std::size_t lines = 0;
  for (std::size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos;
       from = to + 1, ++lines) {
    ASSERT_THAT(text.substr(from, to - from), MatchesRegex(R"(\{"time".*"a line"\})"));
  }
  EXPECT_EQ(lines, 200U);
}

TEST_F(Log, LeavesOutWhatItsReaderDoesNotTakeAndSaysSoLater) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]), write_end(ends[1]);
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(write_end.get(), STDERR_FILENO);
  start(Form::json);
  const uint64_t already = left_out();
  const std::string thousand(1000, 'x');
  for (int i = 0; i < 100; i++) info("{}", thousand);  // a pipe holds 64 KiB
  const uint64_t lines = left_out() - already;
  EXPECT_GT(lines, 30u);
  EXPECT_LT(lines, 100u);

  std::array<char, 1 << 17> all{};
  EXPECT_GT(::read(read_end.get(), all.data(), all.size()), 0);
  info("again");
  const ssize_t size = ::read(read_end.get(), all.data(), all.size());
  ::dup2(before.get(), STDERR_FILENO);
  ASSERT_GT(size, 0);
  const std::string text(all.data(), static_cast<size_t>(size));
  EXPECT_THAT(text, HasSubstr(fmt::format("{} lines of this log could not be written", lines)));
  EXPECT_THAT(text, HasSubstr("again"));
  EXPECT_EQ(left_out() - already, lines);
}

TEST_F(Log, GoesOnWhenItsReaderHasGone) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[0]);
  ::close(ends[1]);
  start(Form::json);
  const uint64_t already = left_out();
  info("nobody hears this");
  ::dup2(before.get(), STDERR_FILENO);
  EXPECT_EQ(left_out() - already, 1u);
}

TEST_F(Log, KnowsItsLevelsByName) {
  EXPECT_EQ(parse_level("warning"), Level::warning);
  ASSERT_FALSE(parse_level("loud"));
  EXPECT_THAT(parse_level("loud").error().message, HasSubstr("debug, info, warning or error"));
}

}  // namespace
}  // namespace fairlead::log
