// SPDX-License-Identifier: MIT
#include "operator/http/json.h"

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/version.h"
#include "core/verdict.h"

namespace fairlead::http {
namespace {

using controller::BackendView;
using controller::View;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

using Names = std::pair<std::string_view, std::string_view>;
using Counts = std::map<Names, const core::BackendCounters*>;

Counts counts_of(const View& view) {
  Counts counts;
  for (const auto& backend : view.counters.backends) {
    counts.emplace(Names(backend.pool, backend.name), &backend.count);
  }
  return counts;
}

Json backend_json(const std::string& pool, const BackendView& backend, const Counts& counts) {
  Json json = {{"name", backend.name},
               {"weight", backend.weight},
               {"state", backend.draining ? "draining" : "active"},
               {"health", controller::name_of(backend.health)},
               {"reason", backend.reason},
               {"since_s", seconds(backend.since)}};
  if (backend.missing.empty()) {
    json["next_hop"] = backend.next_hop;
  } else {
    json["no_next_hop"] = backend.missing;
  }
  json["path_mtu"] = backend.path_mtu;
  if (!backend.path_mtu_told_by.empty()) json["path_mtu_told_by"] = backend.path_mtu_told_by;
  json["takes_new"] = backend.takes_new;
  json["keeps_known"] = backend.keeps_known;
  json["slots"] = backend.slots;
  if (const auto found = counts.find(Names(pool, backend.name)); found != counts.end()) {
    json["packets"] = found->second->packets;
    json["bytes"] = found->second->bytes;
    json["connections"] = found->second->connections;
  }
  return json;
}

}  // namespace

Json status_json(const View& view) {
  Json packets = {{"pass", 0}, {"forward", 0}, {"reply", 0}, {"drop", 0}};
  Json reasons = Json::object();
  for (uint32_t i = 0; i < core::reason_count; i++) {
    const auto reason = static_cast<core::Reason>(i);
    const uint64_t count = view.counters.total.reason[i];
    Json& sum = packets[core::name_of(core::verdict_of(reason))];
    sum = sum.get<uint64_t>() + count;
    if (count != 0) reasons[core::name_of(reason)] = count;
  }
  uint64_t up = 0, down = 0, unknown = 0, usable = 0;
  for (const auto& pool : view.pools) {
    for (const BackendView& backend : pool.backends) {
      (backend.health == controller::Health::up     ? up
       : backend.health == controller::Health::down ? down
                                                    : unknown)++;
      usable += backend.takes_new ? 1 : 0;
    }
  }
  return {{"node", view.node},
          {"version", version},
          {"uptime_s", seconds(view.uptime)},
          {"forwarding", view.forwarding},
          {"not_forwarding", view.not_forwarding},
          {"engine",
           {{"name", view.engine.engine},
            {"interface", view.engine.interface},
            {"mode", name_of(view.engine.mode)},
            {"zero_copy", view.engine.zero_copy},
            {"workers", view.engine.workers},
            {"text", to_text(view.engine)},
            {"note", view.engine.note}}},
          {"generation", view.config_generation},
          {"table_generation", view.table_generation},
          {"reloads", {{"applied", view.reloads_applied}, {"refused", view.reloads_refused}}},
          {"last_refusal", view.last_refusal},
          {"vips", view.vips.size()},
          {"pools", view.pools.size()},
          {"backends", {{"up", up}, {"down", down}, {"unknown", unknown}, {"usable", usable}}},
          {"packets", packets},
          {"reasons", reasons},
          {"worker_packets", view.counters.worker_packets}};
}

Json vips_json(const View& view) {
  std::map<Names, const core::ServiceCounters*> counts;
  for (const auto& service : view.counters.services) {
    counts.emplace(Names(service.vip, service.name), &service.count);
  }
  Json vips = Json::array();
  for (const auto& vip : view.vips) {
    Json services = Json::array();
    for (const auto& service : vip.services) {
      Json json = {{"service", service.name}, {"pool", service.pool}};
      if (const auto found = counts.find(Names(vip.id, service.name)); found != counts.end()) {
        json["packets"] = found->second->packets;
        json["bytes"] = found->second->bytes;
        json["new_connections"] = found->second->new_connections;
      }
      services.push_back(std::move(json));
    }
    vips.push_back({{"id", vip.id},
                    {"address", vip.address},
                    {"owner", vip.owner},
                    {"description", vip.description},
                    {"services", std::move(services)}});
  }
  return vips;
}

Json pools_json(const View& view) {
  const Counts counts = counts_of(view);
  Json pools = Json::array();
  for (const auto& pool : view.pools) {
    Json backends = Json::array();
    for (const BackendView& backend : pool.backends) {
      backends.push_back(backend_json(pool.id, backend, counts));
    }
    pools.push_back({{"id", pool.id},
                     {"method", pool.method},
                     {"slots", pool.slots},
                     {"backends", std::move(backends)}});
  }
  return pools;
}

Json backends_json(const View& view) {
  const Counts counts = counts_of(view);
  Json backends = Json::array();
  for (const auto& pool : view.pools) {
    for (const BackendView& backend : pool.backends) {
      Json json = {{"pool", pool.id}};
      json.update(backend_json(pool.id, backend, counts));
      backends.push_back(std::move(json));
    }
  }
  return backends;
}

}  // namespace fairlead::http
