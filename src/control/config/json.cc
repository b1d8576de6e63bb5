// SPDX-License-Identifier: MIT
// JSON (RFC 8259) with positions. nlohmann-json's parser reports events without saying where they
// stand, but an event's token begins at the first byte behind the previous token that is neither
// blank nor one of , and : and so its place follows from the text alone.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "control/config/document.h"
#include "control/config/limits.h"
#include "control/config/reader.h"

namespace fairlead::config {
namespace {

constexpr std::string_view number_characters = "+-.0123456789Ee";

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, Reader& reader) : text_(text), reader_(reader), locator_(text) {
    if (text.starts_with("\xef\xbb\xbf")) end_ = 3;
  }

  std::optional<Value> take() { return std::move(root_); }

  bool null() override { return add(token(4), Null{}); }
  bool boolean(bool value) override { return add(token(value ? 4 : 5), value); }
  bool number_integer(number_integer_t value) override {
    return value < 0 ? add(number(), int64_t{value}) : add(number(), static_cast<uint64_t>(value));
  }
  bool number_unsigned(number_unsigned_t value) override { return add(number(), uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) override { return add(number(), value); }
  bool string(string_t& value) override { return add(quoted_token(), std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none

  bool start_object(std::size_t) override { return open(Table{}); }
  bool end_object() override {
    refuse_duplicates(std::get<Table>(open_.back().value.data));
    return close();
  }
  bool start_array(std::size_t) override { return open(List{}); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    Open& object = open_.back();
    object.key_at = quoted_token();
    object.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    size_t offset = position == 0 ? 0 : position - 1;
    std::string_view what = error.what();
    const size_t dash = what.find(" - ");
    what = dash == what.npos ? what : what.substr(dash + 3);
    if (what.starts_with("unexpected")) {
      // The whole token is wrong, not its last byte.
      offset = std::min(offset, next_token());
    } else {
      what = what.substr(0, what.find("; last read"));
    }
    if (offset >= text_.size()) {
      return reader_.problem(locator_.at(text_.size()), "the file ends in the middle of the JSON");
    }
    return reader_.problem(locator_.at(offset), fmt::format("not JSON: {}", what));
  }

 private:
  struct Open {  // a table or list whose end has not come yet
    Value value;
    std::string key;  // of the member that comes next
    Position key_at;
  };

  size_t next_token() const {
    return std::min(text_.find_first_not_of(" \t\r\n,:", end_), text_.size());
  }

  Position token(size_t length) {
    const size_t start = next_token();
    end_ = start + length;
    return locator_.at(start);
  }

  Position number() {
    const size_t start = next_token();
    end_ = std::min(text_.find_first_not_of(number_characters, start), text_.size());
    return locator_.at(start);
  }

  Position quoted_token() {
    const size_t start = next_token();
    end_ = start + 1;
    while (end_ < text_.size() && text_[end_] != '"')
      end_ += text_[end_] == '\\' ? size_t{2} : size_t{1};
    end_++;
    return locator_.at(start);
  }

  template <class T>
  bool add(Position at, T data) {
    return place(Value{at, std::move(data)});
  }

  bool place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Open& holder = open_.back();
    if (List* list = std::get_if<List>(&holder.value.data)) {
      list->push_back(std::move(value));
    } else {
      std::get<Table>(holder.value.data)
          .push_back({std::move(holder.key), holder.key_at, std::move(value)});
    }
    return true;
  }

  template <class T>
  bool open(T empty) {
    const Position at = token(1);
    if (open_.size() == limits::depth) {
      return reader_.problem(
          at, fmt::format("nested more than {} deep, expected a flat file", limits::depth));
    }
    open_.push_back({Value{at, std::move(empty)}, {}, {}});
    return true;
  }

  bool close() {
    token(1);
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return place(std::move(value));
  }

  Path path_to(std::string_view key) const {
    Path path;
    for (size_t i = 0; i + 1 < open_.size(); i++) {
      const List* list = open_[i].value.as<List>();
      path.push_back(list ? Step(list->size()) : Step(std::string_view(open_[i].key)));
    }
    path.emplace_back(key);
    return path;
  }

  // RFC 8259 leaves open what a second member of one name means: here, that somebody made a
  // mistake.
  void refuse_duplicates(Table& table) {
    std::vector<const Member*> members;
    for (const Member& member : table) members.push_back(&member);
    std::ranges::stable_sort(members, {},
                             [](const Member* m) -> const std::string& { return m->key; });
    std::vector<Position> seconds;
    for (size_t first = 0, i = 1; i < members.size(); i++) {
      if (members[i]->key != members[first]->key) {
        first = i;
        continue;
      }
      reader_.problem(
          members[i]->at, path_to(members[i]->key),
          fmt::format("given twice, first in line {}, expected once", members[first]->at.line));
      seconds.push_back(members[i]->at);
    }
    if (seconds.empty()) return;
    std::ranges::sort(seconds);
    std::erase_if(table,
                  [&](const Member& m) { return std::ranges::binary_search(seconds, m.at); });
  }

  std::string_view text_;
  Reader& reader_;
  Locator locator_;
  size_t end_ = 0;  // of the last token
  std::vector<Open> open_;
  std::optional<Value> root_;
};

}  // namespace

Value read_json(std::string_view text, Reader& reader) {
  const Value empty{{1, 1}, Table{}};
  if (text.find_first_not_of(" \t\r\n") == text.npos) {
    reader.problem({1, 1}, "the file is empty, expected a JSON object");
    return empty;
  }
  Builder builder(text, reader);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return empty;
  std::optional<Value> root = builder.take();
  if (!root) return empty;
  if (!root->as<Table>()) {
    reader.problem(root->at, fmt::format("is {}, expected a JSON object", shown(*root)));
    return empty;
  }
  return std::move(*root);
}

}  // namespace fairlead::config
