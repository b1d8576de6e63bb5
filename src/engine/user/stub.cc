// SPDX-License-Identifier: MIT
// Stub: see stub.h.
#include "engine/user/stub.h"

#include <bpf/bpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/bpf/grace.h"
#include "fairlead_stub.bpf.h"

namespace fairlead::user {
Result<Stub> Stub::attach(const engine::Interface& interface, engine::Mode mode,
                          const tables::Capacity& capacity) {
  auto object = engine::BpfObject::open("fairlead_stub", bpf::fairlead_stub());
  if (!object) return std::unexpected(object.error());
  for (const Result<void>& step :
       {object->resize(".bss.rows", 2ull * capacity.rows * sizeof(core::Row)),
        object->resize(".bss.translat",
                       uint64_t{capacity.translations} * sizeof(core::Translation)),
        object->set_constant("rows_mask", capacity.rows - 1),
        object->set_constant("translations_mask", capacity.translations - 1), object->load()}) {
    if (!step) return std::unexpected(step.error());
  }
  auto settings = object->array_of<core::Settings>(".bss.settings");
  if (!settings) return std::unexpected(settings.error());
  auto mapped_rows = object->array_of<core::Row>(".bss.rows");
  if (!mapped_rows) return std::unexpected(mapped_rows.error());
  auto translations = object->array_of<core::Translation>(".bss.translat");
  if (!translations) return std::unexpected(translations.error());
  auto sockets = object->map("sockets");
  if (!sockets) return std::unexpected(sockets.error());
  auto program = object->program("fairlead_stub");
  if (!program) return std::unexpected(program.error());
  auto link = engine::XdpLink::attach(*program, interface, mode);
  if (!link) return std::unexpected(link.error());
  Stub stub(std::move(*object), std::move(*link));
  stub.settings_ = settings->data();
  stub.rows_ = mapped_rows->data();
  stub.translations_ = translations->data();
  stub.sockets_ = *sockets;
  return stub;
}

Result<void> Stub::connect(uint32_t queue, int socket) {
  if (bpf_map_update_elem(sockets_, &queue, &socket, BPF_ANY) != 0) {
    return failure(fmt::format("the socket of queue {} cannot be connected to the XDP program: {}",
                               queue, std::strerror(errno)));
  }
  return {};
}

void Stub::publish(const tables::Memory& memory) {
  const core::u32 from = memory.settings->generation & 1;
  const core::u32 to = (settings_->generation & 1) ^ 1;
  const size_t count = memory.capacity.rows;
  std::copy_n(memory.rows + from * count, count, rows_ + to * count);
  settings_->prefixes[to] = memory.settings->prefixes[from];
  settings_->version = core::layout_version;
  std::ranges::copy(memory.settings->seed, settings_->seed);
  std::ranges::copy(memory.settings->ttl, settings_->ttl);
  settings_->translates = memory.settings->translates;
  std::atomic_ref(settings_->generation).store(to, std::memory_order_release);
  engine::wait_for_kernel();
}

}  // namespace fairlead::user
