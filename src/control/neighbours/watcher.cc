// SPDX-License-Identifier: MIT
#include "control/neighbours/watcher.h"

#include <linux/rtnetlink.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"

namespace fairlead::neighbours {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds period(1'000);
constexpr milliseconds collect(10);  // a burst of notifications is one look

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
                         if (events_.drain() && !soon_) look_after(collect);
                         wait_for_events();
                       });
}

void Watcher::look_after(milliseconds delay) {
  soon_ = delay < period;
  timer_.expires_after(delay);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) look();
  });
}

void Watcher::look() {
  look_after(period);
  auto found = resolver_.look();
  if (!found && !failing_) log::warning("next hops are not refreshed: {}", found.error().message);
  failing_ = !found;
  if (found && !found->empty()) changed_(*found);
}

}  // namespace fairlead::neighbours
