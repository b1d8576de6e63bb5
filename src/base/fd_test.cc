// SPDX-License-Identifier: MIT
#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <type_traits>
#include <utility>

namespace fairlead {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

Fd some_file() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

static_assert(!std::is_copy_constructible_v<Fd> && !std::is_copy_assignable_v<Fd>);
static_assert(std::is_nothrow_move_constructible_v<Fd> && std::is_nothrow_move_assignable_v<Fd>);

TEST(Fd, HoldsNothingAtFirst) {
  const Fd fd;
  EXPECT_FALSE(fd);
  EXPECT_EQ(fd.get(), -1);
}

TEST(Fd, ClosesWhenItGoes) {
  int number = -1;
  {
    const Fd fd = some_file();
    number = fd.get();
    ASSERT_TRUE(fd);
    ASSERT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, MovesWithoutClosing) {
  Fd first = some_file();
  const int number = first.get();
  Fd second = std::move(first);
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, AssignmentClosesWhatItHeldBefore) {
  Fd fd = some_file();
  const int before = fd.get();
  Fd next = some_file();
  const int after = next.get();
  fd = std::move(next);
  EXPECT_FALSE(is_open(before));
  EXPECT_TRUE(is_open(after));
  EXPECT_EQ(fd.get(), after);
}

TEST(Fd, ReleaseLeavesItOpenForTheCaller) {
  Fd fd = some_file();
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

}  // namespace
}  // namespace fairlead
