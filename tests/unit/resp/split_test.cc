// What the parsers report does not depend on how the bytes are split.
#include <gtest/gtest.h>

#include "tests/unit/resp/trace.h"

namespace filibuster::resp {
namespace {

const std::vector<std::string>& command_samples() {
  static const std::vector<std::string> samples = {
      array({"SET", "user:42", "value"}) + array({"GET", "user:42"}),
      array({"PING"}),
      array({"EVAL", "return redis.call('get', KEYS[1])", "1", "key", "a", ""}),
      array({"EVAL", "return 1", "0", "a"}),
      array({"config", "get", "maxmemory"}),
      array({"SET", std::string(100, 'k'), std::string(700, 'v')}),
      array({std::string(40, 'n'), "x"}),
      "*0\r\n\r\n*-1\r\n  \r\nPING\r\n" + array({"EXEC"}),
      " set 'a b\\'' \"c\\\" d\" e\"f\"\r\nQUIT\n",
      "set 'open\r\n",
      "*2\r\n$3\r\nGET\r\n$x\r\n",
      array({"GET", "a"}) + "*1\r\n$4\r\nPINGxx" + array({"GET", "b"}),
  };
  return samples;
}

const std::vector<std::string>& reply_samples() {
  static const std::vector<std::string> samples = {
      "+OK\r\n-WRONGTYPE Operation against a key\r\n:-42\r\n$5\r\nhello\r\n$-1\r\n*-1\r\n_\r\n",
      "*3\r\n:1\r\n$0\r\n\r\n*2\r\n+a\r\n*0\r\n",
      "#t\r\n#f\r\n,3.25e-7\r\n,inf\r\n,-inf\r\n,nan\r\n(-123456789012345678901234567890\r\n",
      "!21\r\nSYNTAX invalid syntax\r\n=8\r\ntxt:text\r\n=7\r\ntxtext!\r\n",
      "%2\r\n+a\r\n:1\r\n+b\r\n~2\r\n:1\r\n:2\r\n",
      "|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n|1\r\n$1\r\nk\r\n%1\r\n+a\r\n|0\r\n+b\r\n$1\r\nx\r\n",
      ">3\r\n+message\r\n$2\r\nch\r\n$2\r\nhi\r\n+OK\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$"
      "1\r\nk\r\n",
      "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\nbody\r\n",
      "-ERR " + std::string(300, 'x') + "\r\n+" + std::string(40, 'y') + "\r\n",
      "$700\r\n" + std::string(700, 'z') + "\r\n*1\r\n$40\r\n" + std::string(40, 'k') + "\r\n",
      "+OK\r\n$?\r\n",
      "+a\rb\r\n",
      "*2\r\n:1\r\n>1\r\n+x\r\n",
  };
  return samples;
}

template <typename Tracer>
void expect_the_same_for_every_split(const std::string& bytes) {
  Tracer whole;
  whole.feed(bytes);
  Tracer single;
  for (const char& c : bytes) single.feed({&c, 1});
  EXPECT_EQ(whole.all, single.all) << bytes;
  EXPECT_EQ(whole.parser.state(), single.parser.state()) << bytes;
  EXPECT_EQ(whole.parser.reason(), single.parser.reason()) << bytes;
  for (size_t a = 0; a <= bytes.size(); ++a) {
    Tracer two;
    two.feed(std::string_view(bytes).substr(0, a));
    two.feed(std::string_view(bytes).substr(a));
    EXPECT_EQ(whole.all, two.all) << bytes << " at " << a;
    EXPECT_EQ(whole.parser.state(), two.parser.state()) << bytes << " at " << a;
  }
}

TEST(RespSplit, CommandsAreTheSameForEverySplit) {
  for (const std::string& sample : command_samples()) {
    expect_the_same_for_every_split<CommandTracer>(sample);
  }
}

TEST(RespSplit, RepliesAreTheSameForEverySplit) {
  for (const std::string& sample : reply_samples()) {
    expect_the_same_for_every_split<ReplyTracer>(sample);
  }
}

TEST(RespSplit, AllSamplesTogetherAreTheSameInPiecesOfEverySize) {
  std::string commands, replies;
  for (const std::string& sample : command_samples()) {
    CommandTracer t;
    if (t.feed(sample) == CommandState::kStart) commands += sample;
  }
  for (const std::string& sample : reply_samples()) {
    ReplyTracer t;
    if (t.feed(sample) == ReplyState::kStart) replies += sample;
  }
  CommandTracer whole_commands;
  EXPECT_EQ(whole_commands.feed(commands), CommandState::kStart);
  ReplyTracer whole_replies;
  EXPECT_EQ(whole_replies.feed(replies), ReplyState::kStart);
  EXPECT_GT(whole_commands.all.size(), 9u);
  EXPECT_GT(whole_replies.all.size(), 20u);
  for (size_t size = 1; size < 800; size += size < 40 ? 1 : 37) {
    CommandTracer c;
    for (size_t at = 0; at < commands.size(); at += size) c.feed(commands.substr(at, size));
    EXPECT_EQ(c.all, whole_commands.all) << size;
    ReplyTracer r;
    for (size_t at = 0; at < replies.size(); at += size) r.feed(replies.substr(at, size));
    EXPECT_EQ(r.all, whole_replies.all) << size;
  }
}

// Bytes of any kind, and of those that RESP is made of.
TEST(RespSplit, GarbageIsTheSameForEverySplitAndEndsNothing) {
  uint32_t random = 1;
  const auto next = [&random] { return (random = random * 1664525 + 1013904223) >> 16; };
  const std::string_view alphabet = "+-:$*_#,(!=%~>|\r\n\r\n\r\n0123tf?\"' abG";
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    const size_t size = next() % 40;
    for (size_t i = 0; i < size; ++i) {
      bytes += round % 2 != 0 ? static_cast<char>(next()) : alphabet[next() % alphabet.size()];
    }
    CommandTracer c, c1;
    c.feed(bytes);
    for (const char& b : bytes) c1.feed({&b, 1});
    ASSERT_EQ(c.all, c1.all);
    ASSERT_EQ(c.parser.state(), c1.parser.state());
    ReplyTracer r, r1;
    r.feed(bytes);
    for (const char& b : bytes) r1.feed({&b, 1});
    ASSERT_EQ(r.all, r1.all);
    ASSERT_EQ(r.parser.state(), r1.parser.state());
  }
}

}  // namespace
}  // namespace filibuster::resp
