// SPDX-License-Identifier: MIT
#include "operator/http/api.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "operator/http/json.h"
#include "operator/metrics/metrics.h"

namespace fairlead::http {
namespace {

// Names in the configuration are checked to be UTF-8; what the kernel said may not be.
Response answer(const Json& json) {
  return {.body = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"};
}

Response text(unsigned status, std::string body) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = std::move(body)};
}

Response one_of(const Json& list, std::string_view kind, const std::string& id) {
  for (const Json& item : list) {
    if (item["id"] == id) return answer(item);
  }
  return problem(404, fmt::format("there is no {} {}", kind, id));
}

// What is served at a path, or below it: then `rest` is what comes behind.
struct Route {
  std::string_view path;
  Response (*make)(const ViewOf& view, const std::string& rest);
};

// The view is made only for those who need it: it sums over all backends and workers.
constexpr Route routes[] = {
    {"/healthz", [](const ViewOf&, const std::string&) { return text(200, "ok\n"); }},
    {"/readyz",
     [](const ViewOf& view, const std::string&) {
       const controller::View seen = view();
       if (seen.forwarding) return text(200, "ready\n");
       const std::string& why = seen.not_forwarding;
       return text(503, why.empty() ? "not forwarding yet\n" : "not forwarding: " + why + "\n");
     }},
    {"/metrics",
     [](const ViewOf& view, const std::string&) {
       return Response{.type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = metrics::text_of(view())};
     }},
    {"/v1/status",
     [](const ViewOf& view, const std::string&) { return answer(status_json(view())); }},
    {"/v1/vips", [](const ViewOf& view, const std::string&) { return answer(vips_json(view())); }},
    {"/v1/pools",
     [](const ViewOf& view, const std::string&) { return answer(pools_json(view())); }},
    {"/v1/backends",
     [](const ViewOf& view, const std::string&) { return answer(backends_json(view())); }},
    {"/v1/vips/", [](const ViewOf& view,
                     const std::string& id) { return one_of(vips_json(view()), "VIP", id); }},
    {"/v1/pools/", [](const ViewOf& view,
                      const std::string& id) { return one_of(pools_json(view()), "pool", id); }},
};

const Route* find(std::string_view path) {
  for (const Route& route : routes) {
    if (route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path) {
      return &route;
    }
  }
  return nullptr;
}

}  // namespace

Handler make_api(ViewOf view) {
  return [view = std::move(view)](const Request& request) {
    const Route* route = find(request.path);
    if (!route) return problem(404, fmt::format("nothing is served at {}", request.path));
    if (request.method == "GET") {
      const bool below = route->path.ends_with('/');
      return route->make(view, below ? request.path.substr(route->path.size()) : "");
    }
    Response response = problem(405, fmt::format("{} takes GET", request.path));
    response.allow = "GET, HEAD";
    return response;
  };
}

}  // namespace fairlead::http
