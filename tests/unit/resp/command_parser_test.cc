#include <gtest/gtest.h>

#include "tests/unit/resp/trace.h"

namespace filibuster::resp {
namespace {

using State = CommandState;

TracedCommand only(std::string_view bytes) {
  CommandTracer t;
  EXPECT_EQ(t.feed(bytes), State::kStart) << bytes;
  EXPECT_EQ(t.all.size(), 1u) << bytes;
  return t.all.empty() ? TracedCommand() : t.all[0];
}

void expect_invalid(std::string_view bytes, size_t commands = 0) {
  CommandTracer t;
  EXPECT_EQ(t.feed(bytes), State::kInvalid) << bytes;
  EXPECT_NE(t.parser.reason(), nullptr);
  EXPECT_EQ(t.all.size(), commands) << bytes;
  EXPECT_EQ(t.feed(array({"PING"})), State::kInvalid);
  EXPECT_EQ(t.parser.skip(1), State::kInvalid);
  EXPECT_EQ(t.all.size(), commands) << bytes;
}

TEST(RespCommand, AnArrayOfBulkStringsIsACommand) {
  const std::string bytes = array({"set", "user:42", "v"});
  const TracedCommand c = only(bytes);
  EXPECT_EQ(c.name, "SET");
  EXPECT_FALSE(c.name_truncated);
  EXPECT_FALSE(c.inline_command);
  EXPECT_EQ(c.arguments, 2u);
  EXPECT_EQ(c.first, (TracedArgument{"user:42", 7, false}));
  EXPECT_EQ(c.key_argument, 1u);
  EXPECT_EQ(c.key, c.first);
  EXPECT_EQ(c.size, bytes.size());
  EXPECT_EQ(c.end, bytes.size());
}

TEST(RespCommand, ACommandWithoutArguments) {
  const TracedCommand c = only(array({"PING"}));
  EXPECT_EQ(c.name, "PING");
  EXPECT_EQ(c.arguments, 0u);
  EXPECT_EQ(c.first, TracedArgument());
  EXPECT_EQ(c.key_argument, 0u);
  EXPECT_EQ(c.digest, only(array({"QUIT"})).digest);
}

TEST(RespCommand, PipelinedCommandsAreToldApartByTheirEnds) {
  const std::string a = array({"MULTI"}), b = array({"INCR", "n"}), c = array({"EXEC"});
  CommandTracer t;
  EXPECT_EQ(t.feed(a + b + c), State::kStart);
  ASSERT_EQ(t.all.size(), 3u);
  EXPECT_EQ(t.all[0].end, a.size());
  EXPECT_EQ(t.all[1].end, a.size() + b.size());
  EXPECT_EQ(t.all[2].end, a.size() + b.size() + c.size());
  EXPECT_EQ(t.all[1].size, b.size());
}

TEST(RespCommand, TheStateSaysWhetherACommandIsOpen) {
  CommandTracer t;
  EXPECT_EQ(t.parser.state(), State::kStart);
  EXPECT_EQ(t.feed("*1\r\n"), State::kCommand);
  EXPECT_EQ(t.feed("$4\r\nPI"), State::kCommand);
  EXPECT_EQ(t.parser.bulk_left(), 0u);
  EXPECT_EQ(t.feed("NG\r"), State::kCommand);
  EXPECT_EQ(t.feed("\n"), State::kStart);
  EXPECT_EQ(t.parser.reason(), nullptr);
}

TEST(RespCommand, EmptyAndNullArraysAndBlankLinesAreNoCommands) {
  CommandTracer t;
  EXPECT_EQ(t.feed("\r\n\n  \t \r\n*0\r\n*-1\r\n*-7\r\n"), State::kStart);
  EXPECT_TRUE(t.all.empty());
  EXPECT_EQ(t.feed("*0\r"), State::kCommand);
  EXPECT_EQ(t.feed("\n"), State::kStart);
  EXPECT_EQ(t.feed("\r"), State::kCommand);
  EXPECT_EQ(t.feed("\n" + array({"GET", "k"})), State::kStart);
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].size, array({"GET", "k"}).size());
}

