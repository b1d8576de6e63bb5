// SPDX-License-Identifier: MIT
#include "control/controller/replay.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "control/controller/backend_change.h"
#include "control/controller/capacity.h"
#include "control/controller/replay_script.h"
#include "control/controller/unsupported.h"
#include "core/verdict.h"
#include "engine/replay/replay.h"

namespace fairlead::controller {
namespace {

using config::Problems;

void add(Problems& problems, std::string message) {
  problems.push_back({.file = {}, .key = {}, .message = std::move(message)});
}

void add(Problems& problems, Problems found) {
  std::ranges::move(found, std::back_inserter(problems));
}

// What is said about backends; whether they exist is not asked here.
std::vector<BackendChange> backend_changes(const ReplayRequest& request, Problems& problems) {
  std::vector<BackendChange> changes;
  const auto parse = [&](Word word, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      if (auto change = parse_backend_change(word, text)) {
        changes.push_back(*change);
      } else {
        add(problems, change.error().message);
      }
    }
  };
  parse(Word::down, request.down);
  parse(Word::draining, request.draining);
  parse(Word::up, request.up);
  return changes;
}

struct File {
  std::string path;
  uint64_t at_ns = 0;
};

std::vector<File> services_files(const ReplayRequest& request, Problems& problems) {
  std::vector<File> files;
  for (const std::string& text : request.services) {
    if (auto timed = parse_timed(text)) {
      files.push_back({std::string(timed->what), timed->at_ns});
    } else {
      add(problems, timed.error().message);
    }
  }
  return files;
}

std::optional<ServicesChange> read_services(const File& file, const config::NodeConfig& node,
                                            Problems& problems) {
  const auto text = config::read_file(file.path);
  if (!text) {
    add(problems, text.error().message);
    return std::nullopt;
  }
  auto services = config::parse_services(*text, file.path, node);
  if (!services) {
    add(problems, services.error());
    return std::nullopt;
  }
  return ServicesChange{std::move(*services), file.at_ns};
}

// All that a replay needs, checked.
struct Prepared {
  config::Configuration start;
  std::vector<ServicesChange> services;
  std::vector<BackendChange> backends;
  std::vector<std::string> warnings;

  std::vector<const config::Services*> configurations() const {
    std::vector<const config::Services*> all = {&start.services};
    for (const ServicesChange& change : services) all.push_back(&change.services);
    return all;
  }
};

config::Parsed<Prepared> prepare(const ReplayRequest& request) {
  Problems problems;
  Prepared prepared;
  prepared.backends = backend_changes(request, problems);
  const std::vector<File> files = services_files(request, problems);
  std::optional<std::string> first;  // in place of the file that node.toml names
  for (const File& file : files) {
    if (file.at_ns == 0) first = file.path;
  }
  auto start = config::load(request.node_file, first);
  if (!start) {
    add(problems, start.error());
    return std::unexpected(std::move(problems));
  }
  prepared.start = std::move(*start);
  for (const File& file : files) {
    if (file.at_ns == 0) continue;
    if (auto change = read_services(file, prepared.start.node, problems)) {
      prepared.services.push_back(std::move(*change));
    }
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  for (const config::Services* services : prepared.configurations()) {
    for (std::string& line : unsupported(prepared.start.node, *services)) {
      if (std::ranges::find(prepared.warnings, line) != prepared.warnings.end()) continue;
      prepared.warnings.push_back(std::move(line));
    }
  }
  for (const BackendChange& change : prepared.backends) {
    if (auto known = check_known(change.backend, prepared.configurations()); !known) {
      add(problems, known.error().message);
    }
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return prepared;
}

ReplayReport report_of(replay::Summary summary) {
  ReplayReport report;
  report.frames = summary.frames;
  report.left = summary.left;
  report.seconds = static_cast<double>(summary.last_ns) / 1e9;
  for (const core::Verdict verdict :
       {core::Verdict::pass, core::Verdict::forward, core::Verdict::reply, core::Verdict::drop}) {
    uint64_t frames = 0;
    for (uint32_t i = 0; i < core::reason_count; i++) {
      if (core::verdict_of(static_cast<core::Reason>(i)) == verdict) frames += summary.reasons[i];
    }
    report.verdicts.emplace_back(core::name_of(verdict), frames);
  }
  report.warnings = std::move(summary.warnings);
  return report;
}

}  // namespace

config::Parsed<ReplayReport> run_replay(const ReplayRequest& request) {
  auto prepared = prepare(request);
  if (!prepared) return std::unexpected(prepared.error());
  const config::Forwarder& forwarder = prepared->start.node.forwarder;
  const uint32_t usual = forwarder.num_threads != 0 ? forwarder.num_threads : 1;
  const uint32_t workers = request.workers != 0 ? request.workers : usual;
  const replay::Options options{
      .in = request.in,
      .out = request.out,
      .passed = request.passed,
      .json = request.json,
      .engine = request.in_kernel ? replay::Engine::xdp : replay::Engine::user,
      .workers = workers,
      .has_gateway = forwarder.gateway_mac.has_value(),
      .icmp_rate_limit = forwarder.icmp_rate_limit,
      .capacity = capacity_for(forwarder, workers, prepared->configurations()),
  };
  ReplayScript script(prepared->start.node, prepared->start.services, std::move(prepared->services),
                      std::move(prepared->backends));
  auto summary = replay::replay(options, script);
  if (!summary) {
    Problems problems;
    add(problems, std::move(summary.error().message));
    return std::unexpected(std::move(problems));
  }
  ReplayReport report = report_of(std::move(*summary));
  std::ranges::move(report.warnings, std::back_inserter(prepared->warnings));
  report.warnings = std::move(prepared->warnings);
  return report;
}

}  // namespace fairlead::controller
