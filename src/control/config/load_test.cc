// SPDX-License-Identifier: MIT
// Reading from the file system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "control/config/limits.h"
#include "control/config/parse.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

class Load : public testing::Test {
 protected:
  Load() {
    std::string pattern = testing::TempDir() + "fairlead-load-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Load() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }
  std::string node_file(const std::string& address = "192.0.2.11") const {
    return write("node.toml", "[node]\nid = \"lb-1\"\naddress = \"" + address +
                                  "\"\n[control_plane]\nservices = \"" + path("services.json") +
                                  "\"\n[forwarder]\ninterface = \"eth0\"\n");
  }

 private:
  std::filesystem::path folder_;
};

constexpr const char* good =
    R"({"vips": [], "pools": [{"id": "web", "backends": [{"ip": "10.0.0.1"}]}]})";
constexpr const char* bad =
    R"({"vips": [], "pools": [{"id": "web", "backends": [{"ip": "2001:db8::1", "weight": -1}]}]})";

TEST_F(Load, takes_the_services_that_the_node_names) {
  write("services.json", good);
  const auto loaded = load(node_file());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->node.node.id, "lb-1");
  EXPECT_EQ(loaded->services.pools.at(0).id, "web");
}

TEST_F(Load, takes_other_services_when_asked_to) {
  write("services.json", bad);
  EXPECT_TRUE(load(node_file(), write("other.json", good)));
}

TEST_F(Load, reports_the_problems_of_both_files) {
  write("services.json", bad);
  const auto loaded = load(node_file("nowhere"));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(
      formatted(loaded.error()),
      ElementsAre(StartsWith(path("node.toml") + ":3:11: node.address: is \"nowhere\""),
                  StartsWith(path("services.json") + ":1:83: pools[0].backends[0].weight: is -1")))
      << "and none that is only there because the node's address is not known";
}

TEST_F(Load, reports_a_node_file_that_is_no_TOML_and_the_services_that_were_asked_for) {
  const auto loaded = load(write("node.toml", "{}"), write("other.json", bad));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(formatted(loaded.error()),
              ElementsAre(StartsWith(path("node.toml") + ":1:1: not TOML: "),
                          StartsWith(path("other.json") + ":1:83: ")));
}

TEST_F(Load, says_which_file_does_not_exist) {
  EXPECT_THAT(formatted(load(path("none.toml")).error()),
              ElementsAre(path("none.toml") + ": does not exist"));
  EXPECT_THAT(formatted(load(node_file()).error()),
              ElementsAre(path("services.json") + ": does not exist"));
  EXPECT_THAT(
      formatted(load(path("none.toml"), path("none.json")).error()),
      ElementsAre(path("none.toml") + ": does not exist", path("none.json") + ": does not exist"));
}

TEST_F(Load, refuses_what_is_no_file) {
  EXPECT_THAT(read_file(path("")).error().message, EndsWith("is a directory, expected a file"));
}

TEST_F(Load, refuses_a_huge_file) {
  const std::string file = write("huge.json", "{}");
  std::filesystem::resize_file(file, limits::file_bytes + 1);
  EXPECT_EQ(read_file(file).error().message,
            file + ": is larger than 32 MiB, expected a configuration file");
  std::filesystem::resize_file(file, limits::file_bytes);
  EXPECT_TRUE(read_file(file));
  EXPECT_THAT(formatted(load(node_file(), file).error()),
              ElementsAre(EndsWith(":1:3: byte 0x00 is no text, expected UTF-8")));
}

TEST_F(Load, reads_an_endless_file_no_further_than_the_limit) {
  EXPECT_THAT(read_file("/dev/zero").error().message, testing::HasSubstr("is larger than"));
}

}  // namespace
}  // namespace fairlead::config
