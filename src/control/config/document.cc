// SPDX-License-Identifier: MIT
#include "control/config/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "control/config/reader.h"

namespace fairlead::config {
namespace {

constexpr size_t longest_shown = 60;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Length of the UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629, section 4) or
// if it is a zero byte, which some parsers take for the end.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length || !std::ranges::all_of(text.substr(1, length - 1), continues)) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool beyond = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : length;
}

struct Describe {
  std::string operator()(Null) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(uint64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const List&) const { return "a list"; }
  std::string operator()(const Table&) const { return "{...}"; }
  std::string operator()(const Foreign& value) const { return value.kind; }
};

}  // namespace

const Value* Value::member(std::string_view key) const {
  const Table* table = as<Table>();
  if (!table) return nullptr;
  const auto found = std::ranges::find(*table, key, &Member::key);
  return found == table->end() ? nullptr : &found->value;
}

std::string shown(const Value& value) { return std::visit(Describe{}, value.data); }

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  size_t characters = 0;
  for (const char c : text) {
    if (!continues(c) && characters++ == longest_shown) {
      result += "...";
      break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

bool check_utf8(std::string_view text, Reader& reader) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = sequence_length(text.substr(i));
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(text[i]);
      return reader.problem(Locator(text).at(i),
                            fmt::format("byte 0x{:02x} is no text, expected UTF-8", byte));
    }
    i += length;
  }
  return true;
}

Locator::Locator(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) offset_ = 3;  // the byte order mark has no column
}

Position Locator::at(size_t offset) {
  for (; offset_ < std::min(offset, text_.size()); offset_++) {
    if (text_[offset_] == '\n') {
      position_ = {position_.line + 1, 1};
    } else if (!continues(text_[offset_])) {
      position_.column++;
    }
  }
  return position_;
}

}  // namespace fairlead::config
