// SPDX-License-Identifier: MIT
// Replay over real files, in both engines where the machine lets it: the same frames and the same
// lines must come out.
#include "engine/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "engine/io/pcap.h"
#include "engine/samples.h"

namespace fairlead::replay {
namespace {

namespace samples = engine::samples;
namespace fs = std::filesystem;
using samples::Flags;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Bytes = std::vector<std::byte>;

constexpr uint64_t second = 1'000'000'000;

struct Timed {
  uint64_t ns = 0;
  Bytes bytes;
};

Bytes bytes_of(const samples::Sample& sample) {
  const auto bytes = std::as_bytes(std::span(sample.frame));
  return {bytes.begin(), bytes.end()};
}
Bytes syn() { return bytes_of(samples::tcp_v4(Flags::syn)); }
Bytes ack() { return bytes_of(samples::tcp_v4(Flags::ack)); }

// Publishes the sample world, then does what the test says.
class TestScript final : public Script {
 public:
  using Step = std::function<void(tables::Publisher&)>;
  std::map<uint64_t, Step> steps;

  std::optional<uint64_t> next_ns() const override {
    if (!begun_) return 0;
    return steps.empty() ? std::nullopt : std::optional(steps.begin()->first);
  }
  Result<void> perform(tables::Publisher& publisher, uint64_t now_ms) override {
    if (!begun_) {
      begun_ = true;
      return publisher.publish(samples::snapshot(251), now_ms);
    }
    steps.begin()->second(publisher);
    steps.erase(steps.begin());
    return {};
  }

 private:
  bool begun_ = false;
};

class ReplayTest : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (GetParam() == Engine::xdp && geteuid() != 0) GTEST_SKIP() << "the BPF program needs root";
    std::string name = (fs::temp_directory_path() / "fairlead-replay-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_ = {.in = path("in"),
                .out = path("out"),
                .passed = path("passed"),
                .json = path("json"),
                .engine = GetParam(),
                .capacity = {.rows = 64,
                             .tables = 16,
                             .slots = 4096,
                             .backends = 64,
                             .services = 16,
                             .narrow_lines = 1024,
                             .wide_lines = 1024}};
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void write_input(const std::vector<Timed>& frames) const {
    auto writer = engine::CaptureWriter::create(path("in"), engine::Precision::nano);
    ASSERT_TRUE(writer);
    for (const Timed& frame : frames) {
      ASSERT_TRUE(writer->write(1'700'000'000 * second + frame.ns, frame.bytes));
    }
    ASSERT_TRUE(writer->close());
  }

  std::vector<Timed> read(const std::string& name) const {
    std::vector<Timed> frames;
    auto reader = engine::CaptureReader::open(path(name));
    EXPECT_TRUE(reader) << reader.error().message;
    while (reader) {
      const auto frame = reader->next();
      EXPECT_TRUE(frame);
      if (!frame || !*frame) break;
      frames.push_back({(**frame).time_ns - 1'700'000'000 * second,
                        Bytes((**frame).bytes.begin(), (**frame).bytes.end())});
    }
    return frames;
  }

  std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name)).rdbuf();
    return out.str();
  }

  std::vector<std::string> reasons() const {
    std::vector<std::string> out;
    std::istringstream lines(text("json"));
    for (std::string line; std::getline(lines, line);) {
      const size_t begin = line.find("\"reason\":\"") + 10;
      out.push_back(line.substr(begin, line.find('"', begin) - begin));
    }
    return out;
  }

  Summary run(const std::vector<Timed>& frames) {
    write_input(frames);
    auto summary = replay(options_, script_);
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? *summary : Summary{};
  }

  std::string refusal() {
    script_ = {};
    auto summary = replay(options_, script_);
    return summary ? "replayed" : summary.error().message;
  }

  fs::path folder_;
  Options options_;
  TestScript script_;
};

TEST_P(ReplayTest, AFrameLeavesInATunnelFromTheAddressThatItWasSentTo) {
  Bytes frame = syn();
  frame[5] = std::byte{0x77};
  const Summary summary = run({{5 * second, frame}});
  const std::vector<Timed> out = read("out");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].ns, 5 * second);
  ASSERT_EQ(out[0].bytes.size(), frame.size() + 24);
  EXPECT_TRUE(std::equal(frame.begin() + 14, frame.end(), out[0].bytes.begin() + 38));
  EXPECT_EQ(out[0].bytes[5], std::byte{9}) << "the next hop of the backend";
  EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 6, out[0].bytes.begin() + 6));
  EXPECT_THAT(text("json"),
              HasSubstr(R"({"frame":1,"time":0.0,"verdict":"forward","reason":"new")"));
  EXPECT_THAT(text("json"), HasSubstr(R"("out":[1]})"));
  EXPECT_THAT(read("passed"), IsEmpty());
  EXPECT_EQ(summary.frames, 1u);
  EXPECT_EQ(summary.left, 1u);
  EXPECT_THAT(summary.warnings, IsEmpty());
}

