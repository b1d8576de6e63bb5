// SPDX-License-Identifier: MIT
#include "backend/clamp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "backend/pins.h"
#include "clamp.bpf.h"

namespace fairlead::backend {
namespace {

constexpr const char* what = "program for the MSS";
constexpr const char* limits_pin = "/mss_limits";
constexpr const char* clamped_pin = "/mss_clamped";
constexpr const char* program_pin = "/mss_program";
constexpr const char* link_pin = "/mss_link";

constexpr auto tcx_egress = static_cast<bpf_attach_type>(47);  // newer than the headers

// Our filter in clsact: one place of its own, so that it is found and exchanged.
constexpr __u32 handle = 0xfa1d, priority = 0xfa1d;

bpf_tc_hook hook_of(int ifindex) {
  bpf_tc_hook hook;
  std::memset(&hook, 0, sizeof hook);
  hook.sz = sizeof hook;
  hook.ifindex = ifindex;
  hook.attach_point = BPF_TC_EGRESS;
  return hook;
}

bpf_tc_opts filter() {
  bpf_tc_opts options;
  std::memset(&options, 0, sizeof options);
  options.sz = sizeof options;
  options.handle = handle;
  options.priority = priority;
  return options;
}

std::uint32_t id_of(int program) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  return bpf_obj_get_info_by_fd(program, &info, &size) == 0 ? info.id : 0;
}

// The program in our place of clsact; 0: none.
std::uint32_t in_clsact(int ifindex) {
  const bpf_tc_hook hook = hook_of(ifindex);
  bpf_tc_opts options = filter();
  return bpf_tc_query(&hook, &options) == 0 ? options.prog_id : 0;
}

int index_of(const std::string& interface) {
  return static_cast<int>(if_nametoindex(interface.c_str()));
}

}  // namespace

void Clamp::CloseObject::operator()(bpf_object* object) const { bpf_object__close(object); }

Clamp::Clamp(Clamp&&) noexcept = default;
Clamp& Clamp::operator=(Clamp&&) noexcept = default;
Clamp::~Clamp() = default;

Result<Clamp> Clamp::load(const std::string& folder, int vip_map) {
  listen_to_libbpf();
  Clamp clamp;
  clamp.folder_ = folder;
  const auto bytes = bpf::clamp();
  clamp.object_.reset(bpf_object__open_mem(bytes.data(), bytes.size(), nullptr));
  if (!clamp.object_) return std::unexpected(refusal(what, errno));
  bpf_object* object = clamp.object_.get();
  bpf_map* limits = bpf_object__find_map_by_name(object, "mss_limits");
  bpf_map* clamped = bpf_object__find_map_by_name(object, "mss_clamped");
  if (const int error = bpf_map__reuse_fd(bpf_object__find_map_by_name(object, "vips"), vip_map);
      error != 0) {
    return std::unexpected(refusal("VIP map", error));
  }
  if (!folder.empty()) {
    for (const auto& [map, name] :
         {std::pair(limits, limits_pin), std::pair(clamped, clamped_pin)}) {
      if (auto reused = reuse(map, folder + name); !reused) return std::unexpected(reused.error());
    }
    auto link = pinned_at(folder + link_pin);
    if (!link) return std::unexpected(link.error());
    clamp.link_ = std::move(*link);
  }
  if (const int error = bpf_object__load(object); error != 0) {
    return std::unexpected(refusal(what, error));
  }
  clamp.program_.reset(dup(bpf_program__fd(bpf_object__find_program_by_name(object, "clamp_mss"))));
  clamp.limits_.reset(dup(bpf_map__fd(limits)));
  clamp.clamped_.reset(dup(bpf_map__fd(clamped)));
  return clamp;
}

Result<std::optional<Clamp>> Clamp::open(const std::string& folder) {
  listen_to_libbpf();
  Clamp clamp;
  clamp.folder_ = folder;
  for (const auto& [descriptor, name] :
       {std::pair(&clamp.program_, program_pin), std::pair(&clamp.limits_, limits_pin),
        std::pair(&clamp.clamped_, clamped_pin), std::pair(&clamp.link_, link_pin)}) {
    auto found = pinned_at(folder + name);
    if (!found) return std::unexpected(found.error());
    *descriptor = std::move(*found);
  }
  if (!clamp.program_ || !clamp.limits_ || !clamp.clamped_) return std::nullopt;
  return clamp;
}

Result<void> Clamp::set(const MssLimits& limits) {
  const core::u32 key = 0;
  if (bpf_map_update_elem(limits_.get(), &key, &limits, BPF_ANY) != 0) {
    return std::unexpected(refusal("MSS limits", errno));
  }
  return {};
}

Result<MssLimits> Clamp::limits() const {
  const core::u32 key = 0;
  MssLimits limits{};
  if (bpf_map_lookup_elem(limits_.get(), &key, &limits) != 0) {
    return std::unexpected(refusal("MSS limits", errno));
  }
  return limits;
}

