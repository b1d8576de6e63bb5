// SPDX-License-Identifier: MIT
// What the loader of a program on a backend (decap.h) asks of the kernel: objects that are
// pinned in a bpffs, and what to tell people when the kernel refuses one.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

struct bpf_map;

namespace fairlead::backend {

// From now on keeps the last warning of libbpf, which refusal() quotes, instead of printing it.
void listen_to_libbpf();

std::string words_of(int error);  // of an errno, negative or not

// "WHAT: why", with a remedy where permission is missing.
Error refusal(std::string_view what, int error);

// What is pinned at `path`, or no descriptor when nothing is.
Result<Fd> pinned_at(const std::string& path);

// Uses the map that is pinned at `path`, if there is one. An error if its records are others.
Result<void> reuse(bpf_map* map, const std::string& path);

// Pins, unless `path` is there: then the map is the one that was reused from it.
Result<void> pin(int fd, const std::string& path);

}  // namespace fairlead::backend
