// SPDX-License-Identifier: MIT
#include "control/controller/daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "control/controller/engines.h"
#include "engine/bpf/interface.h"

namespace fairlead::controller {
namespace {

constexpr size_t problems_told = 20;  // in the log, of one file

HopsSeen hops_of(const std::vector<neighbours::Resolver::Found>& found) {
  HopsSeen seen;
  for (const auto& [backend, hop] : found) seen.hops.push_back({backend, hop.mac, hop.missing});
  return seen;
}

void tell_mode(const engine::Status& status) {
  const bool native = status.mode == engine::Mode::native;
  const bool user = status.engine == "user";
  log::info("engine {} on {}: {} XDP{}, {} worker{}", status.engine, status.interface,
            native ? "native" : "generic",
            user ? (status.zero_copy ? ", zero-copy" : ", copy mode") : "", status.workers,
            status.workers == 1 ? "" : "s");
  if (!status.note.empty()) log::warning("{}: {}", status.interface, status.note);
}

}  // namespace

Daemon::Daemon(boost::asio::io_context& loop, std::unique_ptr<engine::Engine> engine,
               Options options, config::MacAddress source)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      controller_(options_.configuration.node, source),
      checker_(loop, options_.seed,
               {.flip = [this](const health::Flip& flip) { step(HealthSeen{flip}); },
                .answer = [this](const health::Check& check,
                                 const health::Outcome& outcome) { answered(check, outcome); }}),
      timer_(loop) {}

Result<std::unique_ptr<Daemon>> Daemon::start(boost::asio::io_context& loop, Options options) {
  auto engine = make_engine(options.configuration);
  if (!engine) return std::unexpected(engine.error());
  tell_mode((*engine)->status());
  return start(loop, std::move(*engine), std::move(options));
}

Result<std::unique_ptr<Daemon>> Daemon::start(boost::asio::io_context& loop,
                                              std::unique_ptr<engine::Engine> engine,
                                              Options options) {
  const auto interface = engine::find_interface(options.configuration.node.forwarder.interface);
  if (!interface) return std::unexpected(interface.error());
  std::unique_ptr<Daemon> daemon(
      new Daemon(loop, std::move(engine), std::move(options), interface->mac));
  auto watcher = neighbours::Watcher::open(
      loop, interface->name, interface->index,
      [raw = daemon.get()](const auto& found) { raw->step(hops_of(found)); });
  if (!watcher) return std::unexpected(watcher.error());
  daemon->watcher_ = std::move(*watcher);
  daemon->configure(std::exchange(daemon->options_.configuration.services, {}));
  return daemon;
}

void Daemon::configure(config::Services services) {
  auto own = watcher_->own();
  if (!own) log::warning("the addresses of this host are unknown: {}", own.error().message);
  step(Configure{std::move(services), own ? std::move(*own) : std::vector<config::IpAddress>{}});
}

void Daemon::reload() {
  log::info("reading {} again", options_.services_file);
  const auto text = config::read_file(options_.services_file);
  if (!text) return refused(text.error().message);
  auto services =
      config::parse_services(*text, options_.services_file, options_.configuration.node);
  if (services) return configure(std::move(*services));
  const config::Problems& problems = services.error();
  for (size_t i = 0; i < std::min(problems.size(), problems_told); i++) {
    log::error("{}", problems[i].format());
  }
  refused(fmt::format("{} problem{}, the first: {}", problems.size(),
                      problems.size() == 1 ? "" : "s", problems.front().format()));
}

void Daemon::refused(std::string why) {
  refused_++;
  log::error("the new configuration is refused, the old one stays: {}", why);
  last_refusal_ = std::move(why);
}

void Daemon::step(Event event) {
  events_.push_back(std::move(event));
  if (busy_) return;
  busy_ = true;
  while (!events_.empty()) {
    Event next = std::move(events_.front());
    events_.pop_front();
    begin_step_ = now();
    perform(controller_.step(begin_step_, std::move(next)));
  }
  busy_ = false;
  const auto deadline = controller_.deadline();
  if (!deadline) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(*deadline);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) step(Tick{});
  });
}

void Daemon::perform(Actions actions) {
  for (Action& action : actions) {
    if (const auto* flags = std::get_if<SetFlags>(&action)) {
      engine_->set_flags(flags->pool, flags->member, flags->flags);
    } else if (auto* watch = std::get_if<Watch>(&action)) {
      checker_.want(std::move(watch->checks));
    } else if (auto* resolve = std::get_if<Resolve>(&action)) {
      watcher_->want(std::move(resolve->backends));
    } else if (const auto* tell = std::get_if<Tell>(&action)) {
      log::write(tell->level, tell->message);
    } else if (const auto* wanted = std::get_if<Publish>(&action)) {
      publish(*wanted);
    }
  }
}

void Daemon::publish(const Publish& action) {
  const bool first = !controller_.published();
  auto done = engine_->publish(action.snapshot);
  rebuild_.add(now() - begin_step_);  // planning was a part of this step
  if (action.new_configuration) {
    if (!done) refused(done.error().message);
    if (done) {
      last_refusal_.clear();
      const auto since = std::chrono::system_clock::now().time_since_epoch();
      last_reload_ = std::chrono::duration<double>(since).count();
      if (!first) applied_++;
    }
  }
  Published answer;
  if (!done) answer.refused = done.error();
  perform(controller_.step(now(), std::move(answer)));
  if (first && options_.started) std::exchange(options_.started, nullptr)(std::move(done));
}

void Daemon::answered(const health::Check& check, const health::Outcome& outcome) {
  check_latency_.add(outcome.latency);
  for (const std::string& pool : controller_.pools_of(check)) {
    checks_[pool][static_cast<size_t>(outcome.result)]++;
  }
}

View Daemon::view() const {
  const Time at = now();
  View view = controller_.view(at);
  view.uptime = at - begin_;
  view.reloads_applied = applied_;
  view.reloads_refused = refused_;
  view.last_reload = last_reload_;
  view.last_refusal = last_refusal_;
  view.rebuild = rebuild_;
  view.checks = checks_;
  view.check_latency = check_latency_;
  view.engine = engine_->status();
  view.counters = engine_->counters();
  return view;
}

}  // namespace fairlead::controller