Result<std::uint64_t> Clamp::clamped() const {
  const int cpus = libbpf_num_possible_cpus();
  std::vector<std::uint64_t> per_cpu(static_cast<size_t>(cpus > 0 ? cpus : 1));
  const core::u32 key = 0;
  if (cpus <= 0 || bpf_map_lookup_elem(clamped_.get(), &key, per_cpu.data()) != 0) {
    return std::unexpected(refusal("count of MSS options", cpus <= 0 ? cpus : errno));
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t count : per_cpu) sum += count;
  return sum;
}

Result<std::optional<Clamp::Hook>> Clamp::attachment(const std::string& interface) const {
  const int ifindex = index_of(interface);
  if (ifindex == 0) return std::nullopt;
  if (link_) {
    bpf_link_info info{};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(link_.get(), &info, &size) != 0) {
      return std::unexpected(refusal("link of the MSS program", errno));
    }
    // What a tcx link tells begins with its interface, as that of XDP does; 0 when that is gone.
    if (info.xdp.ifindex == static_cast<__u32>(ifindex)) return Hook::tcx;
  }
  const std::uint32_t id = id_of(program_.get());
  return id != 0 && in_clsact(ifindex) == id ? std::optional(Hook::clsact) : std::nullopt;
}

// False: this kernel has no tcx.
Result<bool> Clamp::attach_tcx(int ifindex) {
  bpf_link_info info{};
  __u32 size = sizeof info;
  if (link_ && bpf_obj_get_info_by_fd(link_.get(), &info, &size) == 0 &&
      info.xdp.ifindex == static_cast<__u32>(ifindex)) {
    if (bpf_link_update(link_.get(), program(), nullptr) != 0) {
      return std::unexpected(refusal("cannot exchange the program for the MSS", errno));
    }
    return true;
  }
  Fd link(bpf_link_create(program(), ifindex, tcx_egress, nullptr));
  if (!link) return false;
  link_ = std::move(link);
  if (!folder_.empty()) unlink((folder_ + link_pin).c_str());  // of an interface that is gone
  return true;
}

Result<void> Clamp::attach_clsact(int ifindex) {
  bpf_tc_hook hook = hook_of(ifindex);
  if (const int error = bpf_tc_hook_create(&hook); error != 0 && error != -EEXIST) {
    return std::unexpected(refusal("cannot add a clsact qdisc", error));
  }
  bpf_tc_opts options = filter();
  options.prog_fd = program();
  options.flags = BPF_TC_F_REPLACE;
  if (const int error = bpf_tc_attach(&hook, &options); error != 0) {
    return std::unexpected(refusal("cannot attach the program for the MSS", error));
  }
  return {};
}

Result<void> Clamp::pin_all() {
  unlink((folder_ + program_pin).c_str());  // of the program that was there before
  for (const auto& [descriptor, name] :
       {std::pair(&program_, program_pin), std::pair(&limits_, limits_pin),
        std::pair(&clamped_, clamped_pin), std::pair(&link_, link_pin)}) {
    if (!*descriptor) continue;
    if (auto pinned = pin(descriptor->get(), folder_ + name); !pinned) return pinned;
  }
  return {};
}

Result<Clamp::Hook> Clamp::attach(const std::string& interface, std::optional<Hook> wanted) {
  const int ifindex = index_of(interface);
  if (ifindex == 0) return failure("interface " + interface + ": does not exist; see `ip link`");
  Result<bool> in_tcx = false;
  if (wanted != Hook::clsact) in_tcx = attach_tcx(ifindex);
  if (!in_tcx) return std::unexpected(in_tcx.error());
  if (!*in_tcx && wanted == Hook::tcx) return std::unexpected(refusal("no tcx", errno));
  if (!*in_tcx) {
    if (auto attached = attach_clsact(ifindex); !attached) {
      return failure("interface " + interface + ": " + attached.error().message);
    }
  }
  if (!folder_.empty()) {
    if (auto pinned = pin_all(); !pinned) return std::unexpected(pinned.error());
  }
  return *in_tcx ? Hook::tcx : Hook::clsact;
}

Result<void> Clamp::unpin(const std::string& folder, const std::string& interface) {
  if (const Fd link(bpf_obj_get((folder + link_pin).c_str())); link) bpf_link_detach(link.get());
  const Fd program(bpf_obj_get((folder + program_pin).c_str()));
  const int ifindex = index_of(interface);
  if (program && ifindex != 0 && in_clsact(ifindex) == id_of(program.get())) {
    const bpf_tc_hook hook = hook_of(ifindex);
    const bpf_tc_opts options = filter();
    if (const int error = bpf_tc_detach(&hook, &options); error != 0) {
      return std::unexpected(refusal("cannot detach the program for the MSS", error));
    }
  }
  for (const char* name : {link_pin, program_pin, limits_pin, clamped_pin}) {
    if (unlink((folder + name).c_str()) != 0 && errno != ENOENT) {
      return failure(folder + name + ": " + words_of(errno));
    }
  }
  return {};
}

}  // namespace fairlead::backend
