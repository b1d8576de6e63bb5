// SPDX-License-Identifier: MIT
// The parts of a backend's set-up that need no host; the whole is tested in tests/lab.
#include "backend/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backend/changes.h"
#include "backend/vip.h"

namespace fairlead::backend {
namespace {

std::string text_of_parsed(const char* text) {
  const auto vip = parse_vip(text);
  return vip ? to_text(*vip) : vip.error().message;
}

TEST(Vip, IsAnAddressOfEitherFamilyAlsoWithItsFullPrefixLength) {
  EXPECT_EQ(text_of_parsed("198.51.100.10"), "198.51.100.10");
  EXPECT_EQ(text_of_parsed("198.51.100.10/32"), "198.51.100.10");
  EXPECT_EQ(text_of_parsed("2001:DB8:1:0::10"), "2001:db8:1::10");
  EXPECT_EQ(text_of_parsed("2001:db8:1::10/128"), "2001:db8:1::10");
}

TEST(Vip, IsNoPrefixAndNothingThatNoClientCanReach) {
  for (const char* text : {"", "web", "198.51.100", "198.51.100.10.1", "2001:db8::1%eth0"}) {
    EXPECT_THAT(text_of_parsed(text), testing::HasSubstr("is no IPv4 or IPv6 address")) << text;
  }
  for (const char* text :
       {"198.51.100.0/24", "2001:db8::/64", "198.51.100.10/", "2001:db8::1/32"}) {
    EXPECT_THAT(text_of_parsed(text), testing::HasSubstr("is a prefix")) << text;
  }
  for (const char* text : {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "::", "::1",
                           "fe80::1", "ff02::1", "::ffff:198.51.100.10"}) {
    EXPECT_THAT(text_of_parsed(text), testing::HasSubstr("cannot be a VIP")) << text;
  }
}

class ChangesFile : public testing::Test {
 protected:
  ~ChangesFile() override { std::filesystem::remove_all(folder_); }

  void write_text(const char* text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/changes") << text;
  }

  const std::string folder_ = testing::TempDir() + "fairlead-changes-" + std::to_string(getpid());
};

TEST_F(ChangesFile, GivesBackWhatWasWritten) {
  Changes changes;
  changes.interface = "eth0.100";
  changes.mounted_bpffs = true;
  changes.addresses = {*parse_vip("198.51.100.10"), *parse_vip("2001:db8:1::10")};
  changes.sysctls = {{"net.ipv4.conf.eth0/100.rp_filter", 1, 2}};
  ASSERT_TRUE(changes.write(folder_));
  const auto read = Changes::read(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->interface, changes.interface);
  EXPECT_TRUE(read->mounted_bpffs);
  EXPECT_EQ(read->addresses, changes.addresses);
  ASSERT_EQ(read->sysctls.size(), 1u);
  EXPECT_EQ(read->sysctls[0].name, "net.ipv4.conf.eth0/100.rp_filter");
  EXPECT_EQ(read->sysctls[0].before, 1);
  EXPECT_EQ(read->sysctls[0].after, 2);
}

TEST_F(ChangesFile, OfNoChangesAtAllCanBeReadAgain) {
  ASSERT_TRUE(Changes{}.write(folder_));
  const auto read = Changes::read(folder_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->interface, "");
  EXPECT_THAT(read->addresses, testing::IsEmpty());
}

TEST_F(ChangesFile, ThatIsMissingMeansNoChanges) {
  const auto read = Changes::read(folder_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->interface, "");
  EXPECT_THAT(read->sysctls, testing::IsEmpty());
}

TEST_F(ChangesFile, ThatIsBrokenIsAnErrorThatNamesTheLine) {
  for (const char* text : {"", "fairlead-backend 2\n", "fairlead-backend 1\naddress nonsense\n",
                           "fairlead-backend 1\nsysctl a 1\n", "fairlead-backend 1\nwhat\n"}) {
    write_text(text);
    const auto read = Changes::read(folder_);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, testing::HasSubstr(folder_ + "/changes: cannot read it"));
  }
}

TEST_F(ChangesFile, IsGoneWithItsFolderWhenForgotten) {
  ASSERT_TRUE(Changes{}.write(folder_));
  ASSERT_TRUE(Changes::forget(folder_));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_TRUE(Changes::forget(folder_));
}

}  // namespace
}  // namespace fairlead::backend
