// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/mount.h>

#include <filesystem>

#include "backend/addresses.h"
#include "backend/changes.h"
#include "backend/host.h"
#include "backend/sysctl.h"
#include "backend/vip.h"

namespace fairlead::backend {
namespace {

using Said = std::vector<std::string>;

Result<void> forget_vips(std::optional<Decap>& decap, const Changes& changes,
                         const std::vector<VipKey>& vips, Said& said) {
  const auto present = decap ? decap->vips() : std::vector<VipKey>{};
  if (!present) {
    return std::unexpected(present.error());
  }
  for (const VipKey& vip : vips) {
    if (!contains(*present, vip)) {
      if (!contains(changes.addresses, vip)) {
        said.push_back(to_text(vip) + " was not set up");
      }
      continue;
    }
    if (auto removed = decap->remove(vip); !removed) {
      return removed;
    }
    said.push_back("no longer decapsulating for " + to_text(vip));
  }
  return {};
}

// Only addresses that setup added; one that was on lo before stays.
Result<void> remove_addresses(Changes& changes, const std::vector<VipKey>& vips, Said& said) {
  for (const VipKey& address : std::vector(changes.addresses)) {
    if (!vips.empty() && !contains(vips, address)) {
      continue;
    }
    if (auto removed = remove_loopback_address(address); !removed) {
      return removed;
    }
    std::erase(changes.addresses, address);
    said.push_back("removed " + to_text(address) + " from lo");
  }
  return {};
}

Result<void> restore_sysctls(const Changes& changes, Said& said) {
  for (const Changes::Sysctl& sysctl : changes.sysctls) {
    const auto current = read_sysctl(sysctl.name);
    if (!current || *current == sysctl.before) {
      continue;  // its interface is gone, or it never was changed
    }
    if (*current != sysctl.after) {
      said.push_back(fmt::format("left {} at {}: somebody else set it", sysctl.name, *current));
      continue;
    }
    if (auto restored = write_sysctl(sysctl.name, sysctl.before); !restored) {
      return restored;
    }
    said.push_back(fmt::format("set {} back to {}", sysctl.name, sysctl.before));
  }
  return {};
}

// The kernel puts progs.debug and maps.debug into every first bpffs.
bool has_no_pins(const std::string& bpffs) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(bpffs, error)) {
    if (entry.path().extension() != ".debug") {
      return false;
    }
  }
  return !error;
}

Result<void> remove_all(const Folders& folders, Changes& changes, bool pinned, Said& said) {
  if (pinned) {
    if (auto unpinned = Decap::unpin(folders.pins()); !unpinned) {
      return unpinned;
    }
    said.push_back("detached the decapsulation program");
  }
  if (auto removed = remove_addresses(changes, {}, said); !removed) {
    return removed;
  }
  if (auto restored = restore_sysctls(changes, said); !restored) {
    return restored;
  }
  if (changes.mounted_bpffs && has_no_pins(folders.bpffs) && umount(folders.bpffs.c_str()) == 0) {
    said.push_back("unmounted the bpffs at " + folders.bpffs);
  }
  return Changes::forget(folders.state);
}

}  // namespace

Result<std::vector<std::string>> remove(const std::vector<VipKey>& vips, const Folders& folders) {
  const auto locked = lock_host(folders.state);
  if (!locked) {
    return std::unexpected(locked.error());
  }
  auto changes = Changes::read(folders.state);
  if (!changes) {
    return std::unexpected(changes.error());
  }
  auto decap = Decap::open(folders.pins());
  if (!decap) {
    return std::unexpected(decap.error());
  }
  Said said;
  Result<void> done;
  if (vips.empty()) {
    const bool pinned = decap->has_value();
    *decap = std::nullopt;
    done = remove_all(folders, *changes, pinned, said);
  } else {
    const size_t before = changes->addresses.size();
    done = forget_vips(*decap, *changes, vips, said);
    done = done ? remove_addresses(*changes, vips, said) : done;
    if (done && changes->addresses.size() != before) {
      done = changes->write(folders.state);
    }
  }
  if (!done) {
    return std::unexpected(done.error());
  }
  return said;
}

}  // namespace fairlead::backend
