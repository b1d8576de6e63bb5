// SPDX-License-Identifier: MIT
#include "control/config/types.h"

#include <bit>
#include <charconv>
#include <optional>

#include "control/config/suggest.h"
#include "tables/maglev.h"

namespace fairlead::config {
namespace {

// The whole of `text` as a number, or nothing.
std::optional<uint64_t> number_in(std::string_view text, int base = 10) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == ':';
  });
}

// Sizes are at most 2^20, so a few divisions; the nearest prime is never far.
uint32_t nearest_prime(uint32_t n) {
  for (uint32_t d = 0;; d++) {
    if (n + d <= core::limits::largest_table && tables::is_prime(n + d)) return n + d;
    if (n >= d && tables::is_prime(n - d)) return n - d;
  }
}

}  // namespace

bool unexpected(Reader& reader, const Value& value, std::string_view expected) {
  const List* list = value.as<List>();
  const std::string text = list && list->empty() ? "an empty list" : shown(value);
  return reader.problem(value.at, fmt::format("is {}, expected {}", text, expected));
}

bool read_string(Reader& reader, const Value& value, std::string_view expected, size_t longest,
                 std::string& out) {
  const std::string* text = value.as<std::string>();
  if (!text) return unexpected(reader, value, expected);
  if (text->size() > longest) {
    return reader.problem(value.at, fmt::format("has {} bytes, expected {} of at most {}",
                                                text->size(), expected, longest));
  }
  out = *text;
  return true;
}

bool read_number(Reader& reader, const Value& value, std::string_view expected, uint64_t least,
                 uint64_t most, uint64_t& out) {
  const uint64_t* number = value.as<uint64_t>();
  if (!number || *number < least || *number > most) return unexpected(reader, value, expected);
  out = *number;
  return true;
}

bool read_power_of_two(Reader& reader, const Value& value, std::string_view expected,
                       uint32_t least, uint32_t most, uint32_t& out) {
  uint64_t number = 0;
  if (!read_number(reader, value, expected, least, most, number)) return false;
  if (!std::has_single_bit(number)) {
    const uint64_t below = std::bit_floor(number), above = std::bit_ceil(number);
    return reader.problem(value.at, fmt::format("is {}, expected a power of two: {} or {}", number,
                                                below, std::min<uint64_t>(above, most)));
  }
  out = static_cast<uint32_t>(number);
  return true;
}

bool read_duration(Reader& reader, const Value& value, std::string_view expected,
                   Milliseconds least, Milliseconds most, Milliseconds& out) {
  const std::string* text = value.as<std::string>();
  const Result<Duration> duration = parse_duration(text ? *text : "");
  if (!duration || *duration < least || *duration > most ||
      *duration % Milliseconds(1) != Milliseconds(0)) {
    return unexpected(reader, value, expected);
  }
  out = std::chrono::duration_cast<Milliseconds>(*duration);
  return true;
}

bool Flag::read(Reader& reader, const Value& value, bool& out) {
  const bool* flag = value.as<bool>();
  if (!flag) return unexpected(reader, value, expected());
  out = *flag;
  return true;
}

std::string Prime::expected() {
  return fmt::format("a prime from {} to {}", core::limits::smallest_table,
                     core::limits::largest_table);
}

bool Prime::read(Reader& reader, const Value& value, uint32_t& out) {
  uint64_t number = 0;
  if (!read_number(reader, value, expected(), core::limits::smallest_table,
                   core::limits::largest_table, number)) {
    return false;
  }
  out = static_cast<uint32_t>(number);
  if (tables::is_prime(out)) return true;
  return reader.problem(
      value.at, fmt::format("is {}, expected a prime; the nearest is {}", out, nearest_prime(out)));
}

bool Seed::read(Reader& reader, const Value& value, uint64_t& out) {
  const std::string* text = value.as<std::string>();
  const uint64_t* number = value.as<uint64_t>();
  std::optional<uint64_t> seed = number ? std::optional(*number) : std::nullopt;
  if (text && text->starts_with("0x")) seed = number_in(std::string_view(*text).substr(2), 16);
  if (!seed) return unexpected(reader, value, expected());
  out = *seed;
  return true;
}

bool AText::read(Reader& reader, const Value& value, std::string& out) {
  return read_string(reader, value, expected(), limits::text_length, out);
}

bool Name::read(Reader& reader, const Value& value, std::string& out) {
  std::string name;
  if (!read_string(reader, value, expected(), limits::name_length, name)) return false;
  if (name.empty() || !is_name(name)) return unexpected(reader, value, expected());
  out = std::move(name);
  return true;
}

