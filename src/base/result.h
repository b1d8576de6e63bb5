// SPDX-License-Identifier: MIT
// How the control side says that something failed: a value or an Error. An Error is a sentence for
// the person who reads it: what is wrong, where, and what to do about it. The packet path has no
// errors, only verdicts. What a library throws is caught in the file that calls it and turned into
// an Error.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace fairlead {

struct Error {
  std::string message;  // one line, no full stop; "interface eth7: does not exist; see `ip link`"
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

}  // namespace fairlead
