// SPDX-License-Identifier: MIT
#include "control/config/schema.h"

#include <fmt/format.h>

#include "control/config/suggest.h"

namespace fairlead::config::schema_detail {

const Table* table_in(Reader& reader, const Value& value, std::string_view expected) {
  const Table* table = value.as<Table>();
  if (!table) unexpected(reader, value, expected);
  return table;
}

void unknown_key(Reader& reader, const Member& member, std::span<const std::string_view> known) {
  const std::string hint = reader.full() ? "" : suggestion(member.key, known, "expected another");
  reader.problem(member.at, "unknown key, " + hint);
}

void missing_key(Reader& reader, const Value& value, const KeyBase& key) {
  const auto scope = reader.enter(key.name);
  reader.problem(value.at, "missing, expected " + key.expected());
}

void list_key(const KeyBase& key, const std::string& prefix, std::vector<KeyLine>& lines) {
  const std::string path =
      prefix.empty() ? std::string(key.name) : fmt::format("{}.{}", prefix, key.name);
  lines.push_back({path, key.expected(), key.need == required,
                   key.need == required ? "" : key.default_value(), std::string(key.meaning)});
  if (key.list) key.list(path, lines);
}

}  // namespace fairlead::config::schema_detail
