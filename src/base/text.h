// SPDX-License-Identifier: MIT
// Words around numbers, in messages for people.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace fairlead {

// "1 VIP", "2 VIPs", "0 VIPs": for words whose plural is an s.
inline std::string counted(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace fairlead
