// SPDX-License-Identifier: MIT
#include "control/config/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/config/limits.h"
#include "control/config/reader.h"
#include "control/config/test_text.h"

namespace fairlead::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Every value with its place and path, in the order of the file.
void flatten(const Value& value, Path& path, std::vector<std::string>& lines) {
  lines.push_back(std::to_string(value.at.line) + ":" + std::to_string(value.at.column) + " " +
                  to_text(path) + " " + shown(value));
  if (const Table* table = value.as<Table>()) {
    for (const Member& member : *table) {
      path.emplace_back(std::string_view(member.key));
      flatten(member.value, path, lines);
      path.pop_back();
    }
  } else if (const List* list = value.as<List>()) {
    for (size_t i = 0; i < list->size(); i++) {
      path.emplace_back(i);
      flatten((*list)[i], path, lines);
      path.pop_back();
    }
  }
}

std::vector<std::string> flat(const Value& value) {
  std::vector<std::string> lines;
  Path path;
  flatten(value, path, lines);
  return lines;
}

TEST(Json, knows_where_each_value_stands) {
  Reader reader("f");
  const Value root = read_json(R"({ "a": [1, -2, 3.5e1 , true,false,null],
  "b" : {"c":"x\"]y", "ü€": "ä",  "d":
         {}},"e":[]   })",
                               reader);
  EXPECT_THAT(formatted(reader.take()), IsEmpty());
  EXPECT_THAT(flat(root), ElementsAre("1:1  {...}", "1:8 a a list", "1:9 a[0] 1", "1:12 a[1] -2",
                                      "1:16 a[2] 35", "1:24 a[3] true", "1:29 a[4] false",
                                      "1:35 a[5] null", "2:9 b {...}", "2:14 b.c \"x\\\"]y\"",
                                      "2:29 b.\"ü€\" \"ä\"", "3:10 b.d {...}", "3:18 e a list"));
}

TEST(Json, knows_where_each_key_stands) {
  Reader reader("f");
  const Value root = read_json("{\"a\": 1,\n  \"b\\u0041\": 2}", reader);
  const Table& table = *root.as<Table>();
  ASSERT_THAT(table, SizeIs(2));
  EXPECT_EQ(table[0].at, (Position{1, 2}));
  EXPECT_EQ(table[1].at, (Position{2, 3}));
  EXPECT_EQ(table[1].key, "bA");
}

TEST(Json, counts_no_column_for_a_byte_order_mark) {
  Reader reader("f");
  const Value root = read_json("\xef\xbb\xbf{\"a\": 1}", reader);
  EXPECT_TRUE(reader.clean());
  EXPECT_EQ(root.member("a")->at, (Position{1, 7}));
}

TEST(Json, keeps_all_64_bits_of_an_integer) {
  Reader reader("f");
  const Value root = read_json(R"({"a": 18446744073709551615, "b": -9223372036854775808,
                                   "c": 18446744073709551616, "d": -0})",
                               reader);
  EXPECT_EQ(*root.member("a")->as<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(*root.member("b")->as<int64_t>(), INT64_MIN);
  EXPECT_TRUE(root.member("c")->as<double>());
  EXPECT_EQ(*root.member("d")->as<uint64_t>(), 0u);
}

// A text that is no JSON has one problem, at the mark.
class BrokenJson : public testing::TestWithParam<Mistake> {};

TEST_P(BrokenJson, is_refused_at_its_place) {
  Reader reader("f");
  const Value root = read_json(marked(GetParam().text).text, reader);
  EXPECT_TRUE(root.as<Table>());
  EXPECT_EQ(formatted(reader.take()), GetParam().expected("f"));
}

