#include "daemon/property/history.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

// "0 write 3 ok 0-1" for each call.
std::string told(std::string_view text) {
  const auto history = read_history(text);
  if (!history) return history.error().message;
  constexpr const char* kWords[] = {"ok", "fail", "info"};
  std::string out;
  for (const Call& each : history->calls) {
    out += each.process + " " + each.f + (each.key.empty() ? "" : " of " + each.key) + " " +
           each.asked.dump() + " " + kWords[static_cast<int>(each.outcome)] + " " +
           each.answered.dump() + " " + std::to_string(each.call) + "-" +
           (each.end == linear::kNever ? "" : std::to_string(each.end)) + "\n";
  }
  return out + (history->left_out > 0 ? std::to_string(history->left_out) + " left out" : "");
}

constexpr char kCalls[] =
    "0 write 3 ok 3 0-2\n"
    "1 read null ok 3 1-3\n"
    "0 cas [3,4] info \"timed-out\" 4-\n"
    "1 write 5 info null 6-\n";

TEST(Histories, AreReadInEachFormat) {
  EXPECT_EQ(told(R"({"process": 0, "type": "invoke", "f": "write", "value": 3}
{"process": 1, "type": "invoke", "f": "read"}
{"process": 0, "type": "ok", "f": "write", "value": 3}

{"process": 1, "type": "ok", "value": 3}
{"process": 0, "type": "invoke", "f": "cas", "value": [3, 4]}
{"process": 0, "type": "info", "f": "cas", "value": "timed-out"}
{"process": 1, "type": "invoke", "f": "write", "value": 5}
)"),
            kCalls);
  const std::string maps =
      "{:process 0, :type :invoke, :f :write, :value 3, :time 7}\n"
      "{:process 1, :type :invoke, :f :read, :value nil}\n"
      "{:process 0, :type :ok, :f :write, :value 3}\n"
      "{:process 1 :type :ok :f :read :value 3} {:type :info :f :start :process :nemesis}\n"
      "{:process 0, :type :invoke, :f :cas, :value [3 4]}\n"
      "{:process 0, :type :info, :f :cas, :value :timed-out}\n"
      "{:process 1, :type :invoke, :f :write, :value 5}\n";
  EXPECT_EQ(told(maps), std::string(kCalls) + "1 left out");
  EXPECT_EQ(told("[" + maps + "]"), std::string(kCalls) + "1 left out");
  EXPECT_EQ(told("INFO  jepsen.core - Running test\n"
                 "INFO  jepsen.util - 0\t:invoke\t:write\t3\n"
                 "INFO  jepsen.util - 1\t:invoke\t:read\tnil\n"
                 "INFO  jepsen.util - 0\t:ok\t:write\t3\n"
                 "INFO  jepsen.util - 1\t:ok\t:read\t3\n"
                 "INFO  jepsen.util - 0\t:invoke\t:cas\t[3 4]\n"
                 "INFO  jepsen.util - 0\t:info\t:cas\t:timed-out\n"
                 "INFO  jepsen.util - 1\t:invoke\t:write\t5\n"),
            kCalls);
  EXPECT_EQ(told("{:process 2, :type :invoke, :f :get, :key \"7\", :value nil}"),
            "2 get of 7 null info null 0-\n");
}

TEST(Histories, WhatIsWrongHasItsLine) {
  EXPECT_EQ(told("\n"), "1: expected a history, found nothing");
  EXPECT_EQ(told("{\"process\": 0, \"type\": \"ok\"}\n"),
            "1: process 0 has no open operation; expected an invoke before");
  EXPECT_EQ(told("{\"process\": 0, \"type\": \"invoke\", \"f\": \"a\"}\n{\"process\": 0, \"type\": "
                 "\"invoke\", \"f\": \"b\"}"),
            "2: process 0 begins 'b' while its 'a' of line 1 is open; expected ok, fail or info of "
            "it before");
  EXPECT_EQ(told("{:process 0 :type :invoke :f :a}\n{:process 0 :type :info}\n{:process 0 :type "
                 ":invoke :f :a}"),
            "3: process 0 goes on behind an info, whose operation may still take effect; expected "
            "another process from there on");
  EXPECT_EQ(told("{:process 0 :type :invoke :f :a}\n\n{:process 0 :type :ok :f :b}"),
            "3: process 0 ends 'b', and its open operation is 'a' of line 1");
  EXPECT_EQ(told("{\"process\": 0, \"type\": \"done\"}"),
            "1: 'type': expected invoke, ok, fail or info, found 'done'");
  EXPECT_EQ(told("{\"type\": \"ok\"}"), "1: expected 'process', which says whose event it is");
  EXPECT_EQ(told("{\"process\": 1\n"), "1: expected JSON");
  const std::string begin = "{\"process\": 0, \"type\": \"invoke\", \"f\": \"write\", ";
  EXPECT_EQ(told(begin + "\"value\": 1, \"time\": 3, \"index\": 0}\n{\"process\": 0, \"type\": "
                         "\"info\", \"valeu\": 1}"),
            "2: an event has no member 'valeu'; did you mean 'value'?");
  EXPECT_EQ(told(begin + "\"node\": \"n1\"}"),
            "1: an event has no member 'node'; expected process, type, f, value, key, reached, "
            "answer, time, index or error");
  // Not a history without calls, which would be linearisable.
  EXPECT_EQ(
      told("127.0.0.1 - GET /\n"),
      "1: expected a history in JSON lines, in EDN or in Jepsen's log; no line is an event of one");
  const std::string deep(65, '[');
  EXPECT_EQ(told("{\"process\": 1, \"value\": " + deep),
            "1: expected JSON that is at most 64 deep");
  EXPECT_EQ(told("{\"process\": 1, \"value\": \"" + deep + "\"}"),
            "1: 'type': expected invoke, ok, fail or info, found ''");
  // Texts that are no UTF-8 would be written alike, and so be taken for equal.
  EXPECT_EQ(told("{:process 0 :type :invoke :f :a}\n{:process 0 :type :ok :value \"\xff\"}"),
            "2: expected UTF-8");
  EXPECT_EQ(told("{:process [\"a\"] :type :invoke :f :a}"), "[\"a\"] a null info null 0-\n");
  EXPECT_EQ(told("{:process 0 :type :invoke :f :a}\n{:process 0"),
            "2: expected '}' at the end of a collection");
  EXPECT_EQ(told("[1]"), "1: expected an object (EDN: a map) for each event");
}

TEST(History, WhatIsWrittenIsReadAgain) {
  const char* const lines =
      "{\"process\":\"0\",\"type\":\"invoke\",\"f\":\"put\",\"value\":1,\"key\":\"a\"}\n"
      "{\"process\":\"1\",\"type\":\"invoke\",\"f\":\"get\",\"value\":null,\"key\":\"a\"}\n"
      "{\"process\":\"1\",\"type\":\"ok\",\"f\":\"get\",\"value\":[1],\"key\":\"a\"}\n"
      "{\"process\":\"2\",\"type\":\"invoke\",\"f\":\"put\",\"value\":2}\n"
      "{\"process\":\"2\",\"type\":\"fail\",\"f\":\"put\",\"value\":null}\n"
      "{\"process\":\"3\",\"type\":\"invoke\",\"f\":\"get\",\"value\":null,\"key\":\"\"}\n";
  const auto history = read_history(lines);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history_lines(history.value()), lines);
}

}  // namespace
}  // namespace filibuster::property
