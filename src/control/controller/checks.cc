// SPDX-License-Identifier: MIT
#include "control/controller/checks.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "control/config/address.h"
#include "control/config/names.h"

namespace fairlead::controller {
namespace {

using config::CheckType;

health::Timing timing_of(const config::HealthCheck& check) {
  return {check.interval, check.timeout, check.healthy_threshold, check.unhealthy_threshold};
}

bool implemented(CheckType type) { return type == CheckType::tcp || type == CheckType::http; }

// By pool: a port of the services that use it.
using Ports = std::map<std::string, uint16_t, std::less<>>;

Ports ports_of(const config::Services& services) {
  Ports ports;
  const config::PoolIndex index(services.pools);
  const auto note = [&](const std::string& pool, uint16_t port) {
    const uint32_t at = index.find(pool);
    if (at == config::PoolIndex::none) return;
    for (const uint32_t part : index.with_included(at)) {
      ports.try_emplace(services.pools[part].id, port);
    }
  };
  // TCP first: where a pool serves both, that is the port on which a check can connect.
  for (const bool tcp : {true, false}) {
    for (const config::Vip& vip : services.vips) {
      for (const config::Service& service : vip.services) {
        if (service.port == 0 || (service.protocol == 6) != tcp) continue;
        note(service.backend_pool, service.port);
        for (const config::Route& route : service.routes) note(route.backend_pool, service.port);
        for (const config::Branch& branch : service.split) note(branch.backend_pool, service.port);
      }
    }
  }
  return ports;
}

// `port` is that of the services, for a backend without one; 0: they have none.
HealthSource make_source(const config::Pool& pool, const config::Backend& backend, uint16_t port) {
  const config::HealthCheck& wanted = pool.health_check;
  HealthSource source;
  if (wanted.type == CheckType::none) return source;
  source.kind = HealthSource::Kind::never_known;
  if (!implemented(wanted.type)) {
    source.why = fmt::format("health checks of type {} are not implemented yet",
                             config::name_of(config::check_names, wanted.type));
    return source;
  }
  if (backend.port != 0) port = backend.port;
  if (port == 0) {
    source.why = "no port to check: give the backend one";
    return source;
  }
  source.kind = HealthSource::Kind::check;
  source.check.target = endpoint_of(backend.ip, port);
  if (wanted.type == CheckType::http) {
    source.check.kind = health::Kind::http;
    source.check.path = wanted.path;
    source.check.host = wanted.host;
    source.check.expect_status = wanted.expect_status;
  }
  return source;
}

}  // namespace

tables::Identity endpoint_of(const config::IpAddress& address, uint16_t port) {
  return {address.bytes, address.family, port};
}

Checks::Checks(const config::Services& services) : services_(services) {
  const Ports ports = ports_of(services);
  for (const config::Pool& pool : services.pools) {
    const auto port = ports.find(pool.id);
    for (const config::Backend& backend : pool.backends) {
      sources_.emplace(&backend,
                       make_source(pool, backend, port == ports.end() ? 0 : port->second));
    }
  }
}

const HealthSource& Checks::source_of(const config::Backend& backend) const {
  const auto found = sources_.find(&backend);
  check(found != sources_.end(), "{} is no backend of these services",
        config::to_text(config::Endpoint{backend.ip, backend.port}));
  return found->second;
}

std::map<health::Check, health::Timing> Checks::wanted() const {
  std::map<health::Check, health::Timing> checks;
  for (const config::Pool& pool : services_.pools) {
    for (const config::Backend& backend : pool.backends) {
      if (backend.state == config::BackendState::disabled) continue;
      const HealthSource& source = source_of(backend);
      if (source.kind != HealthSource::Kind::check) continue;
      const health::Timing timing = timing_of(pool.health_check);
      const auto [at, fresh] = checks.try_emplace(source.check, timing);
      if (!fresh) at->second = health::most_demanding(at->second, timing);
    }
  }
  return checks;
}

std::vector<std::string> Checks::complaints() const {
  std::vector<std::string> lines;
  for (const config::Pool& pool : services_.pools) {
    std::vector<const config::Backend*> unchecked;
    for (const config::Backend& backend : pool.backends) {
      if (backend.state == config::BackendState::disabled) continue;
      if (source_of(backend).kind == HealthSource::Kind::never_known) unchecked.push_back(&backend);
    }
    if (unchecked.empty()) continue;
    const config::Backend& first = *unchecked.front();
    const size_t more = unchecked.size() - 1;
    lines.push_back(fmt::format("pool {}: backend {}{} not checked, which counts as up: {}",
                                pool.id, config::to_text(config::Endpoint{first.ip, first.port}),
                                more == 0 ? " is" : fmt::format(" and {} more are", more),
                                source_of(first).why));
  }
  return lines;
}

}  // namespace fairlead::controller
