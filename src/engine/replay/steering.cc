// SPDX-License-Identifier: MIT
#include "engine/replay/steering.h"

#include "core/hash.h"
#include "core/path/admit.h"
#include "engine/host/frame.h"

namespace fairlead::replay {

uint32_t worker_of(std::span<std::byte> frame, uint32_t workers) {
  engine::HeldFrame held{.data = reinterpret_cast<uint8_t*>(frame.data()),
                         .length = static_cast<uint32_t>(frame.size())};
  core::Packet packet;
  packet.shape = core::admit(host::Frame(&held), packet);
  const bool has_addresses = packet.shape == core::Shape::flow ||
                             packet.shape == core::Shape::icmp ||
                             packet.shape == core::Shape::later_fragment;
  if (!has_addresses) return 0;
  constexpr core::Settings key{.seed = {0x6d5a56da255b0ec2, 0x4167253d43a38fb0}};
  const core::u64 hash =
      core::flow_hash(key, packet.family, packet.source, packet.destination, packet.source_port,
                      packet.destination_port, packet.protocol);
  return static_cast<uint32_t>((hash >> 32) * workers >> 32);
}

}  // namespace fairlead::replay
