// SPDX-License-Identifier: MIT
// Reading the files themselves, and both of them together.
#include <fmt/format.h>

#include <cerrno>
#include <expected>
#include <filesystem>
#include <fstream>
#include <system_error>

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

// A relative path counts from the folder of the file that names it, whoever reads it.
std::string path_beside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).string();
}

// The text of the file, or what is wrong with it.
std::expected<std::string, std::string> read(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return std::unexpected("does not exist");
  if (type == std::filesystem::file_type::directory) {
    return std::unexpected("is a directory, expected a file");
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  std::vector<char> buffer(64 * 1024);
  while (stream && text.size() <= limits::file_bytes) {
    stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer.data(), static_cast<size_t>(stream.gcount()));
  }
  if (text.size() > limits::file_bytes) {
    return std::unexpected(fmt::format("is larger than {} MiB, expected a configuration file",
                                       limits::file_bytes >> 20));
  }
  if (!stream.eof()) {
    return std::unexpected(
        fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  }
  return text;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  auto text = read(path);
  if (!text) return failure(fmt::format("{}: {}", path, text.error()));
  return std::move(*text);
}

Parsed<Configuration> load(const std::string& node_file,
                           const std::optional<std::string>& services_file) {
  Configuration result;
  Problems problems;
  const auto collect = [&](Reader& reader) {
    for (Problem& problem : reader.take()) problems.push_back(std::move(problem));
  };

  Reader node(node_file);
  const auto node_text = read(node_file);
  if (node_text) {
    result.node = read_node(*node_text, node);
  } else {
    problems.push_back({node_file, 0, 0, "", node_text.error()});
  }
  std::string& services_path = result.node.control_plane.services;
  services_path = path_beside(node_file, services_path);
  const bool sound = node_text && node.clean();
  const bool knows_services = sound || !node.broken({"control_plane", "services"});
  collect(node);

  if (services_file || (node_text && knows_services)) {
    const std::string path = services_file.value_or(services_path);
    Reader services(path);
    const auto text = read(path);
    if (text) {
      result.services =
          read_services(*text, sound ? result.node : undemanding(result.node), services);
      collect(services);
    } else {
      problems.push_back({path, 0, 0, "", text.error()});
    }
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return result;
}

}  // namespace fairlead::config