INSTANTIATE_TEST_SUITE_P(
    , BrokenJson,
    testing::Values(
        Mistake{"an empty file", "^", {"the file is empty, expected a JSON object"}},
        Mistake{"blanks alone", "^ \n\t\r\n", {"the file is empty, expected a JSON object"}},
        Mistake{"a list", "\n ^[1]", {"is a list, expected a JSON object"}},
        Mistake{"a number", "^17", {"is 17, expected a JSON object"}},
        Mistake{"a file that ends too early",
                "{\"a\":\n [1,^",
                {"the file ends in the middle of the JSON"}},
        Mistake{"a string that does not end",
                "{\"a\": \"x^",
                {"the file ends in the middle of the JSON"}},
        Mistake{"a comma too many in an object",
                "{\"a\": 1, ^}",
                {"not JSON: unexpected '}'; expected string literal"}},
        Mistake{"a comma too many in a list",
                "{\"a\": [1,^,2]}",
                {"not JSON: unexpected ','; expected '[', '{', or a literal"}},
        Mistake{"a missing comma",
                "{\"a\": 1\n ^\"bcd\": 2}",
                {"not JSON: unexpected string literal; expected '}'"}},
        Mistake{"a missing colon",
                "{\"a\" ^1234}",
                {"not JSON: unexpected number literal; expected ':'"}},
        Mistake{"a key without quotes", "{^a: 1}", {"not JSON: invalid literal"}},
        Mistake{"a word that is none", "{\"a\": tru^x}", {"not JSON: invalid literal"}},
        Mistake{"a comment", "{^/* why */}", {"not JSON: invalid literal"}},
        Mistake{"something behind the end",
                "{} ^{}",
                {"not JSON: unexpected '{'; expected end of input"}},
        Mistake{"a line feed in a string",
                "{\"a\": \"x^\n\"}",
                {"not JSON: invalid string: control character U+000A (LF) must be escaped to "
                 "\\u000A or \\n"}},
        Mistake{"a key given twice",
                "{\"a\": 1,\n\"b\": [0, {\"c\": 1, \"d\": 2, ^\"c\": 3}], ^\"a\": 4}",
                {"b[1].c: given twice, first in line 2, expected once",
                 "a: given twice, first in line 1, expected once"}}),
    test_name);

TEST(Json, takes_the_first_of_a_key_that_is_given_twice) {
  Reader reader("f");
  const Value root = read_json(R"({"a": 1, "b": 2, "a": 3, "a": 4})", reader);
  EXPECT_THAT(flat(root), ElementsAre("1:1  {...}", "1:7 a 1", "1:15 b 2"));
  EXPECT_THAT(reader.take(), SizeIs(2));
}

TEST(Json, is_refused_when_nested_too_deep) {
  for (const size_t depth : {limits::depth, limits::depth + 1, size_t{1'000'000}}) {
    std::string text = "{\"a\": ";
    for (size_t i = 1; i < depth; i++) text += '[';
    Reader reader("f");
    const Value root = read_json(text, reader);
    const Problems problems = reader.take();
    ASSERT_THAT(problems, SizeIs(1));
    EXPECT_THAT(problems[0].message,
                HasSubstr(depth == limits::depth ? "ends in the middle" : "nested more than 32"));
    if (depth > limits::depth) {
      EXPECT_EQ(problems[0].column, 7 + limits::depth - 1);
    }
  }
}

TEST(Toml, knows_where_each_value_stands) {
  Reader reader("f");
  const Value root = read_toml(R"(# a comment
[node]
id = "x"   # another
  "ü" = 'y'
[forwarder.ttls]
udp = [1, -2.5, true]
at = 1979-05-27
[[peers]]
ip = { v4 = 1 }
[[peers]]
)",
                               reader);
  EXPECT_THAT(formatted(reader.take()), IsEmpty());
  EXPECT_THAT(
      flat(root),
      ElementsAre("1:1  {...}", "2:1 node {...}", "3:6 node.id \"x\"", "4:9 node.\"ü\" \"y\"",
                  "5:1 forwarder {...}", "5:1 forwarder.ttls {...}",
                  "6:7 forwarder.ttls.udp a list", "6:8 forwarder.ttls.udp[0] 1",
                  "6:11 forwarder.ttls.udp[1] -2.5", "6:17 forwarder.ttls.udp[2] true",
                  "7:6 forwarder.ttls.at a date or time", "8:1 peers a list", "8:1 peers[0] {...}",
                  "9:6 peers[0].ip {...}", "9:13 peers[0].ip.v4 1", "10:1 peers[1] {...}"));
}

class BrokenToml : public testing::TestWithParam<Mistake> {};

TEST_P(BrokenToml, is_refused_at_its_place) {
  Reader reader("f");
  const Value root = read_toml(marked(GetParam().text).text, reader);
  EXPECT_TRUE(root.as<Table>());
  const Problems problems = reader.take();
  ASSERT_THAT(problems, SizeIs(1));
  // The words are toml++'s: only how they begin is held here.
  EXPECT_THAT(problems[0].format(), testing::StartsWith(GetParam().expected("f").front()));
}

