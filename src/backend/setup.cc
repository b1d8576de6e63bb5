// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/addresses.h"
#include "backend/changes.h"
#include "backend/host.h"
#include "backend/sysctl.h"
#include "backend/vip.h"

namespace fairlead::backend {
namespace {

bool is_bpffs(const std::string& folder) {
  struct statfs found{};
  return statfs(folder.c_str(), &found) == 0 &&
         static_cast<unsigned long>(found.f_type) == BPF_FS_MAGIC;
}

// What setup has done so far: every step notes its change before it makes it.
struct Setup {
  const Folders& folders;
  Changes changes;
  std::vector<std::string> said;

  Result<void> note(std::string sentence) {
    said.push_back(std::move(sentence));
    return changes.write(folders.state);
  }

  Result<void> mount_bpffs() {
    if (is_bpffs(folders.bpffs)) {
      return {};
    }
    changes.mounted_bpffs = true;
    if (auto noted = note("mounted a bpffs at " + folders.bpffs); !noted) {
      return noted;
    }
    if (mount("bpf", folders.bpffs.c_str(), "bpf", 0, "mode=0700") != 0) {
      return failure(fmt::format("{}: cannot mount a bpffs: {}; run `mount -t bpf bpf {}`",
                                 folders.bpffs, std::strerror(errno), folders.bpffs));
    }
    return {};
  }

  Result<void> set_sysctls(const std::string& interface) {
    const auto settings = ipv4_settings(interface);
    if (!settings) {
      return std::unexpected(settings.error());
    }
    for (const Setting& setting : *settings) {
      if (setting.right) {
        continue;
      }
      remember_sysctl({setting.name, setting.value, setting.wanted});
      auto noted =
          note(fmt::format("set {} from {} to {}", setting.name, setting.value, setting.wanted));
      if (auto set = noted ? write_sysctl(setting.name, setting.wanted) : noted; !set) {
        return set;
      }
    }
    return {};
  }

  // The value from before the first setup is what remove must bring back.
  void remember_sysctl(const Changes::Sysctl& change) {
    const auto known = std::ranges::find(changes.sysctls, change.name, &Changes::Sysctl::name);
    if (known == changes.sysctls.end()) {
      changes.sysctls.push_back(change);
    }
  }

  Result<void> add_addresses(const std::vector<VipKey>& vips) {
    const auto present = loopback_addresses();
    if (!present) {
      return std::unexpected(present.error());
    }
    for (const VipKey& vip : vips) {
      if (contains(*present, vip)) {
        continue;
      }
      if (!contains(changes.addresses, vip)) {
        changes.addresses.push_back(vip);
      }
      if (auto noted = note("added " + to_text(vip) + " to lo"); !noted) {
        return noted;
      }
      if (auto added = add_loopback_address(vip); !added) {
        return std::unexpected(added.error());
      }
    }
    return {};
  }
};

// Loads and attaches. The VIP map is as it was before, so nothing new is decapsulated yet.
Result<Decap> start_program(Setup& setup, const std::string& interface, SetupDone& done) {
  auto decap = Decap::load(setup.folders.pins());
  if (!decap) {
    return decap;
  }
  const auto before = decap->attachment();
  const auto attached = decap->attach(interface);
  if (!attached) {
    return std::unexpected(attached.error());
  }
  done.mode = attached->mode;
  done.why_generic = attached->why_generic;
  if (!before || !*before) {
    setup.said.push_back("attached the decapsulation program to " + interface);
  }
  return decap;
}

Result<void> fill(Decap& decap, const std::vector<VipKey>& vips, std::vector<std::string>& said) {
  const auto present = decap.vips();
  if (!present) {
    return std::unexpected(present.error());
  }
  for (const VipKey& vip : vips) {
    if (contains(*present, vip)) {
      continue;
    }
    if (auto added = decap.add(vip); !added) {
      return added;
    }
    said.push_back("decapsulating for " + to_text(vip));
  }
  return {};
}

Result<SetupDone> setup_locked(const std::string& interface, const std::vector<VipKey>& vips,
                               Setup& setup) {
  SetupDone done{};
  setup.changes.interface = interface;
  auto step = setup.changes.write(setup.folders.state);
  step = step ? setup.mount_bpffs() : step;
  if (!step) {
    return std::unexpected(step.error());
  }
  auto decap = start_program(setup, interface, done);
  if (!decap) {
    return std::unexpected(decap.error());
  }
  step = any_ipv4(vips) ? setup.set_sysctls(interface) : step;
  step = step ? setup.add_addresses(vips) : step;
  step = step ? fill(*decap, vips, setup.said) : step;
  if (!step) {
    return std::unexpected(step.error());
  }
  done.changed = std::move(setup.said);
  return done;
}

}  // namespace

Result<SetupDone> setup(const std::string& interface, const std::vector<VipKey>& vips,
                        const Folders& folders) {
  auto locked = lock_host(folders.state);
  if (!locked) {
    return std::unexpected(locked.error());
  }
  if (if_nametoindex(interface.c_str()) == 0) {
    return failure("interface " + interface + ": does not exist; see `ip link`");
  }
  auto changes = Changes::read(folders.state);
  if (!changes) {
    return std::unexpected(changes.error());
  }
  const bool first = changes->interface.empty();
  if (!first && changes->interface != interface) {
    return failure(
        fmt::format("interface {}: this host is set up for {}; run `fairlead backend "
                    "remove` first",
                    interface, changes->interface));
  }
  Setup steps{folders, std::move(*changes), {}};
  auto done = setup_locked(interface, vips, steps);
  locked->reset();
  if (!done && first) {
    if (const auto undone = remove({}, folders); !undone) {
      done.error().message += "; what was done so far stays: " + undone.error().message;
    }
  }
  return done;
}

}  // namespace fairlead::backend
