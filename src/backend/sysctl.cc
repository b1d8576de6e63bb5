// SPDX-License-Identifier: MIT
#include "backend/sysctl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/fd.h"

namespace fairlead::backend {
namespace {

// The dots of an interface name (eth0.100) stay: sysctl(8) writes them as slashes and swaps back.
std::string path_of(std::string name) {
  for (char& c : name) {
    c = c == '.' ? '/' : c == '/' ? '.' : c;
  }
  return "/proc/sys/" + name;
}

std::string conf(std::string interface, const char* setting) {
  std::ranges::replace(interface, '.', '/');
  return "net.ipv4.conf." + interface + "." + setting;
}

std::unexpected<Error> refused(const std::string& name) {
  const bool rights = errno == EPERM || errno == EACCES || errno == EROFS;
  return failure(fmt::format("sysctl {}: {}{}", name, std::strerror(errno),
                             rights ? "; run as root, with /proc/sys writable" : ""));
}

}  // namespace

Result<int> read_sysctl(const std::string& name) {
  const Fd file(open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 32> text{};
  const ssize_t size = file ? read(file.get(), text.data(), text.size()) : -1;
  if (size < 0) {
    return refused(name);
  }
  int value = 0;
  if (std::from_chars(text.data(), text.data() + size, value).ec != std::errc{}) {
    return failure("sysctl " + name + ": is no number");
  }
  return value;
}

Result<void> write_sysctl(const std::string& name, int value) {
  const Fd file(open(path_of(name).c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(value);
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return refused(name);
  }
  return {};
}

Result<std::vector<Setting>> ipv4_settings(const std::string& interface) {
  const auto ignore = read_sysctl(conf("all", "arp_ignore"));
  const auto announce = read_sysctl(conf("all", "arp_announce"));
  const auto filter_all = read_sysctl(conf("all", "rp_filter"));
  const auto filter = read_sysctl(conf(interface, "rp_filter"));
  for (const auto* value : {&ignore, &announce, &filter_all, &filter}) {
    if (!*value) {
      return std::unexpected(value->error());
    }
  }
  // The kernel takes the larger of `all` and the interface's own value. Strict (1) drops packets of
  // clients whose route leads elsewhere; loose (2) and off (0) do.
  return std::vector<Setting>{
      {conf("all", "arp_ignore"), *ignore, *ignore == 1 || *ignore == 2 || *ignore == 8, 1,
       "or else this host answers ARP for the VIP and takes it away from the balancers"},
      {conf("all", "arp_announce"), *announce, *announce == 2, 2,
       "or else this host announces the VIP as its own in ARP requests"},
      {conf(interface, "rp_filter"), *filter, std::max(*filter_all, *filter) != 1, 2,
       "or else clients that are routed over another interface are dropped"},
  };
}

}  // namespace fairlead::backend
