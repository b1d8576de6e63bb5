// SPDX-License-Identifier: MIT
#include "bpf/occupant.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace fairlead::bpf {
namespace {

std::string name_of_program(uint32_t id) {
  bpf_prog_info info{};
  uint32_t size = sizeof info;
  const int program = bpf_prog_get_fd_by_id(id);
  if (program < 0) return "?";
  const bool found = bpf_obj_get_info_by_fd(program, &info, &size) == 0;
  ::close(program);
  return found ? info.name : "?";
}

// The link that holds `program` on the interface; 0 when none does.
uint32_t link_of(uint32_t program, unsigned interface) {
  uint32_t id = 0;
  while (bpf_link_get_next_id(id, &id) == 0) {
    const int link = bpf_link_get_fd_by_id(id);
    if (link < 0) continue;  // gone since
    bpf_link_info info{};
    uint32_t size = sizeof info;
    const bool found = bpf_obj_get_info_by_fd(link, &info, &size) == 0;
    ::close(link);
    if (found && info.type == BPF_LINK_TYPE_XDP && info.prog_id == program &&
        info.xdp.ifindex == interface) {
      return id;
    }
  }
  return 0;
}

}  // namespace

std::string occupant(const std::string& interface, unsigned index) {
  bpf_xdp_query_opts found;
  std::memset(&found, 0, sizeof found);
  found.sz = sizeof found;
  if (bpf_xdp_query(static_cast<int>(index), 0, &found) != 0 || found.prog_id == 0) {
    return "has another XDP program; see `bpftool net`";
  }
  const std::string program =
      fmt::format("has XDP program {} ({}) already", found.prog_id, name_of_program(found.prog_id));
  if (const uint32_t link = link_of(found.prog_id, index); link != 0) {
    return fmt::format(
        "{0}, held by BPF link {1}: stop its owner (another fairlead?), which `bpftool link show "
        "id {1}` names; if there is none, `bpftool link detach id {1}`",
        program, link);
  }
  const char* mode = found.attach_mode == XDP_ATTACHED_SKB ? "xdpgeneric" : "xdp";
  return fmt::format("{}: stop its owner, or remove it with `ip link set dev {} {} off`", program,
                     interface, mode);
}

}  // namespace fairlead::bpf
