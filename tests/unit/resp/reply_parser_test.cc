#include "core/resp/reply_parser.h"

#include <gtest/gtest.h>

#include "tests/unit/resp/trace.h"

namespace filibuster::resp {
namespace {

using StateOfReply = ReplyState;

TracedReply only_reply(std::string_view bytes) {
  ReplyTracer t;
  EXPECT_EQ(t.feed(bytes), StateOfReply::kStart) << bytes;
  EXPECT_EQ(t.all.size(), 1u) << bytes;
  if (t.all.empty()) return {};
  EXPECT_EQ(t.all[0].size, bytes.size()) << bytes;
  EXPECT_EQ(t.all[0].end, bytes.size()) << bytes;
  return t.all[0];
}

void expect_invalid_reply(std::string_view bytes, std::string_view reason = {}) {
  ReplyTracer t;
  EXPECT_EQ(t.feed(bytes), StateOfReply::kInvalid) << bytes;
  EXPECT_TRUE(t.all.empty()) << bytes;
  ASSERT_NE(t.parser.reason(), nullptr) << bytes;
  if (!reason.empty()) {
    EXPECT_EQ(t.parser.reason(), reason) << bytes;
  }
  EXPECT_EQ(t.feed("+OK\r\n"), StateOfReply::kInvalid);
  EXPECT_EQ(t.parser.skip(1), StateOfReply::kInvalid);
  EXPECT_TRUE(t.all.empty()) << bytes;
}

TEST(RespReply, SimpleStringsAreKeptUpToTheirBound) {
  const TracedReply ok = only_reply("+OK\r\n");
  EXPECT_EQ(ok.type, '+');
  EXPECT_EQ(ok.simple, "OK");
  EXPECT_FALSE(ok.is_error || ok.is_push || ok.is_null || ok.text_truncated);
  EXPECT_EQ(ok.kind, "");
  EXPECT_EQ(only_reply("+\r\n").simple, "");
  EXPECT_FALSE(only_reply("+0123456789abcdef\r\n").text_truncated);
  EXPECT_EQ(only_reply("+0123456789abcdefg\r\n").simple, "0123456789abcdef");
  EXPECT_TRUE(only_reply("+0123456789abcdefg\r\n").text_truncated);
  EXPECT_NE(only_reply("+0123456789abcdefg\r\n").digest,
            only_reply("+0123456789abcdefh\r\n").digest);
}

TEST(RespReply, AnErrorHasItsCodeAndTheBeginningOfItsLine) {
  const TracedReply moved = only_reply("-MOVED 3999 127.0.0.1:6381\r\n");
  EXPECT_TRUE(moved.is_error);
  EXPECT_EQ(moved.error_code, "MOVED");
  EXPECT_EQ(moved.error_line, "MOVED 3999 127.0.0.1:6381");
  EXPECT_EQ(only_reply("-EXECABORT\r\n").error_code, "EXECABORT");
  EXPECT_EQ(only_reply("-\r\n").error_code, "");
  EXPECT_EQ(only_reply("- x\r\n").error_code, "");
  EXPECT_EQ(only_reply("-" + std::string(40, 'C') + "\r\n").error_code, std::string(32, 'C'));
  const TracedReply full = only_reply("-" + std::string(128, 'C') + "\r\n");
  EXPECT_EQ(full.error_line.size(), 128u);
  EXPECT_FALSE(full.text_truncated);
  const TracedReply longer = only_reply("-" + std::string(129, 'C') + "\r\n");
  EXPECT_EQ(longer.error_line.size(), 128u);
  EXPECT_TRUE(longer.text_truncated);
}

TEST(RespReply, ABulkErrorIsAnError) {
  const TracedReply r = only_reply("!21\r\nSYNTAX invalid syntax\r\n");
  EXPECT_EQ(r.type, '!');
  EXPECT_TRUE(r.is_error);
  EXPECT_EQ(r.error_code, "SYNTAX");
  EXPECT_EQ(r.error_line, "SYNTAX invalid syntax");
}

TEST(RespReply, AnErrorWithinAnAggregateIsNotTheReplys) {
  const TracedReply r = only_reply("*2\r\n-ERR a\r\n+OK\r\n");
  EXPECT_FALSE(r.is_error);
  EXPECT_EQ(r.error_line, "");
}

TEST(RespReply, NullsAreAlikeInAllTheirForms) {
  EXPECT_TRUE(only_reply("$-1\r\n").is_null);
  EXPECT_TRUE(only_reply("*-1\r\n").is_null);
  EXPECT_TRUE(only_reply("_\r\n").is_null);
  EXPECT_EQ(only_reply("$-1\r\n").digest, only_reply("_\r\n").digest);
  EXPECT_EQ(only_reply("*-1\r\n").digest, only_reply("_\r\n").digest);
  EXPECT_EQ(only_reply("*2\r\n$-1\r\n+a\r\n").digest, only_reply("*2\r\n_\r\n+a\r\n").digest);
  EXPECT_FALSE(only_reply("*1\r\n_\r\n").is_null);
  EXPECT_FALSE(only_reply("$0\r\n\r\n").is_null);
  EXPECT_NE(only_reply("$0\r\n\r\n").digest, only_reply("_\r\n").digest);
  EXPECT_NE(only_reply("*0\r\n").digest, only_reply("_\r\n").digest);
}

TEST(RespReply, ValuesOfEveryTypeAreRead) {
  for (const std::string bytes : {":0\r\n",
                                  ":-1\r\n",
                                  ":+7\r\n",
                                  ":9223372036854775807\r\n",
                                  ":-9223372036854775808\r\n",
                                  "$0\r\n\r\n",
                                  "$3\r\na\r\n\r\n",
                                  "#t\r\n",
                                  "#f\r\n",
                                  ",1\r\n",
                                  ",-1.5\r\n",
                                  ",+1.25E+10\r\n",
                                  ",1e-05\r\n",
                                  ",inf\r\n",
                                  ",-inf\r\n",
                                  ",nan\r\n",
                                  ",-nan\r\n",
                                  "(1\r\n",
                                  "(-3492890328409238509324850943850943825024385\r\n",
                                  "=4\r\ntxt:\r\n",
                                  "=7\r\nmkd:# a\r\n",
                                  "~2\r\n:1\r\n:2\r\n",
                                  "%1\r\n+a\r\n*1\r\n:1\r\n",
                                  "*0\r\n",
                                  "%0\r\n",
                                  "~0\r\n"}) {
    const TracedReply r = only_reply(bytes);
    EXPECT_EQ(r.type, bytes[0]);
    EXPECT_FALSE(r.is_null || r.is_error || r.is_push) << bytes;
  }
}

TEST(RespReply, ElementsAreThoseOfTheTop) {
  EXPECT_EQ(only_reply("*2\r\n*1\r\n:1\r\n*3\r\n:1\r\n:2\r\n:3\r\n").elements, 2u);
  EXPECT_EQ(only_reply("%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n").elements, 2u);
  EXPECT_EQ(only_reply("~3\r\n:1\r\n:2\r\n:3\r\n").elements, 3u);
  EXPECT_EQ(only_reply("*0\r\n").elements, 0u);
  EXPECT_EQ(only_reply("*-1\r\n").elements, 0u);
  EXPECT_EQ(only_reply("$3\r\nabc\r\n").elements, 0u);
}

TEST(RespReply, APushHasItsKind) {
  const TracedReply r = only_reply(">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n");
  EXPECT_TRUE(r.is_push);
  EXPECT_EQ(r.kind, "message");
  EXPECT_EQ(r.elements, 3u);
  EXPECT_EQ(only_reply(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n").kind, "invalidate");
  EXPECT_EQ(only_reply(">1\r\n:1\r\n").kind, "");
  EXPECT_EQ(only_reply(">2\r\n*1\r\n+a\r\n+b\r\n").kind, "");
  EXPECT_EQ(only_reply(">0\r\n").kind, "");
  EXPECT_EQ(only_reply(">1\r\n|1\r\n+a\r\n+b\r\n+kind\r\n").kind, "kind");
  const TracedReply full = only_reply(">1\r\n$33\r\n" + std::string(33, 'k') + "\r\n");
  EXPECT_EQ(full.kind, std::string(32, 'k'));
  EXPECT_TRUE(full.text_truncated);
}

TEST(RespReply, AnArrayHasAKindToo) {
  const TracedReply r = only_reply("*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n");
  EXPECT_FALSE(r.is_push);
  EXPECT_EQ(r.kind, "message");
  EXPECT_EQ(only_reply("~1\r\n+a\r\n").kind, "");
  EXPECT_EQ(only_reply("*1\r\n-ERR a\r\n").kind, "");
}

TEST(RespReply, AttributesBelongToTheValueThatFollows) {
  const std::string attribute = "|1\r\n+key-popularity\r\n%1\r\n$1\r\na\r\n,0.19\r\n";
  const TracedReply r = only_reply(attribute + "*2\r\n:1\r\n" + attribute + ":2\r\n");
  EXPECT_EQ(r.type, '*');
  EXPECT_EQ(r.elements, 2u);
  EXPECT_EQ(r.digest, only_reply("*2\r\n:1\r\n:2\r\n").digest);
  EXPECT_EQ(only_reply(attribute + "+OK\r\n").simple, "OK");
  EXPECT_EQ(only_reply(attribute + attribute + "-ERR x\r\n").error_code, "ERR");
  EXPECT_EQ(only_reply("|0\r\n$-1\r\n").digest, only_reply("_\r\n").digest);
  EXPECT_TRUE(only_reply("|1\r\n_\r\n_\r\n$-1\r\n").is_null);
  EXPECT_FALSE(only_reply("|1\r\n_\r\n_\r\n+a\r\n").is_null);
  EXPECT_TRUE(only_reply(attribute + ">1\r\n+x\r\n").is_push);
  // An attribute in an attribute.
  EXPECT_EQ(only_reply("|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n:1\r\n").digest,
            only_reply(":1\r\n").digest);
  ReplyTracer t;
  EXPECT_EQ(t.feed(attribute), StateOfReply::kReply);
  EXPECT_TRUE(t.all.empty());
}

TEST(RespReply, TheDigestTellsTypesAndBoundariesApart) {
  const std::vector<std::string> all = {"+a\r\n",
                                        "-a\r\n",
                                        "$1\r\na\r\n",
                                        "!1\r\na\r\n",
                                        "=5\r\ntxt:a\r\n",
                                        "$5\r\ntxt:a\r\n",
                                        ":1\r\n",
                                        ",1\r\n",
                                        "(1\r\n",
                                        "+1\r\n",
                                        "#t\r\n",
                                        "+t\r\n",
                                        "*1\r\n:1\r\n",
                                        "~1\r\n:1\r\n",
                                        ">1\r\n:1\r\n",
                                        "*2\r\n+a\r\n+b\r\n",
                                        "%1\r\n+a\r\n+b\r\n",
                                        "*2\r\n+ab\r\n+\r\n",
                                        "*2\r\n*1\r\n:1\r\n:2\r\n",
                                        "*2\r\n*2\r\n:1\r\n:2\r\n*0\r\n",
                                        "*1\r\n*2\r\n:1\r\n:2\r\n",
                                        "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
                                        "*2\r\n$2\r\nab\r\n$0\r\n\r\n"};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_NE(only_reply(all[i]).digest, only_reply(all[j]).digest) << all[i] << all[j];
    }
  }
}

TEST(RespReply, TheStateSaysWhetherAReplyIsOpen) {
  ReplyTracer t;
  EXPECT_EQ(t.parser.state(), StateOfReply::kStart);
  EXPECT_EQ(t.feed("*2\r\n:1\r\n$3\r\na"), StateOfReply::kReply);
  EXPECT_EQ(t.parser.bulk_left(), 2u);
  EXPECT_EQ(t.feed("bc\r"), StateOfReply::kReply);
  EXPECT_EQ(t.feed("\n"), StateOfReply::kStart);
  EXPECT_EQ(t.parser.reason(), nullptr);
}

TEST(RespReply, WhatIsNotRespIsInvalidForGood) {
  for (const char* bytes : {"HTTP/1.1 200 OK\r\n",
                            "\r\n",
                            " ",
                            "x",
                            "+a\nb",
                            "+a\rb",
                            "-a\n",
                            ":\r\n",
                            ":a",
                            ":1a",
                            ":1.5",
                            ":--1",
                            ":1\n",
                            ":123456789012345678901",
                            ":inf",
                            ",\r\n",
                            ",a",
                            ",1.\r\n",
                            ",.5",
                            ",1e\r\n",
                            ",1e+\r\n",
                            ",infx",
                            ",in\r\n",
                            ",na\r\n",
                            ",1inf",
                            ",-\r\n",
                            "(\r\n",
                            "(1.5",
                            "(a",
                            "#x",
                            "#\r\n",
                            "#tt",
                            "_x",
                            "_\n",
                            "$\r\n",
                            "$a",
                            "$-2\r\n",
                            "$-0\r\n",
                            "$01",
                            "$1\n",
                            "$1\r\nab",
                            "$1\r\na\rb",
                            "*a",
                            "*-2\r\n",
                            "%-1\r\n",
                            "~-1\r\n",
                            ">-1\r\n",
                            "|-1\r\n",
                            "=-1\r\n",
                            "!-1\r\n",
                            "=3\r\n",
                            "=4\r\ntxtx",
                            "=5\r\ntxtxx\r\n",
                            "*1\r\nx",
                            "*1\r\n>1\r\n"}) {
    expect_invalid_reply(bytes);
  }
  expect_invalid_reply(std::string_view("\0", 1));
  expect_invalid_reply("*2\r\n:1\r\n>1\r\n", "a push within a reply");
  expect_invalid_reply("|1\r\n>1\r\n+a\r\n", "a push within a reply");
}

TEST(RespReply, StreamedTypesAreInvalid) {
  for (const char* bytes : {"$?\r\n", "*?\r\n", "%?\r\n", "~?\r\n", ">?\r\n", "|?\r\n"}) {
    expect_invalid_reply(bytes, "a streamed value, whose length is '?'");
  }
  expect_invalid_reply(";4\r\n");
  expect_invalid_reply("*1\r\n.\r\n");
  expect_invalid_reply("*1?", "bad length");
}

TEST(RespReply, NestingIsBounded) {
  std::string open;
  for (uint32_t i = 0; i < kMaxDepth; ++i) open += "*1\r\n";
  EXPECT_EQ(only_reply(open + ":1\r\n").elements, 1u);
  EXPECT_EQ(only_reply(open + "*0\r\n").elements, 1u);  // it holds nothing: no level
  expect_invalid_reply(open + "*1\r\n", "too deep");
  expect_invalid_reply(open + "|1\r\n", "too deep");
  std::string million;
  for (int i = 0; i < 1000000; ++i) million += "*1\r\n";
  expect_invalid_reply(million, "too deep");
  million.clear();
  for (int i = 0; i < 1000000; ++i) million += "|1\r\n";
  expect_invalid_reply(million, "too deep");
  // The last value ends all levels at once.
  std::string pairs;
  for (uint32_t i = 0; i < kMaxDepth; ++i) pairs += "%1\r\n+k\r\n";
  EXPECT_EQ(only_reply(pairs + ":1\r\n").type, '%');
}

TEST(RespReply, CountsAndLengthsAreBounded) {
  ReplyTracer t;
  EXPECT_EQ(t.feed("*2147483647\r\n"), StateOfReply::kReply);
  expect_invalid_reply("*2147483648");
  expect_invalid_reply("%1073741824");
  expect_invalid_reply("|1073741824");
  expect_invalid_reply("$1099511627777");
  expect_invalid_reply("$99999999999999999999999999");
  ReplyTracer map;
  EXPECT_EQ(map.feed("%1073741823\r\n"), StateOfReply::kReply);
}

TEST(RespReply, LinesAreBounded) {
  for (const char* start : {"+", "-", "(", ",", ",1."}) {
    const std::string full = start + std::string(kMaxLine + 1 - std::string(start).size(), '1');
    EXPECT_EQ(only_reply(full + "\r\n").size, full.size() + 2);
    expect_invalid_reply(full + "1\r\n", "a line that is too long");
    ReplyTracer t;
    t.feed(full);
    EXPECT_EQ(t.feed("1"), StateOfReply::kInvalid);
  }
}

TEST(RespReply, AGigabyteInPiecesIsDigestedAndNotKept) {
  const uint64_t size = 1ull << 30;
  ReplyTracer t;
  t.feed("$" + std::to_string(size) + "\r\n");
  const std::string piece(1 << 20, 'v');
  for (int i = 0; i < 1024; ++i) {
    ASSERT_EQ(t.parser.feed(piece.data(), piece.size()), StateOfReply::kReply);
  }
  EXPECT_EQ(t.parser.bulk_left(), 0u);
  EXPECT_EQ(t.feed("\r\n"), StateOfReply::kStart);
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].size, 13 + size + 2);
  static_assert(sizeof(ReplyParser) < 1200 && sizeof(CommandParser) <= 1024);
}