TEST(RespCommand, TheDigestTellsArgumentsAndTheirBoundariesApart) {
  const Hash128 ab = only(array({"MGET", "a", "b"})).digest;
  EXPECT_EQ(ab, only(array({"mget", "a", "b"})).digest);
  EXPECT_NE(ab, only(array({"MGET", "ab", ""})).digest);
  EXPECT_NE(ab, only(array({"MGET", "", "ab"})).digest);
  EXPECT_NE(ab, only(array({"MGET", "ab"})).digest);
  EXPECT_NE(ab, only(array({"MGET", "b", "a"})).digest);
  EXPECT_NE(ab, only(array({"MGET", "a", "b", ""})).digest);
}

TEST(RespCommand, NamesAndArgumentsAreKeptUpToTheirBounds) {
  EXPECT_EQ(only(array({std::string(32, 'x')})).name, std::string(32, 'X'));
  EXPECT_FALSE(only(array({std::string(32, 'x')})).name_truncated);
  const TracedCommand name = only(array({std::string(33, 'x')}));
  EXPECT_EQ(name.name, std::string(32, 'X'));
  EXPECT_TRUE(name.name_truncated);
  EXPECT_EQ(only(array({"GET", std::string(64, 'k')})).first,
            (TracedArgument{std::string(64, 'k'), 64, false}));
  EXPECT_EQ(only(array({"GET", std::string(65, 'k')})).first,
            (TracedArgument{std::string(64, 'k'), 65, true}));
  // What is not kept counts in the digest.
  EXPECT_NE(only(array({"GET", std::string(1000, 'k') + "a"})).digest,
            only(array({"GET", std::string(1000, 'k') + "b"})).digest);
}

TEST(RespCommand, TheFirstKeyIsTheOneOfItsCommand) {
  const TracedCommand eval = only(array({"EVAL", "return 1", "2", "k1", "k2", "a"}));
  EXPECT_EQ(eval.key_argument, 3u);
  EXPECT_EQ(eval.key, (TracedArgument{"k1", 2, false}));
  EXPECT_EQ(eval.first.bytes, "return 1");
  EXPECT_EQ(only(array({"object", "encoding", std::string(70, 'k')})).key,
            (TracedArgument{std::string(64, 'k'), 70, true}));
  EXPECT_EQ(only(array({"BLMPOP", "0", "1", "list", "LEFT"})).key.bytes, "list");
  EXPECT_EQ(only(array({"MEMORY", "DOCTOR"})).key_argument, 0u);
  EXPECT_EQ(only(array({"GET"})).key_argument, 0u);
  EXPECT_EQ(only(array({"JSON.SET", "k", "$", "1"})).key_argument, 0u);
  EXPECT_EQ(only(array({"PING", "text"})).key_argument, 0u);
}

TEST(RespCommand, AScriptWithoutKeysHasNone) {
  EXPECT_EQ(only(array({"EVAL", "return 1", "0", "argument"})).key_argument, 0u);
  EXPECT_EQ(only(array({"FCALL", "f", "10", "k"})).key_argument, 3u);
  EXPECT_EQ(only(array({"BITOP", "0", "k"})).key_argument, 2u);
  EXPECT_EQ(only(array({"SINTERCARD", "0", "k"})).key_argument, 2u);
}

TEST(RespCommand, ASubcommandIsTheFirstArgumentOfAContainer) {
  char out[kMaxName];
  Command c;
  c.name = "CONFIG";
  c.first_argument = {"get", 3, false};
  EXPECT_EQ(subcommand(c, out), "GET");
  c.first_argument = {"0123456789012345678901234567890123", 34, false};
  EXPECT_EQ(subcommand(c, out), "");
  c.first_argument = {"ge", 3, true};
  EXPECT_EQ(subcommand(c, out), "");
  c.name = "GET";
  c.first_argument = {"key", 3, false};
  EXPECT_EQ(subcommand(c, out), "");
  c.name = "UNKNOWN";
  EXPECT_EQ(subcommand(c, out), "");
}

