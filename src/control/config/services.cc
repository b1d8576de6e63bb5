// SPDX-License-Identifier: MIT
// The schema of services.json. What its parts demand of each other and of the node is in
// vip_rules.cc, pool_rules.cc and reach_rules.cc.
#include "control/config/services.h"

#include <string>

#include "control/config/node.h"
#include "control/config/rules.h"
#include "control/config/schema.h"

namespace fairlead::config {
namespace {

using core::Family;
using Port = Number<0, 65'535>;
using Weight = Number<0, limits::weight>;

constexpr auto route_schema = schema<Route>(
    key<&Route::source, AddressPrefix>("source", required, "clients that this route is for"),
    key<&Route::backend_pool, Name>("backend_pool", required, "pool that their flows go to"));

constexpr auto branch_schema = schema<Branch>(
    key<&Branch::backend_pool, Name>("backend_pool", required, "pool of this branch"),
    key<&Branch::weight, Weight>("weight", required, "share of the flows that take it"));

constexpr auto service_schema = schema<Service>(
    key<&Service::protocol, Choice<protocol_names>>("protocol", required,
                                                    "any: all that has no service of its own"),
    key<&Service::port, Port>("port", required, "0: every port that has no service of its own"),
    key<&Service::backend_pool, Name>("backend_pool", required, "pool that the flows go to"),
    key<&Service::scheduler, Choice<scheduler_names>>("scheduler", optional,
                                                      "how new flows choose a backend"),
    key<&Service::affinity, Choice<affinity_names>>(
        "affinity", optional, "what is hashed: the flow, or the client's address alone"),
    key<&Service::tracking, Choice<tracking_names>>(
        "tracking", optional, "remember all flows, or only those that differ from the table"),
    key<&Service::routes, ListOfObjects<route_schema>>("routes", optional,
                                                       "pools by source, tried in order"),
    key<&Service::split, ListOfObjects<branch_schema>>("split", optional,
                                                       "pools by share of the flows (canary)"));

constexpr auto vip_schema = schema<Vip>(
    key<&Vip::id, Name>("id", required, "names the VIP in metrics and /v1"),
    key<&Vip::address, AddressPrefix>("address", required, "address or prefix that clients use"),
    key<&Vip::ping, Choice<ping_names>>("ping", optional, "what echo requests get"),
    key<&Vip::owner, AText>("owner", optional, "for people"),
    key<&Vip::description, AText>("description", optional, "for people"),
    key<&Vip::services, ListOfObjects<service_schema>>("services", required,
                                                       "what the VIP answers to"));

constexpr auto backend_schema = schema<Backend>(
    key<&Backend::ip, HostAddress<Family::none>>("ip", required, "address of the backend"),
    key<&Backend::port, Number<1, 65'535>>(
        "port", optional, "where it listens; needed in nat, else only for health checks"),
    key<&Backend::weight, Weight>("weight", optional, "share of the flows; 0: no new ones"),
    key<&Backend::state, Choice<state_names>>(
        "state", optional, "draining: keeps its flows, gets no new ones; disabled: not there"));

constexpr auto check_schema = schema<HealthCheck>(
    key<&HealthCheck::type, Choice<check_names>>("type", optional, "none: always up"),
    key<&HealthCheck::path, UrlPath>("path", optional, "what is asked for (http, https)"),
    key<&HealthCheck::expect_status, ListOf<Number<100, 599>, 1>>(
        "expect_status", optional, "answers that are good (http, https)"),
    key<&HealthCheck::host, HostHeader>(
        "host", optional, "Host header and TLS server name; empty: the backend's address"),
    key<&HealthCheck::verify_tls, Flag>("verify_tls", optional, "checks the certificate (https)"),
    key<&HealthCheck::interval, CheckInterval>("interval", optional,
                                               "from one check to the next; default: the node's"),
    key<&HealthCheck::timeout, CheckInterval>("timeout", optional,
                                              "for the answer to one; default: the node's"),
    key<&HealthCheck::healthy_threshold, CheckThreshold>(
        "healthy_threshold", optional, "good answers in a row until up; default: the node's"),
    key<&HealthCheck::unhealthy_threshold, CheckThreshold>(
        "unhealthy_threshold", optional, "bad answers in a row until down; default: the node's"));

constexpr auto pool_schema = schema<Pool>(
    key<&Pool::id, Name>("id", required, "names the pool in services, metrics and /v1"),
    key<&Pool::method, Choice<method_names>>("method", optional, "how packets reach the backends"),
    key<&Pool::table_size, Prime>("table_size", optional,
                                  "slots of the Maglev table; 100 for each backend are plenty"),
    key<&Pool::table_seed, Seed>("table_seed", optional, "another seed, another table"),
    key<&Pool::fill, Choice<fill_names>>("fill", optional, "how the Maglev table is filled"),
    key<&Pool::on_down, Choice<on_down_names>>("on_down", optional,
                                               "what happens to the table when a backend is down"),
    key<&Pool::fail, Choice<fail_names>>("fail", optional,
                                         "all down: closed drops, open treats all as up"),
    key<&Pool::snat, Flag>("snat", optional, "the node's own address as source (nat)"),
    key<&Pool::include, ListOf<Name>>("include", optional, "pools whose backends are here too"),
    key<&Pool::backends, ListOfObjects<backend_schema>>("backends", optional, "where the flows go"),
    key<&Pool::health_check, Object<check_schema>>("health_check", optional,
                                                   "how it is found out who is up"));

constexpr auto file_schema =
    schema<Services>(key<&Services::vips, ListOfObjects<vip_schema, 0, limits::vips>>(
                         "vips", required, "what clients reach"),
                     key<&Services::pools, ListOfObjects<pool_schema, 0, limits::pools>>(
                         "pools", required, "who answers them"));

// Where a pool's health_check does not say, the node's defaults count.
void fill_health_checks(const Value& root, const HealthCheck& defaults, Services& services) {
  const Value* pools = root.member("pools");
  for (size_t i = 0; i < services.pools.size(); i++) {
    HealthCheck& check = services.pools[i].health_check;
    const Value* given = (*pools->as<List>())[i].member("health_check");
    const auto missing = [&](std::string_view name) { return !given || !given->member(name); };
    if (missing("interval")) check.interval = defaults.interval;
    if (missing("timeout")) check.timeout = defaults.timeout;
    if (missing("healthy_threshold")) check.healthy_threshold = defaults.healthy_threshold;
    if (missing("unhealthy_threshold")) check.unhealthy_threshold = defaults.unhealthy_threshold;
  }
}

}  // namespace

Services read_services(std::string_view text, const NodeConfig& node, Reader& reader) {
  Services services;
  if (!check_utf8(text, reader)) return services;
  const Value root = read_json(text, reader);
  // Duplicate keys do not stop here: what was given first counts while the rest is looked at.
  if (!reader.clean() && root.as<Table>()->empty()) return services;
  Object<file_schema>::read(reader, root, services);
  fill_health_checks(root, node.health_check_defaults, services);
  check_services(reader, root, node, services);
  return services;
}

Parsed<Services> parse_services(std::string_view text, std::string_view file_name,
                                const NodeConfig& node) {
  Reader reader(file_name);
  Services services = read_services(text, node, reader);
  if (!reader.clean()) return std::unexpected(reader.take());
  return services;
}

std::vector<KeyLine> services_keys() {
  std::vector<KeyLine> lines;
  Object<file_schema>::list("", lines);
  return lines;
}

}  // namespace fairlead::config
