// SPDX-License-Identifier: MIT
#include "engine/host/pieces.h"

#include <algorithm>
#include <cstring>

#include "core/wire.h"
#include "engine/host/checksum.h"

namespace fairlead::host {
namespace {

namespace wire = core::wire;

constexpr uint8_t option_end = 0, option_nop = 1, option_copied = 0x80;

// The header with the copied options only, padded to whole words.
uint32_t copy_header(std::span<const uint8_t> header, uint8_t* out) {
  std::memcpy(out, header.data(), sizeof(wire::Ipv4));
  uint32_t size = sizeof(wire::Ipv4);
  for (size_t at = sizeof(wire::Ipv4); at < header.size();) {
    const uint8_t kind = header[at];
    if (kind == option_end) break;
    size_t length = 1;
    if (kind != option_nop) {
      if (at + 1 >= header.size() || header[at + 1] < 2) break;  // broken: what follows is noise
      length = std::min<size_t>(header[at + 1], header.size() - at);
    }
    if (kind & option_copied) {
      std::memcpy(out + size, header.data() + at, length);
      size += static_cast<uint32_t>(length);
    }
    at += length;
  }
  while (size % 4 != 0) out[size++] = option_end;
  out[0] = static_cast<uint8_t>(0x40 | size / 4);
  return size;
}

}  // namespace

Pieces::Pieces(std::span<const uint8_t> packet, uint32_t mtu) : mtu_(mtu) {
  wire::Ipv4 ip;
  std::memcpy(&ip, packet.data(), sizeof ip);
  const uint16_t fragment = core::to_host(ip.fragment);
  header_ = packet.first((ip.version_length & 15u) * 4);
  rest_ = packet.subspan(header_.size());
  offset_ = (fragment & wire::fragment_offset_mask) * 8u;
  more_behind_ = fragment & wire::fragment_more;
  copied_bytes_ = copy_header(header_, copied_);
}

std::span<const uint8_t> Pieces::next(std::span<uint8_t> out) {
  if (rest_.empty()) return {};
  const size_t room = (mtu_ - header_.size()) / 8 * 8;
  const size_t payload = rest_.size() <= mtu_ - header_.size() ? rest_.size() : room;
  const bool last = payload == rest_.size();
  wire::Ipv4 ip;
  std::memcpy(out.data(), header_.data(), header_.size());
  std::memcpy(&ip, header_.data(), sizeof ip);
  ip.total_length = core::to_be16(static_cast<uint16_t>(header_.size() + payload));
  const uint32_t more = !last || more_behind_ ? wire::fragment_more : 0u;
  ip.fragment = core::to_be16(static_cast<uint16_t>(more | offset_ / 8));
  ip.checksum = 0;
  std::memcpy(out.data(), &ip, sizeof ip);
  ip.checksum = checksum_of(sum_of(out.first(header_.size())));
  std::memcpy(out.data(), &ip, sizeof ip);
  std::memcpy(out.data() + header_.size(), rest_.data(), payload);
  const std::span<const uint8_t> made = out.first(header_.size() + payload);
  rest_ = rest_.subspan(payload);
  offset_ += static_cast<uint32_t>(payload);
  header_ = std::span<const uint8_t>(copied_, copied_bytes_);
  return made;
}

}  // namespace fairlead::host
