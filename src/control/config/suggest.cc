// SPDX-License-Identifier: MIT
#include "control/config/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fairlead::config {
namespace {

constexpr size_t longest_word = 64;
constexpr size_t longest_list = 16;

// Optimal string alignment distance, or more than `limit` as soon as it must be.
size_t distance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) last[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    size_t best = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      best = std::min(best, row[j]);
    }
    if (best > limit) return limit + 1;
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > longest_word) return {};
  std::string_view best;
  size_t fewest = SIZE_MAX;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > longest_word) continue;
    const size_t bearable = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const size_t limit = std::min(bearable, fewest - 1);  // the first of equals stays
    const size_t d = distance(word, candidate, limit);
    if (d > limit) continue;
    best = candidate;
    fewest = d;
    if (d == 0) break;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view otherwise) {
  if (const std::string_view near = nearest(word, candidates); !near.empty()) {
    return fmt::format("did you mean \"{}\"?", near);
  }
  if (candidates.empty() || candidates.size() > longest_list) return std::string(otherwise);
  if (candidates.size() == 1) return fmt::format("expected \"{}\"", candidates[0]);
  return fmt::format("expected one of \"{}\"", fmt::join(candidates, "\", \""));
}

}  // namespace fairlead::config
