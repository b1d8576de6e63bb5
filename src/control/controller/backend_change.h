// SPDX-License-Identifier: MIT
// What a person says about backends on the command line of replay: "10.0.0.1", "10.0.0.1:443@2.5",
// "[2001:db8::1]:443@2". Without a port all entries of the address are meant; S are seconds after
// the first frame, without it from the start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/config/address.h"
#include "control/config/model.h"

namespace fairlead::controller {

enum class Word : uint8_t { up, down, draining };

struct BackendChange {
  Word word = Word::up;
  config::Endpoint backend;
  uint64_t at_ns = 0;
};

struct Timed {
  std::string_view what;  // a part of the text
  uint64_t at_ns = 0;
};

// "WHAT" or "WHAT@S". Error: S is no number of seconds.
Result<Timed> parse_timed(std::string_view text);

Result<BackendChange> parse_backend_change(Word word, std::string_view text);

bool is_meant(const config::Endpoint& said, const config::Backend& backend);

// Error: no pool of any of these configurations has such a backend; names the nearest.
Result<void> check_known(const config::Endpoint& said,
                         std::span<const config::Services* const> configurations);

}  // namespace fairlead::controller
