// SPDX-License-Identifier: MIT
#include "control/controller/daemon.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "control/config/address.h"
#include "control/controller/engines.h"
#include "control/controller/unsupported.h"
#include "engine/bpf/interface.h"

namespace fairlead::controller {
namespace {

constexpr size_t problems_told = 20;  // in the log, of one file

HopsSeen hops_of(const std::vector<neighbours::Resolver::Found>& found) {
  HopsSeen seen;
  for (const auto& [backend, hop] : found) seen.hops.push_back({backend, hop.mac, hop.missing});
  return seen;
}

void tell_mode(const engine::Status& status, config::XdpMode wanted) {
  log::info("engine {}", to_text(status));
  if (status.note.empty()) return;
  const bool asked_for = wanted == config::XdpMode::generic && status.mode == engine::Mode::generic;
  log::write(asked_for ? log::Level::info : log::Level::warning,
             fmt::format("{}: {}", status.interface, status.note));
}

void tell_stuck(const health::Stuck& stuck) {
  const tables::Identity& target = stuck.check.target;
  log::warning("backend {}: its check fails on this node, what is known of it stays as it is: {}",
               config::to_text(config::Endpoint{{target.family, target.address}, target.port}),
               stuck.reason);
}

}  // namespace

Daemon::Daemon(boost::asio::io_context& loop, std::unique_ptr<engine::Engine> engine,
               Options options, engine::Interface interface)
    : loop_(loop),
      engine_(std::move(engine)),
      interface_(std::move(interface)),
      link_{.name = interface_.name, .mac = interface_.mac},
      link_timer_(loop),
      options_(std::move(options)),
      controller_(options_.configuration.node, interface_.mac),
      checker_(loop, options_.seed,
               {.flip = [this](const health::Flip& flip) { step(HealthSeen{flip}); },
                .answer = [this](const health::Check& check,
                                 const health::Outcome& outcome) { answered(check, outcome); },
                .stuck = tell_stuck}),
      timer_(loop) {}

Result<std::unique_ptr<Daemon>> Daemon::start(boost::asio::io_context& loop, Options options) {
  const config::NodeConfig& node = options.configuration.node;
  for (const std::string& line : unsupported(node, options.configuration.services)) {
    log::warning("{}", line);
  }
  auto engine = make_engine(node.forwarder, options.configuration.services);
  if (!engine) return std::unexpected(engine.error());
  tell_mode((*engine)->status(), node.forwarder.xdp_mode);
  auto interface = engine::find_interface(node.forwarder.interface);
  if (!interface) return std::unexpected(interface.error());
  std::unique_ptr<Daemon> daemon(
      new Daemon(loop, std::move(*engine), std::move(options), std::move(*interface)));
  if (auto watched = daemon->watch(daemon->interface_); !watched) {
    return std::unexpected(watched.error());
  }
  daemon->listen(loop);
  daemon->step(OwnSeen{daemon->watcher_->own()});
  daemon->step(Configure{std::exchange(daemon->options_.configuration.services, {})});
  daemon->look_at_link();
  return daemon;
}

Result<void> Daemon::watch(const engine::Interface& interface) {
  auto watcher = neighbours::Watcher::open(
      loop_, interface.name, interface.index,
      [this](const neighbours::Watcher::Change& change) { changed(change); });
  if (!watcher) return std::unexpected(watcher.error());
  watcher_ = std::move(*watcher);
  return {};
}

// Asks each time, since notifications may be lost, and it costs a few microseconds.
void Daemon::look_at_link() {
  Link link = look_at(interface_);
  if (link.gone && controller_.published()) {
    const auto attached = attach_again();
    if (attached) {
      link = look_at(interface_);
    } else if (attached.error().message != std::exchange(not_attached_, attached.error().message)) {
      log::warning("{}", not_attached_);
    }
  }
  tell_link(link);
  link_ = std::move(link);
  link_timer_.expires_after(limits::link_period);
  link_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) look_at_link();
  });
}

void Daemon::tell_link(const Link& link) {
  if (link.problem != link_.problem) {
    if (link.problem.empty()) {
      log::info("interface {} is up again", link.name);
    } else {
      log::error("nothing is forwarded: {}", link.problem);
    }
  }
  const std::string& wanted = controller_.node().forwarder.interface;
  if (link.name != link_.name && !link.name.empty() && link.name != wanted) {
    log::warning(
        "interface {} is called {} now and is forwarded on as before, but after a restart there "
        "is none of that name: change [forwarder] interface in node.toml",
        wanted, link.name);
  }
  const bool known = link.mac != config::MacAddress{};
  if (known && link.mac != link_.mac && link_.mac != config::MacAddress{}) {
    log::info("interface {} has another MAC address now: {}", link.name, config::to_text(link.mac));
    step(LinkSeen{.source = link.mac});
  }
}

