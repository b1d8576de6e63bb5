// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "backend/addresses.h"
#include "backend/changes.h"
#include "backend/host.h"
#include "backend/sysctl.h"
#include "backend/vip.h"

namespace fairlead::backend {
namespace {

bool is_up(const std::string& interface) {
  const Fd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0;
}

std::string setup_command(const std::string& interface, const std::vector<VipKey>& vips) {
  std::string command = "run `fairlead backend setup --interface " + interface;
  for (const VipKey& vip : vips) {
    command += " --vip " + to_text(vip);
  }
  return command + (vips.empty() ? " --vip ADDRESS`" : "`");
}

Finding look_at_interface(const std::string& interface) {
  if (if_nametoindex(interface.c_str()) == 0) {
    return {interface, "does not exist", "name the right one with --interface; see `ip link`"};
  }
  const std::string bring_up = fmt::format("run `ip link set dev {} up`", interface);
  return is_up(interface) ? Finding{interface, "is up", ""}
                          : Finding{interface, "is down", bring_up};
}

Finding look_at_program(const std::optional<Decap>& decap, const std::string& interface,
                        const std::string& remedy) {
  if (!decap) {
    return {"program", "not loaded", remedy};
  }
  const auto attached = decap->attachment();
  if (!attached) {
    return {"program", attached.error().message, remedy};
  }
  if (!*attached || (*attached)->ifindex != if_nametoindex(interface.c_str())) {
    return {"program", "loaded, but not attached to " + interface, remedy};
  }
  const bool native = (*attached)->mode == XdpMode::native;
  return {"program",
          fmt::format("attached to {} in {} mode{}", interface, name_of((*attached)->mode),
                      native ? "" : " (slower: the driver has no XDP)"),
          ""};
}

Finding look_at_vip(const VipKey& vip, const std::vector<VipKey>& addresses,
                    const std::vector<VipKey>& decapsulated, const std::string& remedy) {
  std::vector<std::string> missing;
  if (!contains(addresses, vip)) {
    missing.emplace_back("not an address of lo");
  }
  if (!contains(decapsulated, vip)) {
    missing.emplace_back("not decapsulated");
  }
  if (missing.empty()) {
    return {to_text(vip), "is an address of lo and decapsulated", ""};
  }
  return {to_text(vip), fmt::format("is {}", fmt::join(missing, " and ")), remedy};
}

void look_at_sysctls(const std::string& interface, const std::string& remedy,
                     std::vector<Finding>& findings) {
  const auto settings = ipv4_settings(interface);
  if (!settings) {
    findings.push_back({"sysctl", settings.error().message, remedy});
    return;
  }
  for (const Setting& setting : *settings) {
    findings.push_back(setting.right ? Finding{setting.name, fmt::format("= {}", setting.value), ""}
                                     : Finding{setting.name,
                                               fmt::format("= {}, must be {}, {}", setting.value,
                                                           setting.wanted, setting.why),
                                               remedy});
  }
}

}  // namespace

bool CheckDone::ok() const { return std::ranges::all_of(findings, &Finding::ok); }

Result<CheckDone> check(const std::string& asked, const std::vector<VipKey>& asked_vips,
                        const Folders& folders) {
  const auto locked = lock_host(folders.state);
  if (!locked) {
    return std::unexpected(locked.error());
  }
  const auto changes = Changes::read(folders.state);
  const auto decap = Decap::open(folders.pins());
  const auto addresses = loopback_addresses();
  if (!changes || !decap || !addresses) {
    return std::unexpected(!changes ? changes.error() : !decap ? decap.error() : addresses.error());
  }
  const auto decapsulated = *decap ? (*decap)->vips() : std::vector<VipKey>{};
  if (!decapsulated) {
    return std::unexpected(decapsulated.error());
  }
  std::vector<VipKey> vips = asked_vips.empty() ? *decapsulated : asked_vips;
  if (asked_vips.empty()) {
    std::ranges::copy_if(changes->addresses, std::back_inserter(vips),
                         [&](const VipKey& vip) { return !contains(*decapsulated, vip); });
  }
  const std::string known = changes->interface.empty() ? "eth0" : changes->interface;
  const std::string interface = asked.empty() ? known : asked;
  const std::string remedy = setup_command(interface, vips);

  CheckDone done;
  done.findings = {look_at_interface("lo"), look_at_interface(interface),
                   look_at_program(*decap, interface, remedy)};
  if (vips.empty()) {
    done.findings.push_back({"VIPs", "none is set up", remedy});
  }
  for (const VipKey& vip : vips) {
    done.findings.push_back(look_at_vip(vip, *addresses, *decapsulated, remedy));
  }
  if (any_ipv4(vips) && if_nametoindex(interface.c_str()) != 0) {
    look_at_sysctls(interface, remedy, done.findings);
  }
  if (*decap) {
    const auto packets = (*decap)->packets();
    if (!packets) {
      return std::unexpected(packets.error());
    }
    done.packets = *packets;
  }
  return done;
}

}  // namespace fairlead::backend
