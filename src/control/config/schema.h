// SPDX-License-Identifier: MIT
// A schema is a constexpr list of keys; a key binds a name in the file to a member of a struct of
// config/model.h, a type of config/types.h and a sentence for the documentation:
//
//   constexpr auto peer_keys = schema<BgpPeer>(
//       key<&BgpPeer::peer_ip, AnyAddress>("peer_ip", required, "address of the router"),
//       key<&BgpPeer::port, Number<1, 65535>>("port", optional, "TCP port of the router"));
//
// To add a key is to add a member to the struct and a line to the schema: reading, unknown-key
// suggestions, the message when it is missing and the list of keys come from that line. The default
// is the member's. `Object<peer_keys>` is a type again, so schemas nest.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "control/config/reader.h"
#include "control/config/types.h"

namespace fairlead::config {

enum class Need { optional, required };
inline constexpr Need optional = Need::optional;
inline constexpr Need required = Need::required;

// What does not depend on the struct.
struct KeyBase {
  std::string_view name;
  Need need = Need::optional;
  std::string_view meaning;
  std::string (*expected)() = nullptr;
  std::string (*default_value)() = nullptr;                                        // "": none
  void (*list)(const std::string& prefix, std::vector<KeyLine>& lines) = nullptr;  // keys below
};

template <class T>
struct Key : KeyBase {
  bool (*read)(Reader& reader, const Value& value, T& out) = nullptr;
};

template <class T, size_t count>
struct Schema {
  using type = T;
  std::array<Key<T>, count> keys;
  std::string_view called = "a table";
};

template <class T, std::same_as<Key<T>>... Keys>
constexpr Schema<T, sizeof...(Keys)> schema(Keys... keys) {
  return {{keys...}};
}

// The same for JSON, which calls it so.
template <class T, std::same_as<Key<T>>... Keys>
constexpr Schema<T, sizeof...(Keys)> json_schema(Keys... keys) {
  return {{keys...}, "an object"};
}

namespace schema_detail {

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class Type>
concept HasKeys =
    requires(const std::string& prefix, std::vector<KeyLine>& lines) { Type::list(prefix, lines); };

template <class Member>
struct MemberPointer;
template <class T, class V>
struct MemberPointer<V T::*> {
  using Struct = T;
  using Field = V;
};

template <auto member, class Type>
struct Bound {
  using Struct = typename MemberPointer<decltype(member)>::Struct;
  using Field = typename MemberPointer<decltype(member)>::Field;

  static bool read(Reader& reader, const Value& value, Struct& out) {
    if constexpr (is_optional<Field>) {
      return Type::read(reader, value, (out.*member).emplace());
    } else {
      return Type::read(reader, value, out.*member);
    }
  }

  static std::string default_value() {
    const Struct fresh{};
    if constexpr (is_optional<Field>) {
      return "";
    } else {
      return Type::show(fresh.*member);
    }
  }
};

// The steps of reading a table that are the same for all schemas.
const Table* table_in(Reader& reader, const Value& value, std::string_view expected);
void unknown_key(Reader& reader, const Member& member, std::span<const std::string_view> known);
void missing_key(Reader& reader, const Value& value, const KeyBase& key);
void list_key(const KeyBase& key, const std::string& prefix, std::vector<KeyLine>& lines);

}  // namespace schema_detail

template <auto member, class Type>
constexpr auto key(std::string_view name, Need need, std::string_view meaning) {
  using Bound = schema_detail::Bound<member, Type>;
  Key<typename Bound::Struct> result;
  result.name = name;
  result.need = need;
  result.meaning = meaning;
  result.expected = Type::expected;
  result.default_value = Bound::default_value;
  if constexpr (schema_detail::HasKeys<Type>) result.list = Type::list;
  result.read = Bound::read;
  return result;
}

// A table with the keys of a schema.
template <const auto& schema>
struct Object {
  using T = typename std::remove_cvref_t<decltype(schema)>::type;

  static std::string expected() { return std::string(schema.called); }
  static std::string show(const T&) { return ""; }

  static bool read(Reader& reader, const Value& value, T& out) {
    const Table* table = schema_detail::table_in(reader, value, schema.called);
    if (!table) return false;
    bool all = true;
    std::array<bool, schema.keys.size()> seen{};
    for (const Member& member : *table) {
      const auto scope = reader.enter(std::string_view(member.key));
      const auto found = std::ranges::find(schema.keys, member.key, &Key<T>::name);
      if (found == schema.keys.end()) {
        std::array<std::string_view, schema.keys.size()> known;
        std::ranges::transform(schema.keys, known.begin(), &Key<T>::name);
        schema_detail::unknown_key(reader, member, known);
        all = false;
      } else {
        seen[static_cast<size_t>(found - schema.keys.begin())] = true;
        all &= found->read(reader, member.value, out);
      }
    }
    for (size_t i = 0; i < seen.size(); i++) {
      if (seen[i] || schema.keys[i].need == optional) continue;
      schema_detail::missing_key(reader, value, schema.keys[i]);
      all = false;
    }
    return all;
  }

  static void list(const std::string& prefix, std::vector<KeyLine>& lines) {
    for (const auto& key : schema.keys) schema_detail::list_key(key, prefix, lines);
  }
};

// A list of tables.
template <const auto& schema, size_t least = 0, size_t most = SIZE_MAX>
struct ListOfObjects : ListOf<Object<schema>, least, most> {
  static std::string expected() {
    return ListOf<Object<schema>, least, most>::expected(fmt::format("each {}", schema.called));
  }
  template <class T>
  static std::string show(const std::vector<T>&) {
    return "";
  }
  static void list(const std::string& prefix, std::vector<KeyLine>& lines) {
    Object<schema>::list(prefix + "[]", lines);
  }
};

}  // namespace fairlead::config
