// SPDX-License-Identifier: MIT
// The types that a key of a configuration file can have. A type is a struct with
//   expected()                       what it takes, in words, for messages and documentation
//   read(Reader&, const Value&, T&)  false and a problem if the value is none of it
//   show(const T&)                   the value as it would be written, for documentation
// A schema (config/schema.h) binds them to keys.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "control/config/address.h"
#include "control/config/limits.h"
#include "control/config/names.h"
#include "control/config/reader.h"

namespace fairlead::config {

// "is X, expected Y" of the value that is being read; false.
bool unexpected(Reader& reader, const Value& value, std::string_view expected);

bool read_string(Reader& reader, const Value& value, std::string_view expected, size_t longest,
                 std::string& out);
bool read_number(Reader& reader, const Value& value, std::string_view expected, uint64_t least,
                 uint64_t most, uint64_t& out);
bool read_duration(Reader& reader, const Value& value, std::string_view expected,
                   Milliseconds least, Milliseconds most, Milliseconds& out);

struct Flag {
  static std::string expected() { return "true or false"; }
  static bool read(Reader& reader, const Value& value, bool& out);
  static std::string show(bool value) { return value ? "true" : "false"; }
};

template <uint64_t least, uint64_t most>
struct Number {
  static std::string expected() { return fmt::format("an integer from {} to {}", least, most); }

  template <std::unsigned_integral T>
  static bool read(Reader& reader, const Value& value, T& out) {
    static_assert(most <= static_cast<T>(-1));
    uint64_t number = 0;
    if (!read_number(reader, value, expected(), least, most, number)) return false;
    out = static_cast<T>(number);
    return true;
  }
  static std::string show(uint64_t value) { return value < least ? "" : fmt::format("{}", value); }
};

template <uint32_t least, uint32_t most>
struct PowerOfTwo {
  static std::string expected() { return fmt::format("a power of two from {} to {}", least, most); }
  static bool read(Reader& reader, const Value& value, uint32_t& out);
  static std::string show(uint32_t value) { return fmt::format("{}", value); }
};

bool read_power_of_two(Reader& reader, const Value& value, std::string_view expected,
                       uint32_t least, uint32_t most, uint32_t& out);

template <uint32_t least, uint32_t most>
bool PowerOfTwo<least, most>::read(Reader& reader, const Value& value, uint32_t& out) {
  return read_power_of_two(reader, value, expected(), least, most, out);
}

// The size of a Maglev table.
struct Prime {
  static std::string expected();
  static bool read(Reader& reader, const Value& value, uint32_t& out);
  static std::string show(uint32_t value) { return fmt::format("{}", value); }
};

// 64 bits; TOML has no number above 2^63, so it may be written as a string.
struct Seed {
  static std::string expected() { return "up to 16 hexadecimal digits such as \"0x5eed\""; }
  static bool read(Reader& reader, const Value& value, uint64_t& out);
  static std::string show(uint64_t value) { return fmt::format("\"{:#x}\"", value); }
};

template <int64_t least_ms, int64_t most_ms>
struct DurationFrom {
  static std::string expected() {
    return fmt::format("a duration such as \"5s\" or \"100ms\" from {} to {}",
                       fairlead::to_text(Milliseconds(least_ms)),
                       fairlead::to_text(Milliseconds(most_ms)));
  }
  static bool read(Reader& reader, const Value& value, Milliseconds& out) {
    return read_duration(reader, value, expected(), Milliseconds(least_ms), Milliseconds(most_ms),
                         out);
  }
  static std::string show(Milliseconds value) { return in_quotes(fairlead::to_text(value)); }
};

struct AText {
  static bool read(Reader& reader, const Value& value, std::string& out);
  static std::string expected() { return "a string"; }
  static std::string show(const std::string& value) {
    return value.empty() ? "" : in_quotes(value);
  }
};

// What names a thing in metrics, URLs and logs.
struct Name : AText {
  static std::string expected() { return "a name of letters, digits and . _ - :"; }
  static bool read(Reader& reader, const Value& value, std::string& out);
  static std::string show(const std::string& value) {
    return value.empty() ? "" : in_quotes(value);
  }
};

struct FilePath : AText {
  static std::string expected() { return "a path"; }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

struct UrlPath : AText {
  static std::string expected() { return "a path that begins with /"; }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

// What stands in a Host header: nothing that ends it.
struct HostHeader : AText {
  static std::string expected() { return "a host name such as \"web.example\""; }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

struct InterfaceName : Name {
  static std::string expected() { return "the name of a network interface"; }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

// Where the HTTP server listens.
struct Listen : AText {
  static std::string expected() {
    return "ADDRESS:PORT such as \"127.0.0.1:9100\", or the path of a unix socket, from / on, of "
           "at "
           "most 107 bytes";
  }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

// BGP: RFC 1997 ("65000:100") or RFC 8092 ("65000:1:2").
struct Community : AText {
  static std::string expected() { return "a BGP community such as \"65000:100\""; }
  static bool read(Reader& reader, const Value& value, std::string& out);
};

// An address that one host can have; `family` none takes both.
template <core::Family family>
struct HostAddress {
  static std::string expected() {
    return family == core::Family::v4   ? "an IPv4 address such as \"192.0.2.1\""
           : family == core::Family::v6 ? "an IPv6 address such as \"2001:db8::1\""
                                        : "an IPv4 or IPv6 address";
  }
  static bool read(Reader& reader, const Value& value, IpAddress& out);
  static std::string show(const IpAddress& value) {
    return value.family == core::Family::none ? "" : in_quotes(to_text(value));
  }
};

bool read_host_address(Reader& reader, const Value& value, std::string_view expected,
                       core::Family family, IpAddress& out);

template <core::Family family>
bool HostAddress<family>::read(Reader& reader, const Value& value, IpAddress& out) {
  return read_host_address(reader, value, expected(), family, out);
}

struct AddressPrefix {
  static std::string expected() { return "an address or a prefix such as \"198.51.100.0/24\""; }
  static bool read(Reader& reader, const Value& value, Prefix& out);
  static std::string show(const Prefix& value) {
    return value.address.family == core::Family::none ? "" : in_quotes(to_text(value));
  }
};

struct Mac {
  static std::string expected() {
    return "the MAC address of a host such as \"02:00:00:00:00:01\"";
  }
  static bool read(Reader& reader, const Value& value, MacAddress& out);
  static std::string show(const MacAddress& value) { return in_quotes(to_text(value)); }
};

bool unknown_word(Reader& reader, const Value& value, std::span<const std::string_view> words);

// One of the words of config/names.h.
template <const auto& names>
struct Choice {
  static std::string expected() {
    std::string text;
    for (const auto& entry : names)
      text += fmt::format("{}\"{}\"", text.empty() ? "" : " | ", entry.name);
    return text;
  }

