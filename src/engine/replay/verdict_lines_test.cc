// SPDX-License-Identifier: MIT
#include "engine/replay/verdict_lines.h"

#include <gtest/gtest.h>

#include "core/verdict.h"
#include "engine/samples.h"

namespace fairlead::replay {
namespace {

using core::Reason;
using core::State;

class Lines : public testing::Test {
 protected:
  Lines()
      : memory_(tables::OwnMemory::make({.rows = 64,
                                         .tables = 8,
                                         .slots = 4096,
                                         .backends = 64,
                                         .services = 16,
                                         .narrow_lines = 2,
                                         .wide_lines = 2})
                    .value()),
        publisher_(memory_.view(), {}) {
    publish(*engine::samples::snapshot(251));
  }

  void publish(tables::Snapshot snapshot) {
    const auto shared = std::make_shared<const tables::Snapshot>(std::move(snapshot));
    const auto done = publisher_.publish(shared, 0);
    ASSERT_TRUE(done) << done.error().message;
    lines_.learn(publisher_);
  }

  // Of the first service and the third backend.
  core::Outcome outcome(Reason reason, State state) const {
    const auto id = static_cast<uint16_t>(publisher_.backend_id(0, 2));
    for (uint16_t service = 1; service < 16; service++) {
      if (publisher_.service(service) == 0) return {reason, state, service, vip(), id};
    }
    return {};
  }
  uint16_t vip() const {
    uint16_t id = 1;
    while (publisher_.vip(id) != 0) id++;
    return id;
  }

  std::string line(const VerdictLines::Frame& frame) const {
    fmt::memory_buffer text;
    lines_.write(frame, text);
    return fmt::to_string(text);
  }

  tables::OwnMemory memory_;
  tables::Publisher publisher_;
  VerdictLines lines_;
};

TEST_F(Lines, AForwardedFrameHasEveryFieldInTheOrderOfTheManual) {
  EXPECT_EQ(line({1, 0, outcome(Reason::fresh, State::handshake), 3, {1}}),
            R"({"frame":1,"time":0.0,"verdict":"forward","reason":"new","vip":"v4",)"
            R"("service":"tcp/80","pool":"web","backend":"10.0.0.3:80","state":"handshake",)"
            R"("worker":3,"out":[1]})"
            "\n");
}

TEST_F(Lines, FieldsThatDoNotApplyAreAbsent) {
  EXPECT_EQ(line({12, 1'500'000'000, {Reason::not_vip, State::none, 0, 0, 0}, 0, {}}),
            R"({"frame":12,"time":1.5,"verdict":"pass","reason":"not_vip","worker":0})"
            "\n");
  EXPECT_EQ(line({12, 0, outcome(Reason::hashed, State::none), 0, {9}}).find("state"),
            std::string::npos);
}

TEST_F(Lines, WithoutABackendThePoolThatHasNoneIsNamed) {
  core::Outcome none = outcome(Reason::no_backend, State::none);
  none.backend = 0;
  EXPECT_EQ(line({2, 0, none, 0, {}}),
            R"({"frame":2,"time":0.0,"verdict":"drop","reason":"no_backend","vip":"v4",)"
            R"("service":"tcp/80","pool":"web","worker":0})"
            "\n");
}

TEST_F(Lines, TimesAreExact) {
  const auto time = [this](int64_t ns) {
    const std::string text = line({1, ns, {Reason::not_ip, State::none, 0, 0, 0}, 0, {}});
    const size_t begin = text.find("time\":") + 6;
    return text.substr(begin, text.find(',', begin) - begin);
  };
  EXPECT_EQ(time(1), "0.000000001");
  EXPECT_EQ(time(1'000), "0.000001");
  EXPECT_EQ(time(60'000'000'000), "60.0");
  EXPECT_EQ(time(1'000'000'010), "1.00000001");
  EXPECT_EQ(time(-250'000'000), "-0.25");
}

TEST_F(Lines, AnIdThatIsGoneKeepsItsLastName) {
  const core::Outcome known = outcome(Reason::known, State::established);
  tables::Snapshot fewer = *engine::samples::snapshot(251);
  fewer.pools[0].members.erase(fewer.pools[0].members.begin() + 2);
  fewer.pools[0].table = {};
  publish(std::move(fewer));
  EXPECT_EQ(publisher_.backend(known.backend).pool, -1);
  EXPECT_NE(line({1, 0, known, 0, {1}}).find(R"("backend":"10.0.0.3:80")"), std::string::npos);
}

TEST_F(Lines, NamesAreEscaped) {
  tables::Snapshot odd = *engine::samples::snapshot(251);
  odd.vips[0].id = "a \"quoted\"\\ name\n";
  publish(std::move(odd));
  EXPECT_NE(line({1, 0, outcome(Reason::known, State::udp), 0, {1}})
                .find(R"("vip":"a \"quoted\"\\ name\u000a")"),
            std::string::npos);
}

}  // namespace
}  // namespace fairlead::replay