// One of that name came again: with a new engine, which knows no connections.
Result<void> Daemon::attach_again() {
  const config::Forwarder& forwarder = controller_.node().forwarder;
  auto interface = engine::find_interface(forwarder.interface);
  if (!interface) return std::unexpected(interface.error());
  auto engine = make_engine(forwarder, controller_.services());
  if (!engine) return std::unexpected(engine.error());
  if (auto watched = watch(*interface); !watched) return watched;
  tell_mode((*engine)->status(), forwarder.xdp_mode);
  engine_ = std::move(*engine);
  interface_ = std::move(*interface);
  not_attached_.clear();
  log::warning("interface {} came again: connections are those of a new engine", interface_.name);
  step(OwnSeen{watcher_->own()});
  step(LinkSeen{.source = interface_.mac, .new_engine = true});
  return {};
}

// Without it the node works as long as network_mtu is right, so it starts all the same.
void Daemon::listen(boost::asio::io_context& loop) {
  for (const auto& address :
       {options_.configuration.node.node.address, options_.configuration.node.node.address6}) {
    if (!address) continue;
    auto listener = path_mtu::Listener::open(
        loop, address->family,
        [this](const path_mtu::TooBig& message) { step(TooBigSeen{message}); });
    if (listener) {
      listeners_.push_back(std::move(*listener));
    } else {
      log::warning("packets that are too big for the way to a backend are not heard of: {}",
                   listener.error().message);
    }
  }
}

void Daemon::changed(const neighbours::Watcher::Change& change) {
  if (change.own) step(OwnSeen{*change.own});
  if (!change.hops.empty()) step(hops_of(change.hops));
}

void Daemon::reload() {
  const config::NodeConfig& node = options_.configuration.node;
  const std::string& file = node.control_plane.services;
  log::info("reading {} again", file);
  const auto text = config::read_file(file);
  if (!text) return reload_refused(text.error().message);
  auto services = config::parse_services(*text, file, node);
  if (services) {
    for (const std::string& line : unsupported(node, *services)) log::warning("{}", line);
    return step(Configure{std::move(*services)});
  }
  const config::Problems& problems = services.error();
  for (size_t i = 0; i < std::min(problems.size(), problems_told); i++) {
    log::error("{}", problems[i].format());
  }
  reload_refused(fmt::format("{}, the first: {}", counted(problems.size(), "problem"),
                             problems.front().format()));
}

void Daemon::reload_refused(std::string why) {
  refused_++;
  log::error("the new configuration is refused, the old one stays: {}", why);
  last_refusal_ = std::move(why);
  if (options_.reloaded) options_.reloaded();
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
  if (action.new_configuration) count_reload(action, done, first);
  Published answer;
  if (!done) answer.refused = done.error();
  perform(controller_.step(now(), std::move(answer)));
  if (!action.new_configuration) return;
  if (!first && options_.reloaded) options_.reloaded();
  if (first && options_.started) std::exchange(options_.started, nullptr)(std::move(done));
}

// What the engine refuses is told by the controller.
void Daemon::count_reload(const Publish& action, const Result<void>& done, bool first) {
  if (!done) {
    refused_++;
    last_refusal_ = done.error().message;
    return;
  }
  last_refusal_.clear();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  last_reload_ = std::chrono::duration<double>(since).count();
  if (!first) applied_++;
  std::erase_if(checks_, [&](const auto& of) {
    return std::ranges::find(action.snapshot->pools, of.first, &tables::Pool::id) ==
           action.snapshot->pools.end();
  });
}

void Daemon::answered(const health::Check& check, const health::Outcome& outcome) {
  check_latency_.add(outcome.latency);
  for (const std::string& pool : controller_.pools_of(check)) {
    checks_[pool][static_cast<size_t>(outcome.result)]++;
  }
}

View Daemon::view() const {
  const Time at = now();
  View view =
      controller_.view(at, [this](const health::Check& check) { return checker_.find(check); });
  view.uptime = at - begin_;
  view.not_forwarding = view.forwarding ? link_.problem : "";
  view.forwarding = view.forwarding && link_.problem.empty();
  view.reloads_applied = applied_;
  view.reloads_refused = refused_;
  view.last_reload = last_reload_;
  view.last_refusal = last_refusal_;
  view.rebuild = rebuild_;
  view.checks = checks_;
  view.check_latency = check_latency_;
  view.probes = {checker_.open(), checker_.most_open()};
  view.log_left_out = log::left_out();
  view.engine = engine_->status();
  view.counters = engine_->counters();
  return view;
}

}  // namespace fairlead::controller
