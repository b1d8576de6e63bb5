// SPDX-License-Identifier: MIT
#include "operator/cli/check.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "control/config/parse.h"
#include "control/controller/members.h"
#include "control/controller/unsupported.h"
#include "operator/cli/command.h"

namespace fairlead::cli {
namespace {

struct Options {
  std::string node_file;
  std::optional<std::string> services_file;
  bool keys = false;
};

size_t different_backends(const config::Pool& pool) {
  std::set<tables::Identity> different;
  for (const config::Backend& backend : pool.backends) {
    different.insert(controller::identity_of(pool.method, backend));
  }
  return different.size();
}

void check_files(const Options& options) {
  const auto loaded = config::load(options.node_file, options.services_file);
  if (!loaded) fail(loaded.error());
  for (const std::string& line : controller::unsupported(loaded->node, loaded->services)) {
    say("warning: " + line);
  }
  size_t backends = 0;
  for (const config::Pool& pool : loaded->services.pools) backends += different_backends(pool);
  fmt::print("{} with {} is valid: {}, {}, {}\n", options.node_file,
             options.services_file.value_or(loaded->node.control_plane.services),
             counted(loaded->services.vips.size(), "VIP"),
             counted(loaded->services.pools.size(), "pool"), counted(backends, "backend"));
}

void print_keys(std::string_view file, const std::vector<config::KeyLine>& keys) {
  fmt::print("{}\n", file);
  for (const config::KeyLine& key : keys) {
    const std::string fallback = key.required                ? "required"
                                 : key.default_value.empty() ? "optional"
                                                             : "default " + key.default_value;
    fmt::print("  {}  ({})\n      {}; {}\n", key.path, fallback, key.meaning, key.type);
  }
}

}  // namespace

void add_check_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("check", "Check node.toml and services.json");
  const auto options = std::make_shared<Options>();
  add_config_option(*command, options->node_file);
  command
      ->add_option("--services", options->services_file,
                   "services.json, instead of the one that node.toml names")
      ->type_name("FILE");
  command->add_flag("--keys", options->keys, "List every key of both files instead");
  command->callback([options] {
    if (options->keys) {
      print_keys("node.toml", config::node_keys());
      print_keys("services.json", config::services_keys());
    } else {
      check_files(*options);
    }
  });
}

}  // namespace fairlead::cli
