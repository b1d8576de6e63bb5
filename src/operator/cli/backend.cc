// SPDX-License-Identifier: MIT
#include "operator/cli/backend.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/host.h"
#include "backend/vip.h"
#include "control/config/address.h"

namespace fairlead::cli {
namespace {

struct Options {
  std::string interface;
  std::vector<std::string> vips;
  bool json = false;
};

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "fairlead backend: {}\n", error.message);
  throw CLI::RuntimeError(1);
}

// Checked by vip_validator() already.
std::vector<backend::VipKey> keys_of(const std::vector<std::string>& texts) {
  std::vector<backend::VipKey> vips;
  for (const std::string& text : texts) {
    const auto vip = backend::parse_vip(text);
    if (!vip) {
      fail(vip.error());
    }
    if (!backend::contains(vips, *vip)) {
      vips.push_back(*vip);
    }
  }
  return vips;
}

CLI::Validator vip_validator() {
  return CLI::Validator(
      [](const std::string& text) {
        const auto vip = backend::parse_vip(text);
        if (!vip) return vip.error().message;
        const auto prefix = config::parse_prefix(text);  // what services.json may not name either
        const auto kind = prefix ? config::special_kind(*prefix) : "";
        return kind.empty() ? std::string() : fmt::format("\"{}\" is of the kind {}", text, kind);
      },
      "ADDRESS");
}

void setup(const Options& options) {
  const auto done = backend::setup(options.interface, keys_of(options.vips));
  if (!done) {
    fail(done.error());
  }
  for (const std::string& change : done->changed) {
    fmt::print("{}\n", change);
  }
  if (!done->why_generic.empty()) {
    fmt::print("generic mode: the driver of {} refuses XDP ({}); it works, at a lower rate\n",
               options.interface, done->why_generic);
  }
  fmt::print("{}: {} mode, {}\n", options.interface, name_of(done->mode),
             done->changed.empty() ? "nothing to change" : "done");
}

void remove(const Options& options) {
  const auto undone = backend::remove(keys_of(options.vips));
  if (!undone) {
    fail(undone.error());
  }
  for (const std::string& change : *undone) {
    fmt::print("{}\n", change);
  }
  if (undone->empty()) {
    fmt::print("nothing to remove\n");
  }
}

nlohmann::ordered_json json_of(const backend::CheckDone& done) {
  nlohmann::ordered_json json = {{"ok", done.ok()}, {"checks", nlohmann::ordered_json::array()}};
  for (const backend::Finding& finding : done.findings) {
    json["checks"].push_back({{"name", finding.name},
                              {"ok", finding.ok()},
                              {"detail", finding.detail},
                              {"remedy", finding.remedy}});
  }
  if (done.packets) {
    for (core::u32 i = 0; i < backend::outcome_count; ++i) {
      json["packets"][name_of(static_cast<backend::Outcome>(i))] = (*done.packets)[i];
    }
  }
  return json;
}

void print(const backend::CheckDone& done) {
  size_t width = 0;
  for (const backend::Finding& finding : done.findings) {
    width = std::max(width, finding.name.size());
  }
  for (const backend::Finding& finding : done.findings) {
    fmt::print("{}  {:{}}  {}\n", finding.ok() ? "ok   " : "wrong", finding.name, width,
               finding.detail);
  }
  if (done.packets) {
    using backend::Outcome;
    const auto count = [&](Outcome outcome) {
      return (*done.packets)[static_cast<size_t>(outcome)];
    };
    fmt::print(
        "       packets: {} decapsulated (gre {}, ipip {}, gue {}), {} for other addresses, "
        "{} malformed, {} congested\n",
        count(Outcome::gre) + count(Outcome::ipip) + count(Outcome::gue), count(Outcome::gre),
        count(Outcome::ipip), count(Outcome::gue), count(Outcome::other_vip),
        count(Outcome::malformed), count(Outcome::congested));
  }
  std::vector<std::string> remedies;
  for (const backend::Finding& finding : done.findings) {
    if (!finding.ok() && std::ranges::find(remedies, finding.remedy) == remedies.end()) {
      remedies.push_back(finding.remedy);
      fmt::print("to do: {}\n", finding.remedy);
    }
  }
}

void check(const Options& options) {
  const auto done = backend::check(options.interface, keys_of(options.vips));
  if (!done) {
    fail(done.error());
  }
  if (options.json) {
    fmt::print("{}\n", json_of(*done).dump(2));
  } else {
    print(*done);
  }
  if (!done->ok()) {
    throw CLI::RuntimeError(1);
  }
}

CLI::Option* add_vips(CLI::App& command, Options& options, const char* description) {
  return command.add_option("--vip", options.vips, description)->check(vip_validator());
}

}  // namespace

void add_backend_commands(CLI::App& app) {
  CLI::App* group = app.add_subcommand("backend", "Prepare a backend host for tunnelled packets");
  group->require_subcommand(1);

  const auto options = std::make_shared<Options>();
  CLI::App* command = group->add_subcommand("setup", "Decapsulate, hold the VIPs, set the sysctls");
  add_vips(*command, *options, "A VIP that this host serves; repeat for each")->required();
  command->add_option("--interface", options->interface, "Where the tunnels end")
      ->default_str("eth0")
      ->default_val("eth0");
  command->callback([options] { setup(*options); });

  const auto check_options = std::make_shared<Options>();
  command = group->add_subcommand("check", "Look at every link of the chain");
  add_vips(*command, *check_options, "Expect this VIP; default: those that were set up");
  command->add_option("--interface", check_options->interface,
                      "Where the tunnels end; default: where they were set up");
  command->add_flag("--json", check_options->json, "Print JSON");
  command->callback([check_options] { check(*check_options); });

  const auto remove_options = std::make_shared<Options>();
  command = group->add_subcommand("remove", "Put back what setup changed");
  add_vips(*command, *remove_options, "Give up only this VIP; default: all, and the program");
  command->callback([remove_options] { remove(*remove_options); });
}

}  // namespace fairlead::cli
