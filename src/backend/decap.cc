// SPDX-License-Identifier: MIT
#include "backend/decap.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backend/pins.h"
#include "bpf/occupant.h"
#include "decap.bpf.h"

namespace fairlead::backend {
namespace {

constexpr const char* vips_pin = "/vips";
constexpr const char* packets_pin = "/packets";
constexpr const char* link_pin = "/link";

bpf_xdp_query_opts query(unsigned ifindex) {
  bpf_xdp_query_opts found;
  std::memset(&found, 0, sizeof found);
  found.sz = sizeof found;
  if (bpf_xdp_query(static_cast<int>(ifindex), 0, &found) != 0) {
    found = {};
  }
  return found;
}

}  // namespace

void Decap::CloseObject::operator()(bpf_object* object) const { bpf_object__close(object); }

Decap::Decap(Decap&&) noexcept = default;
Decap& Decap::operator=(Decap&&) noexcept = default;
Decap::~Decap() = default;

Result<Decap> Decap::load(const std::string& folder) {
  listen_to_libbpf();
  Decap decap;
  decap.folder_ = folder;
  const auto bytes = bpf::decap();
  decap.object_.reset(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (!decap.object_) {
    return std::unexpected(refusal("decapsulation program", errno));
  }
  bpf_map* vips = bpf_object__find_map_by_name(decap.object_.get(), "vips");
  bpf_map* packets = bpf_object__find_map_by_name(decap.object_.get(), "packets");
  if (!folder.empty()) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return failure(fmt::format("{}: {}; is a bpffs mounted there?", folder, words_of(errno)));
    }
    for (const auto& [map, name] : {std::pair(vips, vips_pin), std::pair(packets, packets_pin)}) {
      if (auto reused = reuse(map, folder + name); !reused) {
        return std::unexpected(reused.error());
      }
    }
    auto link = pinned_at(folder + link_pin);
    if (!link) {
      return std::unexpected(link.error());
    }
    decap.link_ = std::move(*link);
  }
  if (const int error = bpf_object__load(decap.object_.get()); error != 0) {
    return std::unexpected(refusal("decapsulation program", error));
  }
  decap.vips_.reset(dup(bpf_map__fd(vips)));
  decap.packets_.reset(dup(bpf_map__fd(packets)));
  if (!folder.empty()) {
    for (const auto& [map, name] : {std::pair(vips, vips_pin), std::pair(packets, packets_pin)}) {
      if (auto pinned = pin(bpf_map__fd(map), folder + name); !pinned) {
        return std::unexpected(pinned.error());
      }
    }
  }
  return decap;
}

Result<std::optional<Decap>> Decap::open(const std::string& folder) {
  listen_to_libbpf();
  Decap decap;
  decap.folder_ = folder;
  decap.vips_.reset(bpf_obj_get((folder + vips_pin).c_str()));
  if (!decap.vips_) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return std::nullopt;
    }
    return std::unexpected(refusal(folder, errno));
  }
  for (const auto& [descriptor, name] :
       {std::pair(&decap.packets_, packets_pin), std::pair(&decap.link_, link_pin)}) {
    auto found = pinned_at(folder + name);
    if (!found) {
      return std::unexpected(found.error());
    }
    *descriptor = std::move(*found);
  }
  return decap;
}

int Decap::program() const {
  return object_ ? bpf_program__fd(bpf_object__find_program_by_name(object_.get(), "decapsulate"))
                 : -1;
}

Result<void> Decap::add(const VipKey& vip) {
  const core::u8 present = 1;
  if (bpf_map_update_elem(vips_.get(), &vip, &present, BPF_ANY) != 0) {
    if (errno == E2BIG) {
      return failure(fmt::format("no room for another VIP: this host has {} already", max_vips));
    }
    return std::unexpected(refusal("VIP map", errno));
  }
  return {};
}

Result<void> Decap::remove(const VipKey& vip) {
  if (bpf_map_delete_elem(vips_.get(), &vip) != 0 && errno != ENOENT) {
    return std::unexpected(refusal("VIP map", errno));
  }
  return {};
}

Result<std::vector<VipKey>> Decap::vips() const {
  std::vector<VipKey> all;
  VipKey next{};
  while (all.size() < max_vips &&
         bpf_map_get_next_key(vips_.get(), all.empty() ? nullptr : &all.back(), &next) == 0) {
    all.push_back(next);
  }
  return all;
}