bool FilePath::read(Reader& reader, const Value& value, std::string& out) {
  std::string path;
  if (!read_string(reader, value, expected(), limits::text_length, path)) return false;
  if (path.empty() || path.find('\0') != path.npos) return unexpected(reader, value, expected());
  out = std::move(path);
  return true;
}

bool UrlPath::read(Reader& reader, const Value& value, std::string& out) {
  std::string path;
  if (!read_string(reader, value, expected(), limits::text_length, path)) return false;
  const bool printable = std::ranges::all_of(path, [](char c) { return c > ' ' && c < 0x7f; });
  if (!path.starts_with('/') || !printable) return unexpected(reader, value, expected());
  out = std::move(path);
  return true;
}

bool HostHeader::read(Reader& reader, const Value& value, std::string& out) {
  std::string host;
  if (!read_string(reader, value, expected(), limits::text_length, host)) return false;
  const bool printable = std::ranges::all_of(host, [](char c) { return c > ' ' && c < 0x7f; });
  if (!printable) return unexpected(reader, value, expected());
  out = std::move(host);
  return true;
}

bool InterfaceName::read(Reader& reader, const Value& value, std::string& out) {
  constexpr size_t longest = 15;  // IFNAMSIZ without its zero
  std::string name;
  if (!read_string(reader, value, expected(), longest, name)) return false;
  const bool allowed = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '/' && c != 0x7f; });
  if (name.empty() || name == "." || name == ".." || !allowed) {
    return unexpected(reader, value, expected());
  }
  out = std::move(name);
  return true;
}

bool Listen::read(Reader& reader, const Value& value, std::string& out) {
  std::string text;
  if (!read_string(reader, value, expected(), limits::text_length, text)) return false;
  if (!parse_place(text)) return unexpected(reader, value, expected());
  out = std::move(text);
  return true;
}

bool Community::read(Reader& reader, const Value& value, std::string& out) {
  std::string text;
  if (!read_string(reader, value, expected(), limits::text_length, text)) return false;
  const auto parts = static_cast<size_t>(std::ranges::count(text, ':')) + 1;
  const uint64_t most = parts == 3 ? UINT32_MAX : UINT16_MAX;
  std::string_view rest = text;
  bool good = parts == 2 || parts == 3;
  for (size_t i = 0; good && i < parts; i++) {
    const auto part = number_in(rest.substr(0, rest.find(':')));
    good = part && *part <= most;
    rest.remove_prefix(std::min(rest.find(':'), rest.size() - 1) + 1);
  }
  if (!good) return unexpected(reader, value, expected());
  out = std::move(text);
  return true;
}

bool read_host_address(Reader& reader, const Value& value, std::string_view expected,
                       core::Family family, IpAddress& out) {
  const std::string* text = value.as<std::string>();
  const auto address = text ? parse_address(*text) : std::nullopt;
  if (!address || (family != core::Family::none && address->family != family)) {
    return unexpected(reader, value, expected);
  }
  if (!is_host(*address)) {
    return reader.problem(
        value.at, fmt::format("is {}, expected an address that one host has", shown(value)));
  }
  out = *address;
  return true;
}

bool AddressPrefix::read(Reader& reader, const Value& value, Prefix& out) {
  const std::string* text = value.as<std::string>();
  const auto prefix = text ? parse_prefix(*text) : std::nullopt;
  if (!prefix) return unexpected(reader, value, expected());
  if (const Prefix whole = masked(*prefix); whole != *prefix) {
    return reader.problem(value.at, fmt::format("is {} with bits set behind the prefix, expected "
                                                "\"{}\" or one address",
                                                shown(value), to_text(whole)));
  }
  if (is_single(*prefix) && !is_host(prefix->address)) {
    return reader.problem(
        value.at, fmt::format("is {}, expected an address that one host has", shown(value)));
  }
  out = *prefix;
  return true;
}

bool Mac::read(Reader& reader, const Value& value, MacAddress& out) {
  const std::string* text = value.as<std::string>();
  const auto mac = text ? parse_mac(*text) : std::nullopt;
  const bool group = mac && ((*mac)[0] & 1) != 0;
  if (!mac || group || *mac == MacAddress{}) return unexpected(reader, value, expected());
  out = *mac;
  return true;
}

bool unknown_word(Reader& reader, const Value& value, std::span<const std::string_view> words) {
  const std::string* word = value.as<std::string>();
  return reader.problem(
      value.at, fmt::format("is {}, {}", shown(value), suggestion(word ? *word : "", words, "")));
}

}  // namespace fairlead::config
