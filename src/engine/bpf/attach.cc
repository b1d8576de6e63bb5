// SPDX-License-Identifier: MIT
// XdpLink: see attach.h. A bpf_link says only an errno; the kernel's own words ("veth: Peer MTU is
// too large to set XDP") are to be had by asking a second time, over netlink.
#include "engine/bpf/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "bpf/occupant.h"
#include "engine/bpf/libbpf_log.h"
#include "engine/bpf/object.h"

namespace fairlead::engine {
namespace {

struct Refusal {
  int error = 0;
  std::string reason;  // in the kernel's words where it had any
};

bool another_mode_may_help(const Refusal& refusal) {
  return refusal.error != EPERM && refusal.error != EBUSY && refusal.error != EEXIST &&
         refusal.error != ENODEV;
}

uint32_t flag_of(Mode mode) {
  return mode == Mode::native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

std::string kernels_words(int program, int interface, Mode mode) {
  const LibbpfLog log;
  const uint32_t flags = flag_of(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST;
  if (bpf_xdp_attach(interface, program, flags, nullptr) == 0) {
    bpf_xdp_detach(interface, flag_of(mode), nullptr);
  }
  return log.kernel_message();
}

std::expected<Fd, Refusal> try_attach(int program, int interface, Mode mode) {
  LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flag_of(mode));
  Fd link(bpf_link_create(program, interface, BPF_XDP, &options));
  if (link) {
    return link;
  }
  Refusal refusal{errno, {}};
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(static_cast<unsigned>(interface), name.data()) == nullptr) {
    refusal.error = ENODEV;  // the link says EINVAL
  }
  if (another_mode_may_help(refusal)) {
    refusal.reason = kernels_words(program, interface, mode);
  }
  if (refusal.reason.empty()) {
    refusal.reason = std::strerror(refusal.error);
  }
  return std::unexpected(refusal);
}

Error explain(const Refusal& refusal, const Interface& interface, Mode mode) {
  switch (refusal.error) {
    case EPERM: return {not_permitted(fmt::format("interface {}: an XDP program", interface.name))};
    case EBUSY:
    case EEXIST:
      return {fmt::format("interface {}: {}", interface.name,
                          fairlead::bpf::occupant(interface.name, interface.index))};
    case ENODEV:
      return {fmt::format("interface {}: does not exist; `ip link` lists those that do",
                          interface.name)};
    default: break;
  }
  const char* remedy = mode == Mode::native ? "set xdp_mode = \"auto\", or change the interface so "
                                              "(a smaller MTU and more receive queues often help)"
                                            : "see `ip link` and `ethtool` for what it can";
  return {fmt::format("interface {}: takes no {} XDP program: {}; {}", interface.name,
                      mode == Mode::native ? "native" : "generic", refusal.reason, remedy)};
}

}  // namespace

XdpLink::XdpLink(Fd link, Mode mode, std::string note)
    : link_(std::move(link)), mode_(mode), note_(std::move(note)) {}

Result<XdpLink> XdpLink::attach(int program, const Interface& interface, Mode mode) {
  const auto index = static_cast<int>(interface.index);
  std::string note;
  if (mode == Mode::generic) {
    note = "generic XDP was asked for";
  } else {
    auto link = try_attach(program, index, Mode::native);
    if (link) {
      return XdpLink(std::move(*link), Mode::native, {});
    }
    if (mode == Mode::native || !another_mode_may_help(link.error())) {
      return std::unexpected(explain(link.error(), interface, Mode::native));
    }
    note = fmt::format("generic XDP, because the driver refused native: {}", link.error().reason);
  }
  auto link = try_attach(program, index, Mode::generic);
  if (!link) {
    return std::unexpected(explain(link.error(), interface, Mode::generic));
  }
  return XdpLink(std::move(*link), Mode::generic, std::move(note));
}

}  // namespace fairlead::engine