TEST(RespReply, AGigabyteCanBeSkipped) {
  const uint64_t size = 1ull << 30;
  const std::string head = "*2\r\n:1\r\n$" + std::to_string(size) + "\r\n";
  ReplyTracer a, b;
  a.feed(head);
  EXPECT_EQ(a.skip(size), StateOfReply::kReply);
  EXPECT_EQ(a.feed("\r\n"), StateOfReply::kStart);
  b.feed(head);
  b.skip(size / 4);
  b.skip(0);
  b.skip(size - size / 4);
  b.feed("\r\n");
  ASSERT_EQ(a.all.size(), 1u);
  EXPECT_EQ(a.all, b.all);
  EXPECT_EQ(a.all[0].size, head.size() + size + 2);
  EXPECT_EQ(a.all[0].end, a.all[0].size);
}

TEST(RespReply, BytesThatWereSkippedCountByTheirNumber) {
  const auto skipped = [](uint64_t before, uint64_t size) {
    ReplyTracer t;
    t.feed("$10\r\n" + std::string(before, 'x'));
    t.skip(size);
    t.feed(std::string(10 - before - size, 'x') + "\r\n");
    EXPECT_EQ(t.all.size(), 1u);
    return t.all.at(0).digest;
  };
  EXPECT_EQ(skipped(3, 4), skipped(5, 4));
  EXPECT_NE(skipped(3, 4), skipped(3, 5));
  EXPECT_NE(skipped(3, 4), only_reply("$10\r\nxxxxxxxxxx\r\n").digest);
  // In an attribute they do not count, as nothing there does.
  ReplyTracer t;
  t.feed("|1\r\n+a\r\n$3\r\n");
  t.skip(3);
  t.feed("\r\n:1\r\n");
  EXPECT_EQ(t.all.at(0).digest, only_reply(":1\r\n").digest);
}

