// SPDX-License-Identifier: MIT
#include "backend/pins.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace fairlead::backend {
namespace {

// The last line that libbpf wrote: it says more than the errno that it returns.
thread_local std::string last_word;

[[gnu::format(printf, 2, 0)]] int keep_last_word(libbpf_print_level level, const char* format,
                                                 va_list arguments) {
  char line[512];
  if (level == LIBBPF_WARN && vsnprintf(line, sizeof line, format, arguments) > 0) {
    last_word.assign(line, std::strcspn(line, "\n"));
  }
  return 0;
}

}  // namespace

void listen_to_libbpf() {
  libbpf_set_print(keep_last_word);
  last_word.clear();
}

std::string words_of(int error) { return std::strerror(error < 0 ? -error : error); }

Error refusal(std::string_view what, int error) {
  error = error < 0 ? -error : error;
  if (error == EPERM || error == EACCES) {
    return {
        fmt::format("{}: the kernel refuses BPF ({}); run as root with CAP_BPF, CAP_NET_ADMIN "
                    "and CAP_SYS_ADMIN, outside of an unprivileged container",
                    what, words_of(error))};
  }
  return {
      fmt::format("{}: {}{}{}", what, words_of(error), last_word.empty() ? "" : "; ", last_word)};
}

Result<Fd> pinned_at(const std::string& path) {
  Fd found(bpf_obj_get(path.c_str()));
  if (!found && errno != ENOENT) {
    return std::unexpected(refusal("cannot open " + path, errno));
  }
  return found;
}

Result<void> reuse(bpf_map* map, const std::string& path) {
  const auto found = pinned_at(path);
  if (!found) {
    return std::unexpected(found.error());
  }
  const Fd& pinned = *found;
  if (!pinned) {
    return {};
  }
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(pinned.get(), &info, &size) != 0 ||
      info.type != static_cast<__u32>(bpf_map__type(map)) ||
      info.key_size != bpf_map__key_size(map) || info.value_size != bpf_map__value_size(map) ||
      info.max_entries != bpf_map__max_entries(map)) {
    return failure(path +
                   ": left by another version of fairlead with other records; run `fairlead "
                   "backend remove`, then setup");
  }
  if (const int error = bpf_map__reuse_fd(map, pinned.get()); error != 0) {
    return std::unexpected(refusal(path, error));
  }
  return {};
}

Result<void> pin(int fd, const std::string& path) {
  if (bpf_obj_pin(fd, path.c_str()) != 0 && errno != EEXIST) {
    return std::unexpected(refusal("cannot pin " + path, errno));
  }
  return {};
}

}  // namespace fairlead::backend