TEST_P(ReplayTest, WithoutAGatewayAFrameGoesBackWhereItCameFrom) {
  options_.has_gateway = false;
  const Bytes frame = syn();
  run({{0, frame}});
  const std::vector<Timed> out = read("out");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(std::equal(frame.begin() + 6, frame.begin() + 12, out[0].bytes.begin()));
}

TEST_P(ReplayTest, WhatPassesIsWrittenAsItCame) {
  const Bytes frame = bytes_of(samples::not_a_vip());
  run({{0, frame}, {1, syn()}});
  const std::vector<Timed> passed = read("passed");
  ASSERT_EQ(passed.size(), 1u);
  EXPECT_EQ(passed[0].bytes, frame);
  EXPECT_EQ(read("out").size(), 1u);
}

TEST_P(ReplayTest, ConnectionsAgeByTheClockOfTheCapture) {
  run({{0, syn()}, {5 * second, syn()}, {10 * second + 201'000'000, syn()}});
  EXPECT_THAT(reasons(), ElementsAre("new", "known", "new"));
}

TEST_P(ReplayTest, AFrameStampedEarlierThanTheOneBeforeItMakesNobodyOlder) {
  run({{10 * second, syn()}, {2 * second, syn()}, {10 * second, syn()}});
  EXPECT_THAT(reasons(), ElementsAre("new", "known", "known"));
  EXPECT_THAT(text("json"), HasSubstr(R"("frame":2,"time":-8.0)"));
}

TEST_P(ReplayTest, AChangeHappensBeforeTheFramesOfItsInstant) {
  const auto all_down = [](tables::Publisher& publisher) {
    for (uint32_t member = 0; member < 10; member++) publisher.set_flags(0, member, 0);
  };
  script_.steps[second] = all_down;
  script_.steps[100 * second] = [](tables::Publisher&) { FAIL() << "after the last frame"; };
  run({{0, syn()}, {second - 1, syn()}, {second, syn()}});
  EXPECT_THAT(reasons(), ElementsAre("new", "known", "no_backend"));
}

TEST_P(ReplayTest, WorkersChangeNothingButTheirNumber) {
  std::vector<Timed> frames;
  for (uint32_t i = 0; i < 400; i++) {
    samples::Sample sample = samples::tcp_v4(i % 3 == 0 ? Flags::syn : Flags::ack);
    sample.frame[sample.port_offset] = static_cast<uint8_t>(i % 100);
    frames.push_back({i, bytes_of(sample)});
  }
  run(frames);
  const std::string one = text("out");
  const std::vector<std::string> why = reasons();
  options_.workers = 3;
  script_ = {};
  run(frames);
  EXPECT_EQ(text("out"), one);
  EXPECT_EQ(reasons(), why);
  for (const char* worker : {"\"worker\":0", "\"worker\":1", "\"worker\":2"}) {
    EXPECT_THAT(text("json"), HasSubstr(worker));
  }
}

TEST_P(ReplayTest, FramesOfEveryLengthHaveAVerdict) {
  std::vector<Timed> frames;
  const std::vector<size_t> lengths = {0,    1,    13,    14,    33,    34,    53,    54,
                                       3520, 3521, 65536, 65557, 65558, 73152, 73153, 262144};
  for (const size_t length : lengths) {
    Bytes frame = ack();
    frame.resize(length, std::byte{0xa5});
    frames.push_back({length, frame});
  }
  const Summary summary = run(frames);
  EXPECT_EQ(summary.frames, frames.size());
  // The packet's length field says 50 bytes; what is behind them is padding, which stays.
  EXPECT_THAT(reasons(), ElementsAre("not_ip", "not_ip", "not_ip", "not_vip", "not_vip",
                                     "malformed", "malformed", "malformed", "new", "known", "known",
                                     "known", "known", "known", "known", "known"));
  const std::vector<Timed> out = read("out");
  ASSERT_EQ(out.size(), 8u);
  for (const Timed& frame : out) {
    EXPECT_TRUE(std::ranges::all_of(std::span(frame.bytes).subspan(24 + 64),
                                    [](std::byte b) { return b == std::byte{0xa5}; }));
  }
}