TEST(RespReply, WhatFollowsAGapIsNotKept) {
  ReplyTracer t;
  t.feed("!10\r\nERR ");
  t.skip(3);
  t.feed("xyz\r\n>2\r\n$7\r\n");
  t.skip(2);
  t.feed("ssage\r\n$1\r\n");
  t.skip(1);
  t.feed("\r\n=8\r\n");
  t.skip(5);
  t.feed("abc\r\n");
  ASSERT_EQ(t.all.size(), 3u);
  EXPECT_EQ(t.all[0].error_line, "ERR ");
  EXPECT_TRUE(t.all[0].text_truncated);
  EXPECT_EQ(t.all[1].kind, "");
  EXPECT_TRUE(t.all[1].text_truncated);
  EXPECT_FALSE(t.all[2].text_truncated);
}

TEST(RespReply, SkippingElsewhereIsInvalid) {
  for (const char* bytes : {"", "$", "$5", "$5\r\nhello", "$5\r\nhello\r", "+OK", "*1\r\n", ":1",
                            "$5\r\nhello\r\n", "$0\r\n"}) {
    ReplyTracer t;
    t.feed(bytes);
    EXPECT_EQ(t.skip(0), t.parser.state());
    EXPECT_EQ(t.skip(1), StateOfReply::kInvalid) << bytes;
  }
  ReplyTracer t;
  t.feed("$5\r\nh");
  EXPECT_EQ(t.skip(5), StateOfReply::kInvalid);
}

}  // namespace
}  // namespace filibuster::resp
