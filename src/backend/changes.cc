// SPDX-License-Identifier: MIT
#include "backend/changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/vip.h"

namespace fairlead::backend {
namespace {

constexpr const char* first_line = "fairlead-backend 1";

std::string path_in(const std::string& folder) { return folder + "/changes"; }

bool read_line(const std::string& line, Changes& changes) {
  std::istringstream words(line);
  std::string kind, word;
  words >> kind;
  if (kind == "interface") {
    words >> changes.interface;
  } else if (kind == "bpffs") {
    changes.mounted_bpffs = true;
  } else if (kind == "address" && words >> word) {
    const auto vip = parse_vip(word);
    if (!vip) {
      return false;
    }
    changes.addresses.push_back(*vip);
  } else if (kind == "sysctl") {
    Changes::Sysctl sysctl{};
    words >> sysctl.name >> sysctl.before >> sysctl.after;
    changes.sysctls.push_back(sysctl);
  } else {
    return false;
  }
  return !words.fail();
}

}  // namespace

Result<Changes> Changes::read(const std::string& folder) {
  Changes changes;
  std::error_code error;
  if (!std::filesystem::exists(path_in(folder), error)) {
    return changes;
  }
  std::ifstream file(path_in(folder));
  std::string line;
  bool good = static_cast<bool>(std::getline(file, line)) && line == first_line;
  while (good && std::getline(file, line)) {
    good = read_line(line, changes);
  }
  if (!good) {
    return failure(fmt::format("{}: cannot read it (\"{}\"); see what it says, then delete it",
                               path_in(folder), line));
  }
  return changes;
}

Result<void> Changes::write(const std::string& folder) const {
  std::string text = fmt::format("{}\n", first_line);
  if (!interface.empty()) {
    text += fmt::format("interface {}\n", interface);
  }
  if (mounted_bpffs) {
    text += "bpffs\n";
  }
  for (const VipKey& address : addresses) {
    text += fmt::format("address {}\n", to_text(address));
  }
  for (const Sysctl& sysctl : sysctls) {
    text += fmt::format("sysctl {} {} {}\n", sysctl.name, sysctl.before, sysctl.after);
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string next = path_in(folder) + ".new";
  if (std::ofstream file(next); !(file << text << std::flush)) {
    std::filesystem::remove(next, error);
    return failure(next + ": cannot write it; is there room, and are you root?");
  }
  std::filesystem::rename(next, path_in(folder), error);
  if (error) {
    return failure(fmt::format("{}: {}", path_in(folder), error.message()));
  }
  return {};
}

Result<void> Changes::forget(const std::string& folder) {
  std::error_code error;
  std::filesystem::remove(path_in(folder), error);
  if (!error) {
    std::filesystem::remove(folder, error);
  }
  if (error) {
    return failure(fmt::format("{}: {}", folder, error.message()));
  }
  return {};
}

Result<Fd> lock_host(const std::string& folder) {
  if (geteuid() != 0) {
    return failure("not permitted: addresses, sysctls and BPF need root; run it with sudo");
  }
  const std::string parent = std::filesystem::path(folder).parent_path();
  Fd file(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) {
    return failure(fmt::format("{}: {}", parent, std::strerror(errno)));
  }
  for (int tenths = 0; tenths < 100; ++tenths) {
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      return file;
    }
    usleep(100'000);
  }
  return failure(parent + ": another process holds its lock for 10 s; see `lslocks`");
}

}  // namespace fairlead::backend
