// SPDX-License-Identifier: MIT
#include "backend/addresses.h"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "backend/vip.h"

namespace fairlead::backend {
namespace {

struct CloseSocket {
  void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
};

size_t length_of(const VipKey& vip) { return vip.family == 4 ? 4 : 16; }

// One request and its answer; `each` sees the messages of a dump. 0 or an errno.
int exchange(nlmsghdr* request, mnl_cb_t each, void* data) {
  const std::unique_ptr<mnl_socket, CloseSocket> socket(mnl_socket_open(NETLINK_ROUTE));
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    return errno;
  }
  request->nlmsg_seq = 1;
  if (mnl_socket_sendto(socket.get(), request, request->nlmsg_len) < 0) {
    return errno;
  }
  std::array<char, 32'768> buffer;
  for (;;) {
    const ssize_t size = mnl_socket_recvfrom(socket.get(), buffer.data(), buffer.size());
    if (size < 0) {
      return errno;
    }
    const int left = mnl_cb_run(buffer.data(), static_cast<size_t>(size), request->nlmsg_seq,
                                mnl_socket_get_portid(socket.get()), each, data);
    if (left <= MNL_CB_STOP) {
      return left < 0 ? errno : 0;
    }
  }
}

// RTM_NEWADDR or RTM_DELADDR of `vip` on lo.
int change(int type, int flags, const VipKey& vip) {
  std::array<char, 512> buffer{};
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = static_cast<__u16>(type);
  request->nlmsg_flags = static_cast<__u16>(NLM_F_REQUEST | NLM_F_ACK | flags);
  auto* address = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(ifaddrmsg)));
  address->ifa_family = vip.family == 4 ? AF_INET : AF_INET6;
  address->ifa_prefixlen = vip.family == 4 ? 32 : 128;
  address->ifa_flags = vip.family == 4 ? 0 : IFA_F_NODAD;  // other backends own it too
  address->ifa_scope = RT_SCOPE_UNIVERSE;
  address->ifa_index = if_nametoindex("lo");
  mnl_attr_put(request, IFA_LOCAL, length_of(vip), vip.address.word);
  mnl_attr_put(request, IFA_ADDRESS, length_of(vip), vip.address.word);
  return exchange(request, nullptr, nullptr);
}

int collect(const nlmsghdr* message, void* data) {
  auto& all = *static_cast<std::vector<VipKey>*>(data);
  const auto* address = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(message));
  if (address->ifa_index != if_nametoindex("lo")) {
    return MNL_CB_OK;
  }
  VipKey found{};
  found.family = address->ifa_family == AF_INET ? 4 : 6;
  for (const nlattr* attribute =
           static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, sizeof *address));
       mnl_attr_ok(attribute,
                   static_cast<int>(static_cast<const char*>(mnl_nlmsg_get_payload_tail(message)) -
                                    reinterpret_cast<const char*>(attribute)));
       attribute = mnl_attr_next(attribute)) {
    const int type = mnl_attr_get_type(attribute);
    if ((type == IFA_LOCAL || (type == IFA_ADDRESS && found.family == 6)) &&
        mnl_attr_get_payload_len(attribute) == length_of(found)) {
      std::memcpy(found.address.word, mnl_attr_get_payload(attribute), length_of(found));
    }
  }
  all.push_back(found);
  return MNL_CB_OK;
}

Error refusal(const VipKey& vip, int error) {
  if (vip.family == 6 && error == EACCES) {
    return {to_text(vip) + " on lo: IPv6 is off on this host; set net.ipv6.conf.lo.disable_ipv6=0"};
  }
  if (error == EPERM || error == EACCES) {
    return {to_text(vip) + " on lo: not permitted; run as root with CAP_NET_ADMIN"};
  }
  return {fmt::format("{} on lo: {}", to_text(vip), std::strerror(error))};
}

}  // namespace

Result<std::vector<VipKey>> loopback_addresses() {
  std::array<char, 128> buffer{};
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_GETADDR;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  mnl_nlmsg_put_extra_header(request, sizeof(ifaddrmsg));  // all zero: both families
  std::vector<VipKey> all;
  if (const int error = exchange(request, collect, &all); error != 0) {
    return failure(fmt::format("addresses of lo: {}", std::strerror(error)));
  }
  return all;
}

Result<bool> add_loopback_address(const VipKey& vip) {
  const int error = change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, vip);
  if (error != 0 && error != EEXIST) {
    return std::unexpected(refusal(vip, error));
  }
  return error == 0;
}

Result<void> remove_loopback_address(const VipKey& vip) {
  const int error = change(RTM_DELADDR, 0, vip);
  if (error != 0 && error != EADDRNOTAVAIL) {
    return std::unexpected(refusal(vip, error));
  }
  return {};
}

}  // namespace fairlead::backend
