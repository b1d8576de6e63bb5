// SPDX-License-Identifier: MIT
// For tests: texts of configuration files in which a ^ marks each place where a problem is
// expected.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "control/config/address.h"
#include "control/config/parse.h"

namespace fairlead::config {

struct Marked {
  std::string text;                 // without the marks
  std::vector<std::string> places;  // "line:column", in the order of the text
};

inline Marked marked(std::string_view text) {
  Marked result;
  uint32_t line = 1, column = 1;
  for (const char c : text) {
    if (c == '^') {
      result.places.push_back(std::to_string(line) + ":" + std::to_string(column));
      continue;
    }
    result.text += c;
    if (c == '\n') {
      line++;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      column++;
    }
  }
  return result;
}

// A file with mistakes: what is wrong at each mark, as "key: message".
struct Mistake {
  std::string sentence;  // names the test
  std::string text;
  std::vector<std::string> problems;

  std::vector<std::string> expected(std::string_view file) const {
    const Marked with_places = marked(text);
    std::vector<std::string> lines;
    EXPECT_EQ(with_places.places.size(), problems.size()) << "a mark for each problem";
    for (size_t i = 0; i < std::min(with_places.places.size(), problems.size()); i++) {
      lines.push_back(std::string(file) + ":" + with_places.places[i] + ": " + problems[i]);
    }
    return lines;
  }
};

inline std::vector<std::string> formatted(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(problem.format());
  return lines;
}

// A node with an address of each family.
inline NodeConfig node() {
  NodeConfig node;
  node.node.id = "lb-1";
  node.node.address = parse_address("192.0.2.11");
  node.node.address6 = parse_address("2001:db8:f::11");
  node.forwarder.interface = "eth0";
  return node;
}

// VIPs and pools of a services.json: the VIPs begin in line 2, the pools two lines below their end.
inline std::string services_file(std::string_view vips, std::string_view pools) {
  return "{\"vips\": [\n" + std::string(vips) + "],\n\"pools\": [\n" + std::string(pools) + "]}";
}

inline std::string test_name(const testing::TestParamInfo<Mistake>& info) {
  std::string name = info.param.sentence;
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

inline void PrintTo(const Mistake& mistake, std::ostream* stream) { *stream << mistake.sentence; }

}  // namespace fairlead::config
