// SPDX-License-Identifier: MIT
// check(): what must hold unless the program itself is wrong. It stays on in every build, prints
// the values that broke it, and aborts. What a user, a peer or a packet may get wrong is not for
// check(): that is a Result or a verdict.
//   check(slot < size, "slot {} of a table of {}", slot, size);
#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string_view>
#include <type_traits>

namespace fairlead {

// A format string, checked against its arguments at compile time, and where it was written.
template <class... Args>
struct CheckText {
  template <class T>
  consteval CheckText(const T& format, std::source_location at = std::source_location::current())
      : text(format), where(at) {}

  fmt::format_string<const Args&...> text;
  std::source_location where;
};

// Prints `file:line: check failed: message` to stderr and aborts.
[[noreturn]] void check_failed(std::source_location where, std::string_view message);

template <class... Args>
constexpr void check(bool condition, CheckText<std::type_identity_t<Args>...> text,
                     const Args&... args) {
  if (!condition) [[unlikely]] {
    check_failed(text.where, fmt::format(text.text, args...));
  }
}

}  // namespace fairlead
