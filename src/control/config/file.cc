// SPDX-License-Identifier: MIT
// Reading the files themselves, and both of them together.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "control/config/limits.h"
#include "control/config/node.h"
#include "control/config/parse.h"
#include "control/config/services.h"

namespace fairlead::config {
namespace {

// In the place of a node.toml that has problems: asks nothing of services.json.
NodeConfig undemanding(NodeConfig node) {
  node.node.address = IpAddress{core::Family::v4, {}};
  node.node.address6 = IpAddress{core::Family::v6, {}};
  node.forwarder.network_mtu = 65'535;
  return node;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return failure(fmt::format("{}: does not exist", path));
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return failure(fmt::format("{}: is a directory, expected a file", path));
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  char buffer[64 * 1024];
  while (stream && text.size() <= limits::file_bytes) {
    stream.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<size_t>(stream.gcount()));
  }
  if (text.size() > limits::file_bytes) {
    return failure(fmt::format("{}: is larger than {} MiB, expected a configuration file", path,
                               limits::file_bytes >> 20));
  }
  if (!stream.eof()) {
    return failure(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return text;
}

Parsed<Configuration> load(const std::string& node_file,
                           const std::optional<std::string>& services_file) {
  Configuration result;
  Problems problems;
  const auto collect = [&](Reader& reader) {
    for (Problem& problem : reader.take()) problems.push_back(std::move(problem));
  };

  Reader node(node_file);
  const Result<std::string> node_text = read_file(node_file);
  if (node_text) {
    result.node = read_node(*node_text, node);
  } else {
    problems.push_back({"", 0, 0, "", node_text.error().message});
  }
  const bool sound = node_text && node.clean();
  const bool knows_services = sound || !node.broken({"control_plane", "services"});
  collect(node);

  if (services_file || (node_text && knows_services)) {
    const std::string path = services_file.value_or(result.node.control_plane.services);
    Reader services(path);
    const Result<std::string> text = read_file(path);
    if (text) {
      result.services =
          read_services(*text, sound ? result.node : undemanding(result.node), services);
      collect(services);
    } else {
      problems.push_back({"", 0, 0, "", text.error().message});
    }
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return result;
}

}  // namespace fairlead::config
