// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace fairlead {

void check_failed(std::source_location where, std::string_view message) {
  fmt::print(stderr, "{}:{}: check failed: {} (in {})\n", where.file_name(), where.line(), message,
             where.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace fairlead