// What an offload would put together of many segments.
TEST_P(ReplayTest, APacketOfSixtyKilobytesIsForwardedWhole) {
  Bytes frame = ack();
  const uint16_t length = 60'000;
  frame[16] = static_cast<std::byte>(length >> 8);
  frame[17] = static_cast<std::byte>(length & 0xff);
  frame.resize(14 + length, std::byte{0x5a});
  run({{0, frame}});
  EXPECT_THAT(reasons(), ElementsAre("new"));
  const std::vector<Timed> out = read("out");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(
      std::equal(frame.begin() + 14, frame.end(), out[0].bytes.begin() + 38, out[0].bytes.end()));
}

TEST_P(ReplayTest, ACaptureThatEndsTooEarlyIsReplayedAsFarAsItGoes) {
  write_input({{0, syn()}, {1, ack()}});
  fs::resize_file(path("in"), fs::file_size(path("in")) - 10);
  const auto summary = replay(options_, script_);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->frames, 1u);
  ASSERT_EQ(summary->warnings.size(), 1u);
  EXPECT_THAT(summary->warnings[0], HasSubstr(path("in")));
}

TEST_P(ReplayTest, ACaptureWithLengthsThatCannotBeIsAnErrorAfterWhatWasWhole) {
  write_input({{0, syn()}, {1, ack()}});
  std::fstream file(path("in"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(24 + 16 + syn().size() + 8));
  file.write("\xff\xff\xff\x7f", 4);
  file.close();
  EXPECT_THAT(refusal(), HasSubstr(path("in")));
  EXPECT_EQ(read("out").size(), 1u);
  EXPECT_THAT(reasons(), ElementsAre("new"));
}

TEST_P(ReplayTest, AnEmptyCaptureGivesEmptyFiles) {
  const Summary summary = run({});
  EXPECT_EQ(summary.frames, 0u);
  EXPECT_THAT(read("out"), IsEmpty());
  EXPECT_EQ(text("json"), "");
}

TEST_P(ReplayTest, NoOutputIsWrittenOverTheInputOrAnotherOutput) {
  write_input({{0, syn()}});
  options_.out = path("./in");
  EXPECT_THAT(refusal(), HasSubstr("it is the input"));
  options_.out = path("out");
  options_.json = path("out");
  EXPECT_THAT(refusal(), HasSubstr("it is an output already"));
  EXPECT_EQ(read("in").size(), 1u);
}

TEST_P(ReplayTest, FilesThatCannotBeReadOrWrittenAreNamed) {
  EXPECT_THAT(refusal(), HasSubstr(path("in") + ": cannot be opened"));
  write_input({{0, syn()}});
  options_.json = path("none/json");
  EXPECT_THAT(refusal(), HasSubstr(path("none/json") + ": cannot be written"));
}

std::string name_of(const testing::TestParamInfo<Engine>& parameter) {
  return parameter.param == Engine::xdp ? "Xdp" : "User";
}
INSTANTIATE_TEST_SUITE_P(Engines, ReplayTest, testing::Values(Engine::user, Engine::xdp), name_of);

// Frames of the sample world with bytes changed at random, through both engines.
class Agreement : public ReplayTest {};

TEST_P(Agreement, BothEnginesGiveTheSameBytesForTheSameFrames) {
  std::mt19937 random(1);
  std::vector<Timed> frames;
  const std::vector<Bytes> kinds = {syn(), ack(), bytes_of(samples::tcp_v6(Flags::syn)),
                                    bytes_of(samples::udp_v4()), bytes_of(samples::not_a_vip())};
  for (uint32_t i = 0; i < 20'000; i++) {
    Bytes frame = kinds[random() % kinds.size()];
    for (uint32_t changes = random() % 4; changes > 0; changes--) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) frame.resize(random() % (frame.size() + 40));
    frames.push_back({i * 10'000'000ull, frame});
  }
  options_.workers = 2;
  options_.engine = Engine::user;
  run(frames);
  const std::string out = text("out"), json = text("json"), passed = text("passed");
  options_.engine = Engine::xdp;
  script_ = {};
  run(frames);
  EXPECT_EQ(text("json"), json);
  EXPECT_TRUE(text("out") == out);
  EXPECT_TRUE(text("passed") == passed);
}

INSTANTIATE_TEST_SUITE_P(Engines, Agreement, testing::Values(Engine::xdp), name_of);

}  // namespace
}  // namespace fairlead::replay
