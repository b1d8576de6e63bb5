// SPDX-License-Identifier: MIT
// The replay command as a person meets it: what it prints, and with which exit code it ends.
#include "operator/cli/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fairlead::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* services = R"({
 "vips": [{"id": "web", "address": "198.51.100.10",
           "services": [{"protocol": "udp", "port": 53, "backend_pool": "web"}]}],
 "pools": [{"id": "web", "table_size": 251,
            "backends": [{"ip": "10.0.0.1", "port": 53}, {"ip": "10.0.0.2", "port": 53}]}]})";

// A pcap file with `count` UDP packets to port 53 of the VIP, a second apart.
std::string capture(uint8_t count, uint32_t link_type = 1) {
  std::string file;
  const auto u32 = [&file](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>(value >> shift);
  };
  const auto bytes = [&file](std::initializer_list<int> values) {
    for (const int value : values) file += static_cast<char>(value);
  };
  for (const uint32_t word : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65'535u, link_type}) u32(word);
  for (uint8_t i = 0; i < count; i++) {
    for (const uint32_t word : {1'700'000'000u + i, 0u, 42u, 42u}) u32(word);
    bytes({2, 0, 0, 0, 0, 0x11, 2, 0, 0, 0, 0, 0xfe, 8, 0});
    bytes({0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 203, 0, 113, 5, 198, 51, 100, 10});
    bytes({0x40, i, 0, 53, 0, 8, 0, 0});
  }
  return file;
}

struct Ended {
  int code = 0;
  std::string out, error;
};

class ReplayCommand : public testing::Test {
 protected:
  ReplayCommand() {
    std::string name = (fs::temp_directory_path() / "fairlead-cli-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write("services.json", services);
    write("node.toml",
          "[node]\nid = \"lb\"\naddress = \"192.0.2.11\"\n[control_plane]\nservices = \"" +
              path("services.json") +
              "\"\n[forwarder]\ninterface = \"eth0\"\ngateway_mac = \"02:00:00:00:00:01\"\n");
    write("in.pcap", capture(3));
  }
  ~ReplayCommand() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (fs::path(folder_) / name).string(); }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name)).rdbuf();
    return out.str();
  }

  // The usual arguments and these.
  Ended run(std::vector<std::string> more) const {
    std::vector<std::string> words = {"replay",        "-c",    path("node.toml"), "--in",
                                      path("in.pcap"), "--out", path("out.pcap"),  "--json",
                                      path("v.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return run_words(std::move(words));
  }
  static Ended run_words(std::vector<std::string> words) {
    CLI::App app("test", "fairlead");
    app.require_subcommand(1);
    add_replay_command(app);
    std::reverse(words.begin(), words.end());  // as CLI11 wants a vector
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Ended ended;
    try {
      app.parse(words);
    } catch (const CLI::RuntimeError& end) {
      ended.code = end.get_exit_code();
    } catch (const CLI::ParseError& error) {
      ended.code = app.exit(error) == 0 ? 0 : 2;
    }
    std::fflush(stdout);
    ended.out = testing::internal::GetCapturedStdout();
    ended.error = testing::internal::GetCapturedStderr();
    return ended;
  }

  std::string folder_;
};

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

TEST_F(ReplayCommand, EndsWithASummaryOnOneLine) {
  const Ended ended = run({});
  EXPECT_EQ(ended.code, 0) << ended.error;
  EXPECT_EQ(ended.out, "3 frames in 2.000 s: 3 forward; 3 left\n");
  EXPECT_EQ(ended.error, "");
  EXPECT_EQ(lines(read("v.jsonl")), 3u);
}

TEST_F(ReplayCommand, LinesOnStandardOutputStandAlone) {
  const Ended ended = run_words({"replay", "-c", path("node.toml"), "--in", path("in.pcap"),
                                 "--out", path("out.pcap"), "--json", "-"});
  EXPECT_EQ(ended.code, 0) << ended.error;
  EXPECT_EQ(lines(ended.out), 3u);
  EXPECT_THAT(ended.out, StartsWith("{\"frame\":1,"));
}

TEST_F(ReplayCommand, ChangesComeAtTheirTimes) {
  write("later.json", std::string(services).replace(std::string(services).find("\"port\": 53"), 10,
                                                    "\"port\": 54"));
  const Ended ended = run({"--down", "10.0.0.1@1", "--down", "10.0.0.2:53@1", "--up",
                           "10.0.0.1@1.5", "--services", path("later.json") + "@2"});
  EXPECT_EQ(ended.code, 0) << ended.error;
  EXPECT_THAT(read("v.jsonl"),
              AllOf(HasSubstr(R"("frame":1,"time":0.0,"verdict":"forward","reason":"new")"),
                    HasSubstr(R"("frame":2,"time":1.0,"verdict":"drop","reason":"no_backend")"),
                    HasSubstr(R"("frame":3,"time":2.0,"verdict":"drop","reason":"no_service")")));
}

TEST_F(ReplayCommand, LayoutsAndWorkersAreAccepted) {
  EXPECT_EQ(run({"--layout", "pipeline", "--workers", "4"}).code, 0);
  EXPECT_EQ(run({"--layout", "run_to_completion", "--workers", "1"}).code, 0);
}

TEST_F(ReplayCommand, AnInputThatIsWrongEndsWith1AndOneLine) {
  write("cooked.pcap", capture(1, 113));
  write("text", "no capture at all");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--in", path("none.pcap")}, "none.pcap: cannot be opened"},
      {{"--in", path("text")}, "neither pcap nor pcapng"},
      {{"--in", path("cooked.pcap")}, "cooked.pcap"},
      {{"--out", path("none/out.pcap")}, "none/out.pcap: cannot be written"},
      {{"--passed", path("none/passed.pcap")}, "none/passed.pcap: cannot be written"},
      {{"-c", path("none.toml")}, "none.toml: does not exist"},
      {{"--down", "10.0.0.3"}, "did you mean \"10.0.0.1\"?"},
      {{"--down", "10.0.0.1@soon"}, "10.0.0.1@2.5"},
      {{"--up", "web-1"}, "expected IP or IP:PORT"},
      {{"--services", path("none.json") + "@1"}, "none.json: does not exist"},
      {{"--services", path("text") + "@1"}, "text:1:"},
  };
  for (const auto& [arguments, message] : wrong) {
    std::vector<std::string> words = {"replay"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const std::vector<std::pair<std::string, std::string>> usual = {
        {"-c", path("node.toml")}, {"--in", path("in.pcap")}, {"--out", path("out.pcap")}};
    for (const auto& [option, value] : usual) {
      if (arguments[0] != option) words.insert(words.end(), {option, value});
    }
    fs::remove(path("out.pcap"));
    const Ended ended = run_words(words);
    EXPECT_EQ(ended.code, 1) << arguments[1];
    EXPECT_THAT(ended.error, HasSubstr(message));
    EXPECT_EQ(lines(ended.error), 1u) << ended.error;
    if (arguments[0] != "--passed") EXPECT_FALSE(fs::exists(path("out.pcap"))) << arguments[1];
  }
}

TEST_F(ReplayCommand, EveryProblemOfTheConfigurationIsToldAtOnce) {
  write("services.json", R"({"vips": [{"id": 1}], "pool": []})");
  const Ended ended = run({"--down", "x@y"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.error, AllOf(HasSubstr("vips[0].id"), HasSubstr("pools"), HasSubstr("x@y")));
}

TEST_F(ReplayCommand, WrongUsageEndsWith2) {
  EXPECT_EQ(run_words({"replay"}).code, 2);
  EXPECT_EQ(run({"--engine", "dpdk"}).code, 2);
  EXPECT_EQ(run({"--layout", "ring"}).code, 2);
  EXPECT_EQ(run({"--workers", "0"}).code, 2);
  EXPECT_EQ(run({"--workers", "65"}).code, 2);
  EXPECT_EQ(run({"--sideways"}).code, 2);
}

TEST_F(ReplayCommand, ACaptureThatIsCutIsReplayedWithAWarning) {
  const std::string whole = capture(3);
  write("in.pcap", whole.substr(0, whole.size() - 7));
  const Ended ended = run({});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.error, AllOf(StartsWith("warning: "), HasSubstr("in.pcap")));
  EXPECT_EQ(lines(read("v.jsonl")), 2u);
}

}  // namespace
}  // namespace fairlead::cli
