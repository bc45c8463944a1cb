#include <sluice/llm/sse_parser.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using sluice::errc;
using sluice::llm::sse_parser;

namespace {

struct seen {
  std::string type;
  std::string data;
  std::string id;
  bool unterminated = false;
  friend bool operator==(const seen&, const seen&) = default;
};

std::ostream& operator<<(std::ostream& out, const seen& one) {
  return out << '{' << one.type << '|' << one.data << '|' << one.id << '|' << one.unterminated << '}';
}

void drain(sse_parser& parser, std::vector<seen>& out) {
  for (;;) {
    const auto event = parser.next();
    REQUIRE(event.has_value());
    if (!*event) return;
    out.push_back(
        {std::string((*event)->type), std::string((*event)->data), std::string((*event)->id), (*event)->unterminated});
  }
}

// Each piece in memory of its own, so that a view into a former one would be found.
std::vector<seen> parse(const std::vector<std::string>& pieces) {
  sse_parser parser;
  std::vector<seen> out;
  for (const std::string& piece : pieces) {
    const std::vector<char> copy(piece.begin(), piece.end());
    parser.push(std::string_view(copy.data(), copy.size()));
    drain(parser, out);
  }
  const auto last = parser.finish();
  REQUIRE(last.has_value());
  if (*last) {
    out.push_back(
        {std::string((*last)->type), std::string((*last)->data), std::string((*last)->id), (*last)->unterminated});
  }
  return out;
}

std::vector<seen> parse(std::string_view text) { return parse(std::vector<std::string>{std::string(text)}); }

std::vector<std::string> bytes_of(std::string_view text) {
  std::vector<std::string> pieces;
  for (const char c : text) pieces.emplace_back(1, c);
  return pieces;
}

std::vector<std::string> data_of(const std::vector<seen>& events) {
  std::vector<std::string> data;
  for (const seen& one : events) data.push_back(one.data);
  return data;
}

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("sse 1: a CRLF cut between two reads is one line end") {
  const std::string_view text = "data: {\"a\":1}\r\n\r\n";
  CHECK(data_of(parse(text)) == texts{"{\"a\":1}"});
  CHECK(data_of(parse(bytes_of(text))) == texts{"{\"a\":1}"});
  CHECK(data_of(parse({"data: x\r", "\n\r", "\ndata: y\r\n\r\n"})) == texts{"x", "y"});
}

TEST_CASE("sse 2, rules 6: LF, CR and CRLF end lines alike, also mixed") {
  const texts both = {"one\ntwo", "three"};
  CHECK(data_of(parse("data: one\ndata: two\n\ndata: three\n\n")) == both);
  CHECK(data_of(parse("data: one\rdata: two\r\rdata: three\r\r")) == both);
  CHECK(data_of(parse("data: one\r\ndata: two\r\n\r\ndata: three\r\n\r\n")) == both);
  CHECK(data_of(parse("data: one\rdata: two\n\rdata: three\r\n\n")) == both);
}

TEST_CASE("sse 3: a byte order mark is skipped at the start only") {
  CHECK(data_of(parse("\xEF\xBB\xBF"
                      "data: x\n\n")) == texts{"x"});
  CHECK(data_of(parse(bytes_of("\xEF\xBB\xBF"
                               "data: x\n\n"))) == texts{"x"});
  CHECK(data_of(parse("data: \xEF\xBB\xBF\n\n")) == texts{"\xEF\xBB\xBF"});
  CHECK(data_of(parse("\xEF\xBB\xBF\xEF\xBB\xBF"
                      "data: x\n\ndata: y\n\n")) == texts{"y"});
  // Half a mark is the start of a line with a strange name.
  CHECK(data_of(parse(bytes_of("\xEF\xBB"
                               "data: x\n\ndata: y\n\n"))) == texts{"y"});
}

TEST_CASE("sse 4: comments and unknown fields are no events") {
  CHECK(parse(": keep-alive\n\n: again\n\n").empty());
  CHECK(data_of(parse("foo: bar\ndata: x\n: note\nfoo\n\n")) == texts{"x"});
  CHECK(parse(":" + std::string(100'000, 'x') + "\n\n").empty());
}

TEST_CASE("sse 5: one space after the colon is dropped, no more") {
  CHECK(data_of(parse("data:x\n\ndata: x\n\ndata:  x\n\ndata:x \n\n")) == texts{"x", "x", " x", "x "});
  CHECK(data_of(parse(bytes_of("data:x\n\ndata: x\n\ndata:  x\n\n"))) == texts{"x", "x", " x"});
}

TEST_CASE("sse 6: the examples of the HTML standard") {
  CHECK(data_of(parse("data: YHOO\ndata: +2\ndata: 10\n\n")) == texts{"YHOO\n+2\n10"});
  CHECK(parse(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n") ==
        std::vector<seen>{
            {"", "first event", "1", false}, {"", "second event", "", false}, {"", " third event", "", false}});
  CHECK(data_of(parse("data\n\ndata\ndata\n\n")) == texts{"", "\n"});
  CHECK(data_of(parse("data:test\n\ndata: test\n\n")) == texts{"test", "test"});
}

TEST_CASE("event names one event, id stays, retry is kept") {
  CHECK(parse("event: error\nid: 7\ndata: a\n\ndata: b\n\n") ==
        std::vector<seen>{{"error", "a", "7", false}, {"", "b", "7", false}});
  CHECK(parse("event: lost\n\ndata: b\n\n") == std::vector<seen>{{"", "b", "", false}});
  CHECK(parse(std::string_view("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", 31)) ==
        std::vector<seen>{{"", "a", "1", false}, {"", "b", "1", false}});

  sse_parser parser;
  std::vector<seen> none;
  for (const char* text :
       {"retry: 2500\n", "retry: 12a\n", "retry: -1\n", "retry:\n", "retry: 99999999999999999999\n"}) {
    parser.push(text);
    drain(parser, none);
  }
  CHECK(none.empty());
  CHECK(parser.retry() == 2500);
}

TEST_CASE("sse 7, 11, rules 6: a character cut by a read is whole, and foreign line ends are data") {
  CHECK(data_of(parse(bytes_of("data: \xE2\x82\xAC\n\n"))) == texts{"\xE2\x82\xAC"});
  CHECK(data_of(parse("data: a\xE2\x80\xA8"
                      "b\xC2\x85"
                      "c\n\n")) == texts{"a\xE2\x80\xA8"
                                         "b\xC2\x85"
                                         "c"});
}

TEST_CASE("sse 8, 9: what the end of the stream cuts off is offered, and flagged") {
  CHECK(parse("data: a\n\ndata: [DONE]") == std::vector<seen>{{"", "a", "", false}, {"", "[DONE]", "", true}});
  CHECK(parse("data: a\n") == std::vector<seen>{{"", "a", "", true}});
  CHECK(parse("event: x\n").empty());
  CHECK(parse("data: a\n\n\n").size() == 1);
  CHECK(parse("").empty());
}

TEST_CASE("sse 10: an event beyond the limit is an error, and stays one") {
  const auto outcome = [](std::string_view text, std::size_t limit) {
    sse_parser parser(limit);
    parser.push(text);
    auto event = parser.next();
    while (event && *event) event = parser.next();
    if (event) return std::string();
    CHECK(event.error().is(errc::too_large));
    CHECK_FALSE(parser.next().has_value());
    CHECK_FALSE(parser.finish().has_value());
    return event.error().message();
  };
  CHECK(outcome("data: 12345678\n\n", 8).empty());
  CHECK(outcome("data: 123456789\n\n", 8).find("max_event") != std::string::npos);
  CHECK(outcome("data: 123456789", 8).find("max_event") != std::string::npos);
  CHECK_FALSE(outcome("data: 1234\ndata: 5678\n\n", 8).empty());
  CHECK_FALSE(outcome("event: 123456789\n", 8).empty());
  CHECK_FALSE(outcome("event: 123456789", 8).empty());
  CHECK(outcome(": 1234567890123456\n", 8).empty());
}

TEST_CASE("sse 10: a large event in small pieces arrives whole") {
  const std::string value(5 << 20, 'x');
  const std::string text = "data: " + value + "\n\n";
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += 16 << 10) pieces.push_back(text.substr(at, 16 << 10));
  const auto events = parse(pieces);
  REQUIRE(events.size() == 1);
  CHECK(events[0].data == value);
}

TEST_CASE("fields to the letter of the standard") {
  // A line without a colon is a field with an empty value; names are taken to the letter.
  CHECK(data_of(parse("data\n\nDATA: x\n\n data: x\n\ndata : x\n\n")) == texts{""});
  CHECK(parse("event: a\nevent: b\ndata: x\n\nevent: c\nevent\ndata: y\n\n") ==
        std::vector<seen>{{"b", "x", "", false}, {"", "y", "", false}});
  // An id holds from the event that brings it, data or none; an empty one takes it back.
  CHECK(parse("id: 1\n\ndata: a\n\nid\ndata: b\n\nid: 2\ndata: c") ==
        std::vector<seen>{{"", "a", "1", false}, {"", "b", "", false}, {"", "c", "2", true}});
  // The colon's space goes from every field, and a colon in a value stays.
  CHECK(parse("event:a:b\nid:  7\ndata::\n\n") == std::vector<seen>{{"a:b", ":", " 7", false}});
  // Zeros and bytes that are no UTF-8 are data.
  CHECK(data_of(parse(std::string_view("data: a\0\xFF\n\n", 11))) == texts{std::string("a\0\xFF", 3)});
}

TEST_CASE("sse 10: a line of 100 MB is refused at the limit, whatever it is, and never held") {
  const std::string piece(1 << 20, 'x');
  for (const char* start : {"data: ", "event: ", "something: ", "x"}) {
    CAPTURE(start);
    sse_parser parser;
    parser.push(start);
    REQUIRE(parser.next().has_value());
    int taken = 0;
    for (; taken < 100; ++taken) {
      parser.push(piece);
      const auto event = parser.next();
      if (event) continue;
      CHECK(event.error().is(errc::too_large));
      break;
    }
    // Of a line that is no data the name counts too.
    CHECK(taken == (std::string_view(start) == "data: " ? 16 : 15));
  }
  // A comment is dropped as it comes.
  sse_parser parser;
  parser.push(":");
  REQUIRE(parser.next().has_value());
  for (int i = 0; i < 100; ++i) {
    parser.push(piece);
    REQUIRE(parser.next().has_value());
  }
}

TEST_CASE("very many events, and very many lines in one, are linear work") {
  sse_parser parser;
  const std::string many = [] {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "data: x\n\n";
    return text;
  }();
  std::int64_t seen_events = 0;
  for (int i = 0; i < 10; ++i) {
    parser.push(many);
    for (auto event = parser.next(); event && *event; event = parser.next()) ++seen_events;
  }
  CHECK(seen_events == 1'000'000);
  std::string lines;
  for (int i = 0; i < 1'000'000; ++i) lines += "data:\r";
  const auto one = parse(lines + "\r");
  REQUIRE(one.size() == 1);
  CHECK(one[0].data == std::string(999'999, '\n'));
}

TEST_CASE("zeros follow the data, for parsers that read beyond it") {
  sse_parser parser;
  parser.push("data: abc\n\n");
  const auto event = parser.next();
  REQUIRE((event && *event));
  const char* const end = (*event)->data.data() + (*event)->data.size();
  CHECK(std::all_of(end, end + sse_parser::padding, [](char c) { return c == '\0'; }));
}

TEST_CASE("reset begins a new stream") {
  sse_parser parser;
  std::vector<seen> out;
  parser.push("id: 1\nretry: 5\ndata: cut");
  drain(parser, out);
  parser.reset();
  parser.push(
      "\xEF\xBB\xBF"
      "data: x\n\n");
  drain(parser, out);
  CHECK(out == std::vector<seen>{{"", "x", "", false}});
  CHECK_FALSE(parser.retry().has_value());
}

TEST_CASE("the events are the same however the stream is cut") {
  const bool held = rc::check([] {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("data", "data:", "data: ", "event: e", "id: 4", ":c", "\n", "\r", "\r\n", "\n\n",
                                      "x", " ", ":", "\xEF\xBB\xBF", "\xEF", "\xE2\x82\xAC", "retry: 1"));
    std::string text;
    for (const std::string& word : words) text += word;
    const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, text.size() + 1));
    auto sorted = cuts;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> pieces;
    std::size_t from = 0;
    for (const std::size_t cut : sorted) {
      pieces.push_back(text.substr(from, cut - from));
      from = cut;
    }
    pieces.push_back(text.substr(from));
    const auto whole = parse(text);
    RC_ASSERT(parse(pieces) == whole);
    RC_ASSERT(parse(bytes_of(text)) == whole);
  });
  CHECK(held);
}
