// SPDX-License-Identifier: MIT
// Bounds of the control plane besides those of the configuration (control/config/limits.h): what is
// open at once, and how long is waited. They stand beside each other since they work together: a
// look, a debounce and a publication are the way of a change to the packets.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fairlead::health::limits {

constexpr uint32_t in_flight = 4'096;  // open probes: 10,000 dead targets at 5 s and 2 s
constexpr uint32_t at_once = 256;      // begun in one step; others of the loop come between
constexpr Duration first_interval = std::chrono::milliseconds(200);  // while unknown, at most

}  // namespace fairlead::health::limits

namespace fairlead::neighbours::limits {

constexpr Duration period = std::chrono::seconds(1);           // from one look to the next
constexpr Duration collect = std::chrono::milliseconds(10);    // notifications that come together
constexpr Duration at_least = std::chrono::milliseconds(100);  // between looks, however many come

}  // namespace fairlead::neighbours::limits

namespace fairlead::path_mtu::limits {

constexpr Duration lifetime = std::chrono::minutes(10);  // RFC 1191 section 6.3, RFC 8201 section 4
constexpr Duration sweep = std::chrono::seconds(1);      // between looks for what is too old
constexpr Duration pace = std::chrono::milliseconds(100);  // between changes that are published
constexpr uint32_t at_once = 64;                           // messages, then a rest
constexpr Duration rest = std::chrono::milliseconds(10);

}  // namespace fairlead::path_mtu::limits

namespace fairlead::controller::limits {

constexpr Duration debounce = std::chrono::milliseconds(50);      // from a change to the tables
constexpr Duration patience = std::chrono::milliseconds(300);     // for next hops
constexpr Duration link_period = std::chrono::milliseconds(200);  // looks at the interface
constexpr Duration retry = std::chrono::seconds(1);  // after the engine refused a table

}  // namespace fairlead::controller::limits