TEST(RespCommand, ArgumentsHoldAnyBytes) {
  const std::string bytes("\r\n\0*1\r\n$4\r\nPING\r\n", 18);
  const TracedCommand c = only(array({"SET", bytes, ""}));
  EXPECT_EQ(c.first.bytes, bytes);
  EXPECT_EQ(c.arguments, 2u);
}

TEST(RespCommand, ALineOfWordsIsAnInlineCommand) {
  const TracedCommand c = only("  get  key:1\tx \r\n");
  EXPECT_EQ(c.name, "GET");
  EXPECT_TRUE(c.inline_command);
  EXPECT_EQ(c.arguments, 2u);
  EXPECT_EQ(c.first, TracedArgument());
  EXPECT_EQ(c.key_argument, 0u);
  EXPECT_EQ(c.size, 17u);
  EXPECT_EQ(only("ping\n").name, "PING");
  EXPECT_EQ(c.digest, only("GET key:1 x\n").digest);
  EXPECT_NE(c.digest, only("GET key:1x\n").digest);
  EXPECT_NE(c.digest, only("GET x key:1\n").digest);
  EXPECT_EQ(only(std::string(100, 'a') + " b\n").name, std::string(32, 'A'));
}

TEST(RespCommand, WordsOfAnInlineCommandMayBeQuoted) {
  EXPECT_EQ(only("\"set\" 'a b' \"c \\\" d\"\n").name, "SET");
  EXPECT_EQ(only("\"set\" 'a b' \"c \\\" d\"\n").arguments, 2u);
  EXPECT_EQ(only("set 'it\\'s' \"\"\r\n").arguments, 2u);
  EXPECT_EQ(only("set 'a\\\\'b'\n").arguments, 1u);  // the second backslash escapes
  expect_invalid("set 'a\\\\'\n");
  EXPECT_EQ(only("set a\"b c\"\n").arguments, 1u);
  EXPECT_EQ(only("set \"\\x41\\\\\"\n").arguments, 1u);
  EXPECT_EQ(only("'' x\n").name, "");
  expect_invalid("set \"open\r\n");
  expect_invalid("set 'open\n");
  expect_invalid("set 'open\\\n");
  expect_invalid("set \"open\\\n");
  expect_invalid("set \"a\"b\n");
  expect_invalid("set 'a''b'\n");
}

TEST(RespCommand, AnInlineCommandIsFollowedByOthers) {
  CommandTracer t;
  EXPECT_EQ(t.feed("PING\r\n" + array({"GET", "k"}) + "QUIT\n"), State::kStart);
  ASSERT_EQ(t.all.size(), 3u);
  EXPECT_TRUE(t.all[0].inline_command);
  EXPECT_FALSE(t.all[1].inline_command);
  EXPECT_TRUE(t.all[2].inline_command);
}

TEST(RespCommand, AnInlineLineIsBounded) {
  EXPECT_EQ(only("SET " + std::string(kMaxInlineLine - 4, 'v') + "\n").size, kMaxInlineLine + 1);
  expect_invalid("SET " + std::string(kMaxInlineLine - 3, 'v'));
  expect_invalid(std::string(kMaxInlineLine + 1, ' '));
  expect_invalid(std::string("SET a\0b\n", 8));
}

TEST(RespCommand, WhatIsNotRespIsInvalidForGood) {
  for (const char* bytes : {"*\r\n",
                            "*x\r\n",
                            "*+1\r\n",
                            "*01\r\n",
                            "*1\n",
                            "*1\rx",
                            "*-0\r\n",
                            "*-\r\n",
                            "*--1\r\n",
                            "*1 \r\n",
                            "*?\r\n",
                            "*1\r\n+PING\r\n",
                            "*1\r\n:1\r\n",
                            "*1\r\n$-1\r\n",
                            "*1\r\n$\r\n",
                            "*1\r\n$04\r\n",
                            "*1\r\n$4\nPING",
                            "*1\r\n$4\r\nPINGx",
                            "*1\r\n$4\r\nPING\rx",
                            "*1\r\n$4\r\nPING\n",
                            "*1\r\n*1\r\n",
                            "*00\r\n",
                            "*1\r\n$0\r\nx"}) {
    expect_invalid(bytes);
  }
  expect_invalid(array({"GET", "k"}) + "*x", 1);
}