  template <class E>
  static bool read(Reader& reader, const Value& value, E& out) {
    if (const std::string* word = value.as<std::string>()) {
      for (const auto& entry : names) {
        if (entry.name != *word) continue;
        out = entry.value;
        return true;
      }
    }
    std::array<std::string_view, names.size()> words;
    std::ranges::transform(names, words.begin(), [](const auto& entry) { return entry.name; });
    return unknown_word(reader, value, words);
  }

  template <class E>
  static std::string show(E value) {
    return in_quotes(name_of(names, value));
  }
};

// A list of values, each of `Type`.
template <class Type, size_t least = 0, size_t most = SIZE_MAX>
struct ListOf {
  static std::string expected() { return expected("each " + Type::expected()); }
  static std::string expected(std::string_view elements) {
    std::string text = least > 0 ? "a list that is not empty" : "a list";
    if (most != SIZE_MAX) text += fmt::format(" of at most {}", most);
    return fmt::format("{}, {}", text, elements);
  }

  template <class T>
  static bool read(Reader& reader, const Value& value, std::vector<T>& out) {
    const List* list = value.as<List>();
    if (!list || list->size() < least) return unexpected(reader, value, expected());
    if (list->size() > most) {
      return reader.problem(value.at,
                            fmt::format("has {} entries, expected at most {}", list->size(), most));
    }
    out.assign(list->size(), T{});  // as many as in the file even where some are wrong
    bool all = true;
    for (size_t i = 0; i < list->size(); i++) {
      const auto scope = reader.enter(i);
      all &= Type::read(reader, (*list)[i], out[i]);
    }
    return all;
  }

  template <class T>
  static std::string show(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : ", ") + Type::show(value);
    return '[' + text + ']';
  }
};

}  // namespace fairlead::config
