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

// The view is made only for those who need it: it sums over all backends and workers.
Response route(const std::string& path, const ViewOf& view) {
  constexpr std::string_view vip = "/v1/vips/", pool = "/v1/pools/";
  if (path == "/healthz") return text(200, "ok\n");
  if (path == "/readyz") {
    return view().forwarding ? text(200, "ready\n") : text(503, "not forwarding yet\n");
  }
  if (path == "/metrics") {
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics::text_of(view())};
  }
  if (path == "/v1/status") return answer(status_json(view()));
  if (path == "/v1/vips") return answer(vips_json(view()));
  if (path == "/v1/pools") return answer(pools_json(view()));
  if (path == "/v1/backends") return answer(backends_json(view()));
  if (path.starts_with(vip)) return one_of(vips_json(view()), "VIP", path.substr(vip.size()));
  if (path.starts_with(pool)) return one_of(pools_json(view()), "pool", path.substr(pool.size()));
  return problem(404, fmt::format("nothing is served at {}", path));
}

}  // namespace

Handler make_api(ViewOf view) {
  return [view = std::move(view)](const Request& request) {
    Response response = route(request.path, view);
    if (request.method == "GET" || response.status == 404) return response;
    response = problem(405, fmt::format("{} takes GET", request.path));
    response.allow = "GET, HEAD";
    return response;
  };
}

}  // namespace fairlead::http