TEST(RespCommand, NumbersOfArgumentsAreBounded) {
  CommandTracer t;
  EXPECT_EQ(t.feed("*1048576\r\n$4\r\nMGET\r\n"), State::kCommand);
  for (size_t i = 1; i < 1048576; ++i) t.parser.feed("$0\r\n\r\n", 6);
  EXPECT_EQ(t.parser.state(), State::kStart);
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].arguments, 1048575u);
  expect_invalid("*1048577");
  expect_invalid("*99999999999999999999999999");
  expect_invalid("*-99999999999999999999999999");
}

TEST(RespCommand, LengthsOfArgumentsAreBounded) {
  CommandTracer t;
  EXPECT_EQ(t.feed("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n"), State::kCommand);
  EXPECT_EQ(t.parser.bulk_left(), kMaxCommandBulk);
  const std::string piece(1 << 20, 'v');
  for (int i = 0; i < 512; ++i) t.parser.feed(piece.data(), piece.size());
  EXPECT_EQ(t.feed("\r\n"), State::kStart);
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].size, 4u + 9 + 7 + 12 + kMaxCommandBulk + 2);
  expect_invalid("*2\r\n$3\r\nGET\r\n$536870913");
  expect_invalid("*2\r\n$3\r\nGET\r\n$18446744073709551617");
}

TEST(RespCommand, BytesOfAnArgumentCanBeSkipped) {
  const std::string head = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n";
  CommandTracer a, b;
  a.feed(head);
  EXPECT_EQ(a.skip(10), State::kCommand);
  EXPECT_EQ(a.feed("\r\n"), State::kStart);
  b.feed(head);
  b.skip(4);
  b.skip(0);
  b.skip(6);
  b.feed("\r\n");
  ASSERT_EQ(a.all.size(), 1u);
  EXPECT_EQ(a.all, b.all);
  EXPECT_EQ(a.all[0].size, head.size() + 12);
  EXPECT_EQ(a.all[0].key.bytes, "k");
  EXPECT_NE(a.all[0].digest, only(array({"SET", "k", "0123456789"})).digest);
}

TEST(RespCommand, WhatWasSkippedIsNeverKept) {
  CommandTracer t;
  t.feed("*2\r\n$3\r\nGET\r\n$6\r\nab");
  t.skip(2);
  t.feed("ef\r\n");
  ASSERT_EQ(t.all.size(), 1u);
  EXPECT_EQ(t.all[0].key, (TracedArgument{"ab", 6, true}));

  CommandTracer eval;  // whether it has a key was not seen
  eval.feed("*4\r\n$4\r\nEVAL\r\n$1\r\ns\r\n$1\r\n");
  eval.skip(1);
  eval.feed("\r\n$1\r\nk\r\n");
  ASSERT_EQ(eval.all.size(), 1u);
  EXPECT_EQ(eval.all[0].key_argument, 0u);

  CommandTracer key;
  key.feed("*4\r\n$4\r\nEVAL\r\n$1\r\ns\r\n$1\r\n1\r\n$3\r\n");
  key.skip(2);
  key.feed("k\r\n");
  ASSERT_EQ(key.all.size(), 1u);
  EXPECT_EQ(key.all[0].key, (TracedArgument{"", 3, true}));
}

TEST(RespCommand, SkippingElsewhereIsInvalid) {
  for (const char* bytes :
       {"", "*1", "*2\r\n$3\r\n", "*2\r\n$3\r\nGET\r\n", "*2\r\n$3\r\nGET\r\n$1",
        "*2\r\n$3\r\nGET\r\n$1\r\nk", "*1\r\n$3\r\nG", "PING"}) {
    CommandTracer t;
    t.feed(bytes);
    EXPECT_EQ(t.skip(1), State::kInvalid) << bytes;
  }
  CommandTracer t;
  t.feed("*2\r\n$3\r\nGET\r\n$5\r\n");
  EXPECT_EQ(t.skip(6), State::kInvalid);
}

}  // namespace
}  // namespace filibuster::resp
