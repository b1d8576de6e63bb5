// SPDX-License-Identifier: MIT
// What the node says in a VIP's name: answers to pings, and errors about packets that do not fit.
// CONTRACT sections 6 and 7; RFC 792, RFC 1191, RFC 4443, RFC 8201.
#pragma once

#include <cstdint>
#include <span>

#include "core/path/packet.h"

namespace fairlead::host {

// Bytes of the largest reply: an answer to the largest ping.
constexpr size_t largest_reply = 65'535 + 64;

// Both write a frame that goes back to where `frame` came from, over the same VLAN, and return its
// length. `packet` is what admit() read of the frame; `out` has room for largest_reply.
size_t write_echo_reply(std::span<const uint8_t> frame, const core::Packet& packet,
                        std::span<uint8_t> out);
size_t write_too_big(std::span<const uint8_t> frame, const core::Packet& packet, uint16_t mtu,
                     std::span<uint8_t> out);

}  // namespace fairlead::host
