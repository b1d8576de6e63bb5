// SPDX-License-Identifier: MIT
#include "control/neighbours/watcher.h"

#include <linux/rtnetlink.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "control/limits.h"

namespace fairlead::neighbours {
namespace {

constexpr uint32_t groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE |
                            RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::open(boost::asio::io_context& loop, std::string interface,
                                               uint32_t index, Changed changed) {
  auto resolver = Resolver::open(std::move(interface), index);
  if (!resolver) return std::unexpected(resolver.error());
  auto events = Netlink::open(groups);
  if (!events) return std::unexpected(events.error());
  std::unique_ptr<Watcher> watcher(
      new Watcher(loop, std::move(*resolver), std::move(*events), std::move(changed)));
  boost::system::error_code error;
  watcher->readable_.assign(::dup(watcher->events_.descriptor()), error);
  if (error) return failure("netlink notifications: " + error.message());
  if (const auto own = watcher->look_at_own(); !own) {
    log::warning("the addresses of this host are unknown: {}", own.error().message);
  }
  watcher->wait_for_events();
  return watcher;
}

Watcher::Watcher(boost::asio::io_context& loop, Resolver resolver, Netlink events, Changed changed)
    : resolver_(std::move(resolver)),
      events_(std::move(events)),
      readable_(loop),
      timer_(loop),
      changed_(std::move(changed)) {}

void Watcher::want(std::vector<IpAddress> backends) {
  resolver_.want(std::move(backends));
  look();
}

void Watcher::wait_for_events() {
  readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](boost::system::error_code error) {
                         if (error) return;
                         if (events_.drain() && !soon_) {
                           const Duration rest = last_look_ + limits::at_least - now();
                           look_after(std::max(limits::collect, rest));
                         }
                         wait_for_events();
                       });
}

void Watcher::look_after(Duration delay) {
  soon_ = delay < limits::period;
  timer_.expires_after(delay);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) look();
  });
}

void Watcher::look() {
  last_look_ = now();
  look_after(limits::period);
  Change change;
  Resolver::Looked looked = resolver_.look();
  change.hops = std::move(looked.changed);
  const auto own = look_at_own();
  if (own && *own) change.own = own_;
  const Error* failed = looked.failed ? &*looked.failed : !own ? &own.error() : nullptr;
  if (failed && !failing_) {
    log::warning("next hops and addresses of this host are not refreshed: {}", failed->message);
  }
  failing_ = failed != nullptr;
  if (!change.hops.empty() || change.own) changed_(change);
}

Result<bool> Watcher::look_at_own() {
  auto found = resolver_.own();
  if (!found) return std::unexpected(found.error());
  std::ranges::sort(*found);
  if (*found == own_) return false;
  own_ = std::move(*found);
  return true;
}

}  // namespace fairlead::neighbours
