// SPDX-License-Identifier: MIT
// Which XDP program an interface has already, and how to get rid of it: for the messages of those
// who find the place taken. The advice differs. A program that a bpf link holds cannot be taken off
// by `ip link`; one that was attached without is taken off in the mode that it was attached in.
#pragma once

#include <string>

namespace fairlead::bpf {

// "has XDP program 12 (decap) already, held by link 7; stop its owner ..."; `interface` by name and
// index in this network namespace.
std::string occupant(const std::string& interface, unsigned index);

}  // namespace fairlead::bpf