INSTANTIATE_TEST_SUITE_P(
    , BrokenToml,
    testing::Values(Mistake{"a value without quotes", "[node]\nid = ^web", {"not TOML: "}},
                    Mistake{"a key without a value", "[node]\nid =^\n", {"not TOML: "}},
                    Mistake{"a key given twice", "a = 1\na = ^2", {"not TOML: "}},
                    Mistake{"a table given twice", "[a]\n^[a]\n", {"not TOML: "}},
                    Mistake{"a string that does not end", "a = \"x^\nb = 1", {"not TOML: "}},
                    Mistake{"a header that does not end", "[node^", {"not TOML: "}},
                    Mistake{"JSON", "^{\"a\": 1}", {"not TOML: "}},
                    Mistake{"a key of many parts",
                            "x = 1.5\n[a.b.\"c.c.c\".d.e.f.g.h.i.j.k.l.m.n.o.p^.q]",
                            {"a key of more than 16 parts, expected a flat file"}}),
    test_name);

TEST(Toml, is_refused_when_nested_too_deep) {
  for (const std::string part : {"[", "{a=", "{a.b.c.d.e.f.g.h.i.j.k.l.m.n.o=", "[\n"}) {
    std::string text = "a = ";
    for (int i = 0; i < 20'000; i++) text += part;
    Reader reader("f");
    read_toml(text, reader);
    EXPECT_THAT(reader.take(), SizeIs(1)) << part;
  }
}

TEST(Toml, may_have_many_dots_where_they_do_not_nest) {
  Reader reader("f");
  const Value root = read_toml(
      "# ....................\n"
      "a = \"....................\" # ....................\n"
      "b = '''\n.............................'''\n"
      "c = \"\"\"\\\"....................\"\"\"\n"
      "d = [1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]\n",
      reader);
  EXPECT_THAT(formatted(reader.take()), IsEmpty());
}

TEST(Toml, is_refused_when_huge) {
  Reader reader("f");
  read_toml(std::string(limits::toml_bytes + 1, '\n'), reader);
  EXPECT_THAT(formatted(reader.take()),
              ElementsAre("f: has 1048577 bytes, expected at most 1048576"));
}

TEST(Utf8, is_demanded_of_every_byte) {
  for (const std::string_view good : {"", "abc", "ü€𝄞", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    Reader reader("f");
    EXPECT_TRUE(check_utf8(good, reader)) << good;
  }
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {"\0"sv, "\xff"sv, "\x80"sv, "\xc3"sv, "\xc0\xaf"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv,
        "\xf4\x90\x80\x80"sv, "\xf8\x88\x80\x80\x80"sv, "\xe2\x82"sv, "\xf0\x80\x80\x80"sv}) {
    Reader reader("f");
    const std::string text = "a\nü" + std::string(bad) + "x";
    EXPECT_FALSE(check_utf8(text, reader));
    const Problems problems = reader.take();
    ASSERT_THAT(problems, SizeIs(1));
    EXPECT_THAT(problems[0].format(), testing::StartsWith("f:2:2: byte 0x"));
  }
}

TEST(Quotes, keep_a_message_on_one_short_line) {
  EXPECT_EQ(in_quotes("a\"b\\c\n\x7f"), R"("a\"b\\c\u000a\u007f")");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), '"' + std::string(60, 'x') + "...\"");
  std::string umlauts;
  for (int i = 0; i < 60; i++) umlauts += "ü";
  EXPECT_EQ(in_quotes(umlauts), '"' + umlauts + '"');
}

TEST(Reader, quotes_keys_that_do_not_look_like_keys) {
  EXPECT_EQ(to_text(Path{"pools", size_t{3}, "a_b-c"}), "pools[3].a_b-c");
  EXPECT_EQ(to_text(Path{"a.b", "", "x\n"}), R"("a.b".""."x\u000a")");
  EXPECT_EQ(to_text(Path{"\x1b[31mred"}), "\"\\u001b[31mred\"");
}

TEST(Reader, counts_the_problems_that_are_too_many) {
  Reader reader("f");
  for (uint32_t i = 0; i < limits::problems + 5; i++) reader.problem({i + 1, 1}, "wrong");
  const Problems problems = reader.take();
  ASSERT_THAT(problems, SizeIs(limits::problems + 1));
  EXPECT_EQ(problems.back().format(), "f: and 5 more problems");
}

TEST(Reader, knows_what_is_broken_by_what_holds_it) {
  Reader reader("f");
  EXPECT_FALSE(reader.broken({"pools"}));
  reader.problem(Position{1, 1}, Path{"pools", size_t{1}}, "wrong");
  EXPECT_TRUE(reader.broken({"pools", size_t{1}}));
  EXPECT_TRUE(reader.broken({"pools", size_t{1}, "id"}));
  EXPECT_FALSE(reader.broken({"pools", size_t{10}}));
  EXPECT_FALSE(reader.broken({"pools"}));
}

}  // namespace
}  // namespace fairlead::config
