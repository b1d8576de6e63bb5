// SPDX-License-Identifier: MIT
#include "control/config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "control/config/limits.h"

namespace fairlead::config {

std::string Problem::format() const {
  std::string text = file;
  if (line > 0) text += fmt::format(":{}:{}", line, column);
  if (!key.empty()) text += ": " + key;
  return text + ": " + message;
}

namespace {

// As it is, unless it would not look like a key.
std::string shown_key(std::string_view key) {
  constexpr size_t longest = 60;
  const bool plain = !key.empty() && key.size() <= longest && std::ranges::all_of(key, [](char c) {
    return c > ' ' && c < 0x7f && c != '.' && c != '"' && c != '[';
  });
  return plain ? std::string(key) : in_quotes(key);
}

}  // namespace

std::string to_text(const Path& path) {
  std::string text;
  for (const Step& step : path) {
    if (step.is_index) {
      text += fmt::format("[{}]", step.index);
    } else {
      if (!text.empty()) text += '.';
      text += shown_key(step.key);
    }
  }
  return text;
}

bool Reader::problem(Position at, const Path& path, std::string message) {
  std::string key = to_text(path);
  broken_.insert(key);
  if (full()) {
    uncounted_++;
  } else {
    problems_.push_back({file_, at.line, at.column, std::move(key), std::move(message)});
  }
  return false;
}

bool Reader::problem(const Value& root, const Path& path, std::string message) {
  return problem(find(root, path), path, std::move(message));
}

bool Reader::broken(const Path& path) const {
  if (broken_.empty()) return false;
  for (size_t length = path.size(); length > 0; length--) {
    const Path part(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
    if (broken_.contains(to_text(part))) return true;
  }
  return broken_.contains("");
}

bool Reader::full() const { return problems_.size() >= limits::problems; }

Problems Reader::take() {
  std::ranges::stable_sort(problems_, {},
                           [](const Problem& p) { return std::tie(p.line, p.column); });
  if (uncounted_ > 0) {
    problems_.push_back({file_, 0, 0, "", fmt::format("and {} more problems", uncounted_)});
  }
  return std::move(problems_);
}

Position find(const Value& root, const Path& path) {
  const Value* value = &root;
  for (const Step& step : path) {
    const Value* next = nullptr;
    if (!step.is_index) {
      next = value->member(step.key);
    } else if (const List* list = value->as<List>(); list && step.index < list->size()) {
      next = &(*list)[step.index];
    }
    if (!next) break;
    value = next;
  }
  return value->at;
}

}  // namespace fairlead::config
