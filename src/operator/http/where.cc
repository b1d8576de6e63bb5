// SPDX-License-Identifier: MIT
#include "operator/http/where.h"

#include <fmt/format.h>
#include <sys/un.h>

#include "control/config/address.h"

namespace fairlead::http {

Result<Where> parse_where(const std::string& text) {
  if (text.find('/') != std::string::npos) {
    constexpr size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (text.size() <= longest) return Where{.path = text};
    return failure(
        fmt::format("http = \"{}\": the path of a socket has at most {} bytes", text, longest));
  }
  const auto endpoint = config::parse_endpoint(text);
  boost::system::error_code error;
  Where where;
  if (endpoint) {
    where.address = boost::asio::ip::make_address(config::to_text(endpoint->address), error);
    where.port = endpoint->port;
  }
  if (!endpoint || error) {
    return failure(
        fmt::format("http = \"{}\": expected \"ADDRESS:PORT\" or the path of a unix "
                    "socket",
                    text));
  }
  return where;
}

}  // namespace fairlead::http
