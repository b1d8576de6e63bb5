// SPDX-License-Identifier: MIT
// A configuration file as a tree of values that know where they stand: what JSON and TOML have in
// common. The two readers (json.cc, toml.cc) keep the heavy headers to themselves.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fairlead::config {

struct Position {
  uint32_t line = 0, column = 0;  // from 1, columns count characters; 0: the file as a whole
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Member;
struct Value;

struct Null {};
struct Foreign {  // a kind that no key takes
  std::string kind;
};

using List = std::vector<Value>;
using Table = std::vector<Member>;  // in the order of the file, each key once

struct Value {
  Position at;
  // Integers below 0 are int64_t, all others uint64_t.
  std::variant<Null, bool, int64_t, uint64_t, double, std::string, List, Table, Foreign> data;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  const Value* member(std::string_view key) const;  // null: no table, or no such key
};

struct Member {
  std::string key;
  Position at;
  Value value;
};

// A value for people: `"abc"`, `17`, `a list`, `{...}`.
std::string shown(const Value& value);

// A string in quotes, cut when long, control characters escaped.
std::string in_quotes(std::string_view text);

class Reader;

// The root, always a table. A file that cannot be read at all gives an empty one and a problem.
Value read_json(std::string_view text, Reader& reader);
Value read_toml(std::string_view text, Reader& reader);

// False and a problem at the first byte that is zero or not UTF-8.
bool check_utf8(std::string_view text, Reader& reader);

// Turns offsets into positions; offsets may only grow.
class Locator {
 public:
  explicit Locator(std::string_view text);
  Position at(size_t offset);

 private:
  std::string_view text_;
  size_t offset_ = 0;
  Position position_{1, 1};
};

}  // namespace fairlead::config