Result<PacketCounts> Decap::packets() const {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) {
    return std::unexpected(refusal("number of CPUs", cpus));
  }
  PacketCounts counts{};
  std::vector<std::uint64_t> per_cpu(static_cast<size_t>(cpus));
  for (std::uint32_t i = 0; i < outcome_count; ++i) {
    if (bpf_map_lookup_elem(packets_.get(), &i, per_cpu.data()) != 0) {
      return std::unexpected(refusal("packet counters", errno));
    }
    for (const std::uint64_t count : per_cpu) {
      counts[i] += count;
    }
  }
  return counts;
}

Result<std::optional<Attachment>> Decap::attachment() const {
  if (!link_) {
    return std::nullopt;
  }
  bpf_link_info info{};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(link_.get(), &info, &size) != 0) {
    return std::unexpected(refusal("XDP link", errno));
  }
  // A link says 0 when its interface is gone, and its index in its own namespace when this process
  // lives in another one: ask the interface too.
  const bpf_xdp_query_opts here = query(info.xdp.ifindex);
  if (info.xdp.ifindex == 0 || here.prog_id == 0) {
    return std::nullopt;
  }
  if (here.skb_prog_id == info.prog_id) {
    return Attachment{info.xdp.ifindex, XdpMode::generic};
  }
  if (here.drv_prog_id == info.prog_id || here.hw_prog_id == info.prog_id) {
    return Attachment{info.xdp.ifindex, XdpMode::native};
  }
  return std::nullopt;
}

Result<Fd> Decap::link_in_driver_or_generic(unsigned ifindex, const std::string& interface,
                                            Attached& attached) const {
  bpf_link_create_opts options;
  std::memset(&options, 0, sizeof options);
  options.sz = sizeof options;
  options.flags = XDP_FLAGS_DRV_MODE;
  attached.mode = XdpMode::native;
  Fd link(bpf_link_create(program(), static_cast<int>(ifindex), BPF_XDP, &options));
  if (!link) {
    attached.why_generic = words_of(errno);
    attached.mode = XdpMode::generic;
    options.flags = XDP_FLAGS_SKB_MODE;
    link.reset(bpf_link_create(program(), static_cast<int>(ifindex), BPF_XDP, &options));
  }
  if (!link) {
    return std::unexpected(refusal("interface " + interface + ": cannot attach XDP", errno));
  }
  return link;
}

Result<Decap::Attached> Decap::attach(const std::string& interface) {
  const unsigned ifindex = if_nametoindex(interface.c_str());
  if (ifindex == 0) {
    return failure("interface " + interface + ": does not exist; see `ip link`");
  }
  const auto current = attachment();
  if (!current) {
    return std::unexpected(current.error());
  }
  if (*current && (*current)->ifindex != ifindex) {
    char name[IF_NAMESIZE] = "?";
    if_indextoname((*current)->ifindex, name);
    return failure(
        fmt::format("interface {}: this host decapsulates on {} already; run `fairlead "
                    "backend remove` first",
                    interface, name));
  }
  if (*current) {
    if (bpf_link_update(link_.get(), program(), nullptr) != 0) {
      return std::unexpected(
          refusal("interface " + interface + ": cannot exchange program", errno));
    }
    return Attached{(*current)->mode, ""};
  }
  if (query(ifindex).prog_id != 0) {
    return failure(
        fmt::format("interface {}: {}", interface, fairlead::bpf::occupant(interface, ifindex)));
  }
  Attached attached{};
  auto link = link_in_driver_or_generic(ifindex, interface, attached);
  if (!link) {
    return std::unexpected(link.error());
  }
  link_ = std::move(*link);
  if (!folder_.empty()) {
    unlink((folder_ + link_pin).c_str());  // of an interface that is gone
    if (auto pinned = pin(link_.get(), folder_ + link_pin); !pinned) {
      return std::unexpected(pinned.error());
    }
  }
  return attached;
}

Result<void> Decap::unpin(const std::string& folder) {
  // Detached first: what the kernel frees when the last pin goes, it frees some time later.
  if (const Fd link(bpf_obj_get((folder + link_pin).c_str())); link) {
    bpf_link_detach(link.get());
  }
  for (const char* name : {link_pin, vips_pin, packets_pin}) {
    if (unlink((folder + name).c_str()) != 0 && errno != ENOENT) {
      return failure(fmt::format("{}{}: {}", folder, name, words_of(errno)));
    }
  }
  if (rmdir(folder.c_str()) != 0 && errno != ENOENT) {
    return failure(fmt::format("{}: {}", folder, words_of(errno)));
  }
  return {};
}

}  // namespace fairlead::backend
