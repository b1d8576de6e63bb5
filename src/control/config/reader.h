// SPDX-License-Identifier: MIT
// Collects the problems of one file while its values are read, and knows the key that is being
// read. Reading never stops at a problem: a broken value keeps its default, and the rules that
// would need it are told so by broken(), lest one mistake be reported twice.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "control/config/document.h"
#include "control/config/parse.h"

namespace fairlead::config {

// One step of a path: a key, or an index into a list.
struct Step {
  Step(const char* name) : key(name) {}         // NOLINT(google-explicit-constructor)
  Step(std::string_view name) : key(name) {}    // NOLINT(google-explicit-constructor)
  Step(size_t i) : index(i), is_index(true) {}  // NOLINT(google-explicit-constructor)

  std::string_view key;
  size_t index = 0;
  bool is_index = false;
};

using Path = std::vector<Step>;

std::string to_text(const Path& path);  // "pools[0].backends[2].ip"

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  // The path grows by `step` while the result lives.
  class Scope {
   public:
    Scope(Path& path, Step step) : path_(path) { path_.push_back(step); }
    ~Scope() { path_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Path& path_;
  };
  [[nodiscard]] Scope enter(Step step) { return {path_, step}; }

  // A problem of the key that is being read, or of `path`. Always false.
  bool problem(Position at, std::string message) { return problem(at, path_, std::move(message)); }
  bool problem(Position at, const Path& path, std::string message);

  // The same, of a value in a tree that was read: it stands where as much of `path` as exists ends.
  bool problem(const Value& root, const Path& path, std::string message);

  // Whether a problem of `path`, or of what holds it, was reported.
  bool broken(const Path& path) const;

  bool clean() const { return problems_.empty(); }
  bool full() const;  // further problems are only counted: save the work of wording them
  Problems take();    // sorted by position

 private:
  std::string file_;
  Path path_;
  Problems problems_;
  std::unordered_set<std::string> broken_;
  size_t uncounted_ = 0;
};

// Where a value stands: the deepest part of `path` that exists.
Position find(const Value& root, const Path& path);

}  // namespace fairlead::config
