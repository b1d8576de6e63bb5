// SPDX-License-Identifier: MIT
#include "operator/http/where.h"

#include <fmt/format.h>

#include "control/config/address.h"

namespace fairlead::http {

Result<Where> parse_where(const std::string& text) {
  const auto place = config::parse_place(text);
  boost::system::error_code error;
  Where where;
  if (place) where.path = place->path;
  if (place && place->path.empty()) {
    where.address = boost::asio::ip::make_address(config::to_text(place->endpoint.address), error);
    where.port = place->endpoint.port;
  }
  if (!place || error) {
    return failure(
        fmt::format("http = \"{}\": expected \"ADDRESS:PORT\" or the path of a unix socket, from / "
                    "on, of at most {} bytes",
                    text, config::Place::longest_path));
  }
  return where;
}

}  // namespace fairlead::http
