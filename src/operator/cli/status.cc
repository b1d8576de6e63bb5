// SPDX-License-Identifier: MIT
#include "operator/cli/status.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "control/config/parse.h"
#include "operator/cli/command.h"
#include "operator/http/client.h"

namespace fairlead::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int no_daemon = 3;

struct Options {
  std::string node_file;
  bool json = false;
};

std::string where_of(const Options& options) {
  const auto text = config::read_file(options.node_file);
  if (!text) fail(text.error());
  const auto node = config::parse_node(*text, options.node_file);
  if (node) return node->node.http;
  fail(node.error());
}

Json ask(const std::string& where, const std::string& path) {
  const auto answer = http::get(where, path);
  if (!answer) fail(answer.error(), no_daemon);
  Json json = Json::parse(answer->body, nullptr, false);
  if (answer->status != 200 || json.is_discarded()) {
    fail({fmt::format("{} is served by something else: status {} for {}; see [node] http", where,
                      answer->status, path)},
         no_daemon);
  }
  return json;
}

std::string uptime(double seconds) {
  return to_text(std::chrono::seconds(static_cast<int64_t>(seconds)));
}

std::string text(const Json& json, const char* key) { return json.value(key, std::string()); }

void print_status(const Json& status) {
  const Json& engine = status.at("engine");
  fmt::print("node        {}, fairlead {}, up {}\n", text(status, "node"), text(status, "version"),
             uptime(status.value("uptime_s", 0.0)));
  fmt::print("engine      {}\n", engine.at("text").get<std::string>());
  if (const std::string note = text(engine, "note"); !note.empty())
    fmt::print("            {}\n", note);
  const std::string why = text(status, "not_forwarding");
  fmt::print("forwarding  {}\n", status.value("forwarding", false) ? "yes"
                                 : why.empty()                     ? "not yet"
                                                                   : "no: " + why);
  fmt::print("config      generation {}, {} reloads, {} refused; tables {}\n",
             status.value("generation", uint64_t{0}),
             status.at("reloads").value("applied", uint64_t{0}),
             status.at("reloads").value("refused", uint64_t{0}),
             status.value("table_generation", uint64_t{0}));
  if (const std::string refusal = text(status, "last_refusal"); !refusal.empty()) {
    fmt::print("            refused: {}\n", refusal);
  }
  const Json& packets = status.at("packets");
  fmt::print("packets     {} forward, {} reply, {} drop, {} pass\n",
             packets.value("forward", uint64_t{0}), packets.value("reply", uint64_t{0}),
             packets.value("drop", uint64_t{0}), packets.value("pass", uint64_t{0}));
}

std::string why(const Json& backend) {
  if (const std::string missing = text(backend, "no_next_hop"); !missing.empty()) return missing;
  std::string reason = text(backend, "reason");
  if (const std::string by = text(backend, "path_mtu_told_by"); !by.empty()) {
    reason += fmt::format("{}path MTU {} (told by {})", reason.empty() ? "" : "; ",
                          backend.value("path_mtu", uint64_t{0}), by);
  }
  return reason;
}

void print_pools(const Json& pools) {
  size_t width = 7;
  for (const Json& pool : pools) {
    for (const Json& backend : pool.at("backends")) {
      width = std::max(width, text(backend, "name").size());
    }
  }
  for (const Json& pool : pools) {
    fmt::print("\npool {} ({})\n", text(pool, "id"), text(pool, "method"));
    fmt::print("  {:{}}  {:7}  {:9}  {:>6}  {:>6}  {:>12}  {}\n", "backend", width, "health",
               "flows", "weight", "share", "packets", "why");
    const double slots = std::max(1.0, pool.value("slots", 0.0));
    for (const Json& backend : pool.at("backends")) {
      const char* flows = backend.value("takes_new", false)     ? "new"
                          : backend.value("keeps_known", false) ? "known"
                                                                : "none";
      fmt::print("  {:{}}  {:7}  {:9}  {:>6}  {:>5.1f}%  {:>12}  {}\n", text(backend, "name"),
                 width, text(backend, "health"),
                 text(backend, "state") == "draining" ? "draining" : flows,
                 backend.value("weight", uint64_t{0}), 100 * backend.value("slots", 0.0) / slots,
                 backend.value("packets", uint64_t{0}), why(backend));
    }
  }
}

void status(const Options& options) {
  const std::string where = where_of(options);
  const Json status = ask(where, "/v1/status");
  if (options.json) {
    fmt::print("{}\n", status.dump(2));
    return;
  }
  const Json pools = ask(where, "/v1/pools");
  try {
    print_status(status);
    print_pools(pools);
  } catch (const Json::exception& error) {
    fail(Error{fmt::format("the daemon is of another version: {}", error.what())});
  }
}

}  // namespace

void add_status_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("status", "What the daemon on this machine does");
  add_config_option(*command, options->node_file);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { status(*options); });
}

}  // namespace fairlead::cli
