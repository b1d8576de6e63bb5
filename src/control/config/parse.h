// SPDX-License-Identifier: MIT
// From the text of node.toml and services.json to the values of config/model.h, or to every problem
// in them at once. A problem names its place, its key, what is wrong and what is expected, so that
// it can be mended without a manual. Nothing here touches the machine but read_file() and load().
// No exception leaves; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/config/model.h"

namespace fairlead::config {

struct Problem {
  std::string file;
  uint32_t line = 0, column = 0;  // from 1, columns count characters; 0: the file as a whole
  std::string key;                // "pools[0].backends[2].ip", from 0; empty: the file as a whole
  std::string message;
  std::string format() const;  // "services.json:12:7: pools[0].backends[2].ip: is \"10.0.0\", ..."
};

using Problems = std::vector<Problem>;  // sorted by position

template <class T>
using Parsed = std::expected<T, Problems>;

// `file_name` only appears in problems.
Parsed<NodeConfig> parse_node(std::string_view text, std::string_view file_name);

// What services.json may say depends on the node: its addresses, MTU and health check defaults.
Parsed<Services> parse_services(std::string_view text, std::string_view file_name,
                                const NodeConfig& node);

// At most limits::file_bytes; the error names the file and what to do.
Result<std::string> read_file(const std::string& path);

struct Configuration {
  NodeConfig node;
  Services services;
};

// Reads and parses both files; `services_file` instead of the one that node.toml names. Problems of
// both are reported together: a mistake in node.toml does not hide those in services.json. In the
// result a relative `services` of node.toml counts from the folder of node.toml.
Parsed<Configuration> load(const std::string& node_file,
                           const std::optional<std::string>& services_file = {});

// Every key of a file in the order of its schema, for `fairlead check --keys` and the
// documentation.
struct KeyLine {
  std::string path;           // "forwarder.connection_ttls.udp", "pools[].backends[].ip"
  std::string type;           // what is expected, in words
  bool required = false;      // wherever the table that holds it stands
  std::string default_value;  // as written in the file; empty: none
  std::string meaning;
};

std::vector<KeyLine> node_keys();
std::vector<KeyLine> services_keys();

}  // namespace fairlead::config
