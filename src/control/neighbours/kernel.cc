// SPDX-License-Identifier: MIT
#include "control/neighbours/kernel.h"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "control/config/address.h"

namespace fairlead::neighbours {
namespace {

using core::Family;

struct Request {
  alignas(nlmsghdr) char buffer[512]{};
  nlmsghdr* header = mnl_nlmsg_put_header(buffer);

  Request(uint16_t type, uint16_t flags) {
    header->nlmsg_type = type;
    header->nlmsg_flags = flags;
  }
  template <class T>
  T& body() {
    return *static_cast<T*>(mnl_nlmsg_put_extra_header(header, sizeof(T)));
  }
  void put(uint16_t type, const IpAddress& address) {
    mnl_attr_put(header, type, config::bits_of(address.family) / 8u, address.bytes.word);
  }
};

uint8_t family_of(const IpAddress& address) {
  return address.family == Family::v6 ? AF_INET6 : AF_INET;
}

std::optional<IpAddress> address_of(uint8_t family, const void* bytes, size_t length) {
  IpAddress address;
  address.family = family == AF_INET6 ? Family::v6 : Family::v4;
  if (length != config::bits_of(address.family) / 8u) return std::nullopt;
  std::memcpy(address.bytes.word, bytes, length);
  return address;
}

std::optional<IpAddress> address_of(uint8_t family, const nlattr* attribute) {
  return address_of(family, mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
}

void read(const nlattr* attribute, uint8_t family, Route& route) {
  switch (mnl_attr_get_type(attribute)) {
    case RTA_OIF: route.interface = mnl_attr_get_u32(attribute); break;
    case RTA_GATEWAY: route.gateway = address_of(family, attribute); break;
    case RTA_VIA: {  // a gateway of the other family (RFC 8950)
      const auto* via = static_cast<const rtvia*>(mnl_attr_get_payload(attribute));
      const size_t length = mnl_attr_get_payload_len(attribute);
      if (length < sizeof(rtvia)) break;
      route.gateway = address_of(static_cast<uint8_t>(via->rtvia_family), via->rtvia_addr,
                                 length - sizeof(rtvia));
      break;
    }
    default: break;
  }
}

template <class Body, class F>
void each_attribute(const nlmsghdr& message, F function) {
  const auto call = [](const nlattr* attribute, void* data) {
    (*static_cast<F*>(data))(attribute);
    return MNL_CB_OK;
  };
  mnl_attr_parse(&message, sizeof(Body), call, &function);
}

// All that `read` makes of the messages of a dump, asked for again if the table changed meanwhile.
template <class T, class Read>
Result<std::vector<T>> dump(Netlink& netlink, Request& request, const char* what, Read read) {
  constexpr int attempts = 5;
  for (int attempt = 1;; attempt++) {
    std::vector<T> found;
    const auto done = netlink.ask(request.header, what, [&](const nlmsghdr& message) {
      if (auto one = read(message)) found.push_back(std::move(*one));
    });
    if (!done) return std::unexpected(done.error());
    if (*done == 0) return found;
    if (*done == EINTR && attempt < attempts) continue;
    return failure(fmt::format(
        "netlink: {}: {}", what,
        *done == EINTR ? "the kernel's table changes all the time, nothing whole to read"
                       : std::strerror(*done)));
  }
}

}  // namespace

Result<Kernel> Kernel::open() {
  auto netlink = Netlink::open();
  if (!netlink) return std::unexpected(netlink.error());
  return Kernel(std::move(*netlink));
}

Result<Route> Kernel::route(const IpAddress& destination) {
  Request request(RTM_GETROUTE, 0);
  auto& body = request.body<rtmsg>();
  body.rtm_family = family_of(destination);
  body.rtm_dst_len = config::bits_of(destination.family);
  request.put(RTA_DST, destination);
  Route route;
  const auto done = netlink_.ask(request.header, "routes", [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWROUTE) return;
    const auto& found = *static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
    route.local = found.rtm_type == RTN_LOCAL;
    if (found.rtm_type == RTN_UNREACHABLE || found.rtm_type == RTN_BLACKHOLE ||
        found.rtm_type == RTN_PROHIBIT) {
      route.error = EHOSTUNREACH;
    }
    each_attribute<rtmsg>(message, [&](const nlattr* a) { read(a, found.rtm_family, route); });
  });
  if (!done) return std::unexpected(done.error());
  if (*done != 0) route.error = *done;
  return route;
}

Result<std::vector<Neighbour>> Kernel::neighbours(uint32_t interface) {
  Request request(RTM_GETNEIGH, NLM_F_DUMP);
  request.body<ndmsg>().ndm_family = AF_UNSPEC;
  mnl_attr_put_u32(request.header, NDA_IFINDEX, interface);  // kernels before 4.4 tell all of them
  const auto read = [interface](const nlmsghdr& message) -> std::optional<Neighbour> {
    if (message.nlmsg_type != RTM_NEWNEIGH) return std::nullopt;
    const auto& body = *static_cast<const ndmsg*>(mnl_nlmsg_get_payload(&message));
    if (static_cast<uint32_t>(body.ndm_ifindex) != interface) return std::nullopt;
    if (body.ndm_family != AF_INET && body.ndm_family != AF_INET6) return std::nullopt;
    Neighbour neighbour{.interface = interface, .state = body.ndm_state};
    std::optional<IpAddress> address;
    each_attribute<ndmsg>(message, [&](const nlattr* attribute) {
      const uint16_t type = mnl_attr_get_type(attribute);
      if (type == NDA_DST) address = address_of(body.ndm_family, attribute);
      if (type == NDA_LLADDR && mnl_attr_get_payload_len(attribute) == sizeof(MacAddress)) {
        std::memcpy(neighbour.mac.emplace().data(), mnl_attr_get_payload(attribute),
                    sizeof(MacAddress));
      }
    });
    if (!address) return std::nullopt;
    neighbour.address = *address;
    return neighbour;
  };
  return dump<Neighbour>(netlink_, request, "neighbours", read);
}

Result<std::vector<IpAddress>> Kernel::addresses() {
  Request request(RTM_GETADDR, NLM_F_DUMP);
  request.body<ifaddrmsg>().ifa_family = AF_UNSPEC;
  const auto read = [](const nlmsghdr& message) -> std::optional<IpAddress> {
    if (message.nlmsg_type != RTM_NEWADDR) return std::nullopt;
    const auto& body = *static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message));
    if (body.ifa_family != AF_INET && body.ifa_family != AF_INET6) return std::nullopt;
    std::optional<IpAddress> local, peer;  // they differ on point-to-point links
    each_attribute<ifaddrmsg>(message, [&](const nlattr* attribute) {
      const uint16_t type = mnl_attr_get_type(attribute);
      if (type == IFA_LOCAL) local = address_of(body.ifa_family, attribute);
      if (type == IFA_ADDRESS) peer = address_of(body.ifa_family, attribute);
    });
    return local ? local : peer;
  };
  return dump<IpAddress>(netlink_, request, "addresses", read);
}

Result<void> Kernel::use(uint32_t interface, const IpAddress& address) {
  Request request(RTM_NEWNEIGH, NLM_F_CREATE);
  auto& body = request.body<ndmsg>();
  body.ndm_family = family_of(address);
  body.ndm_ifindex = static_cast<int32_t>(interface);
  body.ndm_flags = NTF_USE;
  request.put(NDA_DST, address);
  const auto done = netlink_.ask(request.header, "neighbour in use");
  if (!done) return std::unexpected(done.error());
  if (*done != 0) {
    return failure(
        fmt::format("netlink: resolve {}: {}", config::to_text(address), std::strerror(*done)));
  }
  return {};
}

}  // namespace fairlead::neighbours
