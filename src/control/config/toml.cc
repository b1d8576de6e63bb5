// SPDX-License-Identifier: MIT
// TOML 1.0 with positions, by toml++. It is compiled into this file (not taken from its shared
// library), without exceptions and with our own bound on nesting. Keys of many parts (a.b.c...)
// nest too, without a bound of its own and destroyed recursively: they are counted before it sees
// the text.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 32
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "control/config/document.h"
#include "control/config/limits.h"
#include "control/config/reader.h"

namespace fairlead::config {
namespace {

static_assert(TOML_MAX_NESTED_VALUES == limits::depth);

Position position_of(const toml::source_region& region) {
  return {std::max<uint32_t>(region.begin.line, 1), std::max<uint32_t>(region.begin.column, 1)};
}

Value value_of(const toml::node& node);

Table table_of(const toml::table& from) {
  Table table;
  for (const auto& [key, node] : from) {
    table.push_back({std::string(key.str()), position_of(key.source()), value_of(node)});
  }
  std::ranges::sort(table, {}, &Member::at);
  return table;
}

Value value_of(const toml::node& node) {
  Value value{position_of(node.source()), Null{}};
  if (const toml::table* table = node.as_table()) {
    value.data = table_of(*table);
  } else if (const toml::array* array = node.as_array()) {
    List& list = value.data.emplace<List>();
    for (const toml::node& element : *array) list.push_back(value_of(element));
  } else if (const auto* text = node.as_string()) {
    value.data = text->get();
  } else if (const auto* integer = node.as_integer()) {
    const int64_t number = integer->get();
    if (number < 0) {
      value.data = number;
    } else {
      value.data = static_cast<uint64_t>(number);
    }
  } else if (const auto* real = node.as_floating_point()) {
    value.data = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    value.data = flag->get();
  } else {
    value.data = Foreign{"a date or time"};
  }
  return value;
}

// Offset of the dot that gives a key too many parts, or npos. Strings and comments are stepped
// over; dots of numbers are counted too, which does not matter: they have one.
size_t too_many_parts(std::string_view text) {
  size_t dots = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      dots = 0;
    } else if (c == '"' || c == '\'') {
      const std::string_view three = text.substr(i, 3);
      const size_t width = three == "\"\"\"" || three == "'''" ? 3 : 1;
      const std::string_view end = text.substr(i, width);
      for (i += width; i < text.size() && text.substr(i, width) != end; i++) {
        if (c == '"' && text[i] == '\\') i++;
        if (width == 1 && i < text.size() && text[i] == '\n')
          break;  // not closed: toml++ will say so
      }
      i += width - 1;
    } else if (c == '.') {
      if (++dots == limits::key_parts) return i;
    } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') {
      dots = 0;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Value read_toml(std::string_view text, Reader& reader) {
  const Value empty{{1, 1}, Table{}};
  if (text.size() > limits::toml_bytes) {
    reader.problem(
        {}, fmt::format("has {} bytes, expected at most {}", text.size(), limits::toml_bytes));
    return empty;
  }
  if (const size_t dot = too_many_parts(text); dot != text.npos) {
    reader.problem(
        Locator(text).at(dot),
        fmt::format("a key of more than {} parts, expected a flat file", limits::key_parts));
    return empty;
  }
  const toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& error = result.error();
    std::string_view what = error.description();
    constexpr std::string_view opening = "Error while parsing ";
    if (what.starts_with(opening)) what.remove_prefix(opening.size());
    reader.problem(position_of(error.source()), fmt::format("not TOML: {}", what));
    return empty;
  }
  return {{1, 1}, table_of(result.table())};
}

}  // namespace fairlead::config
