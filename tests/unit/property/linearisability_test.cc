#include "daemon/property/linearisability.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

using linear::Verdict;

History history_of(const std::string& lines) {
  const auto history = read_history(lines);
  EXPECT_TRUE(history) << (history ? "" : history.error().message);
  return history ? history.value() : History();
}

// The events of a call that is alone.
std::string call(int process, const std::string& f, const std::string& asked,
                 const std::string& type, const std::string& answered,
                 const std::string& key = "") {
  const std::string who = "{\"process\": " + std::to_string(process) + ", ";
  return who + "\"type\": \"invoke\", \"f\": \"" + f + "\", \"value\": " + asked +
         (key.empty() ? "" : ", \"key\": \"" + key + "\"") + "}\n" + who + "\"type\": \"" + type +
         "\", \"value\": " + answered + "}\n";
}
std::string ok(const std::string& f, const std::string& asked, const std::string& answered,
               const std::string& key = "") {
  return call(0, f, asked, "ok", answered, key);
}

CheckedHistory checked(const std::string& model, const std::string& lines,
                       const nlohmann::json& initial = {}, const CheckOptions& options = {}) {
  const History history = history_of(lines);
  auto result = check_history(
      history, [&] { return make_object(model, initial); }, options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? std::move(result).value() : CheckedHistory();
}
bool holds(const std::string& model, const std::string& lines, const nlohmann::json& initial = {}) {
  return checked(model, lines, initial).verdict == Verdict::kLinearisable;
}
std::string refused(const std::string& model, const std::string& lines,
                    const nlohmann::json& initial = {}) {
  const History history = history_of(lines);
  const auto result = check_history(history, [&] { return make_object(model, initial); }, {});
  return result ? "" : result.error().message;
}

TEST(Objects, Registers) {
  EXPECT_TRUE(holds("register",
                    ok("read", "null", "null") + ok("write", "3", "3") + ok("read", "null", "3")));
  EXPECT_FALSE(holds("register", ok("write", "3", "3") + ok("read", "null", "4")));
  EXPECT_TRUE(holds("register", ok("read", "null", "7"), 7));
  EXPECT_TRUE(holds("cas-register", ok("write", "1", "1") + ok("cas", "[1, 2]", "[1, 2]") +
                                        ok("read", "null", "2")));
  EXPECT_FALSE(holds("cas-register", ok("write", "1", "1") + ok("cas", "[3, 2]", "true")));
  EXPECT_TRUE(holds("cas-register", ok("write", "1", "1") + ok("cas", "[3, 2]", "false")));
  EXPECT_FALSE(holds("cas-register", ok("write", "1", "1") + ok("cas", "[1, 2]", "false")));
  // What failed did nothing, whatever the state is.
  EXPECT_TRUE(holds(
      "cas-register",
      ok("write", "1", "1") + call(0, "cas", "[1, 2]", "fail", "null") + ok("read", "null", "1")));
  EXPECT_EQ(refused("register", ok("cas", "[1, 2]", "true")), "1: 'cas': expected read or write");
  EXPECT_EQ(refused("cas-register", ok("read", "null", "null") + ok("cas", "3", "true")),
            "3: cas: expected the value [OLD, NEW]");
}

TEST(Objects, ValuesByKey) {
  EXPECT_TRUE(holds("kv", ok("get", "null", "\"\"", "a") + ok("append", "\"x\"", "null", "a") +
                              ok("append", "\"y\"", "null", "a") +
                              ok("get", "null", "\"xy\"", "a") + ok("get", "null", "null", "b")));
  EXPECT_FALSE(holds("kv", ok("put", "1", "null", "a") + ok("get", "null", "1", "b")));
  EXPECT_TRUE(holds("kv", ok("put", "1", "null", "a") + ok("delete", "null", "null", "a") +
                              ok("get", "null", "null", "a")));
  EXPECT_FALSE(holds("kv", ok("put", "1", "null", "a") + ok("cas", "[2, 3]", "true", "a")));
  EXPECT_TRUE(holds("kv", ok("get", "null", "5", "a"), {{"a", 5}}));
  EXPECT_EQ(refused("kv", ok("get", "null", "null", "a") + ok("put", "1", "null")),
            "3: put: expected 'key', which says whose value is meant");
  // Each key is checked alone, and a key that is wrong is named.
  const CheckedHistory both =
      checked("kv", ok("put", "1", "null", "a") + ok("put", "1", "null", "b") +
                        ok("get", "null", "2", "b"));
  ASSERT_EQ(both.verdict, Verdict::kNot);
  ASSERT_FALSE(both.parts.empty());
  EXPECT_EQ(both.parts.back().key, "b");
  EXPECT_EQ(both.parts.back().orders.front().stuck, 2u);
  // Together they have the same verdict.
  EXPECT_EQ(checked("kv", ok("put", "1", "null", "a") + ok("get", "null", "2", "b"), {},
                    {.partition = false})
                .verdict,
            Verdict::kNot);
}

TEST(Objects, Transactions) {
  const std::string both = ok("txn", R"([["write", "x", 1], ["write", "y", 1]])",
                              R"([["write", "x", 1], ["write", "y", 1]])");
  const auto read = [](const std::string& x, const std::string& y) {
    return ok("txn", R"([["read", "x", null], ["read", "y", null]])",
              R"([["read", "x", )" + x + R"(], ["read", "y", )" + y + "]]");
  };
  EXPECT_TRUE(holds("multi-register", read("null", "0") + both + read("1", "1"), {{"y", 0}}));
  EXPECT_FALSE(holds("multi-register", both + read("1", "null")));
}

TEST(Objects, Collections) {
  EXPECT_TRUE(holds("queue", ok("enqueue", "1", "1") + ok("enqueue", "2", "2") +
                                 ok("dequeue", "null", "1") + ok("dequeue", "null", "2") +
                                 ok("dequeue", "null", "null")));
  EXPECT_FALSE(holds(
      "queue", ok("enqueue", "1", "1") + ok("enqueue", "2", "2") + ok("dequeue", "null", "2")));
  EXPECT_FALSE(holds("queue", ok("enqueue", "1", "1") + ok("dequeue", "null", "null")));
  EXPECT_TRUE(holds("set", ok("add", "2", "null") + ok("add", "1", "null") +
                               ok("add", "1", "null") + ok("read", "null", "[1, 2]") +
                               ok("remove", "2", "null") + ok("contains", "2", "false") +
                               ok("contains", "1", "true")));
  EXPECT_FALSE(holds("set", ok("add", "2", "null") + ok("read", "null", "[]")));
  EXPECT_TRUE(holds("list", ok("append", "2", "null") + ok("append", "1", "null") +
                                ok("read", "null", "[2, 1]")));
  EXPECT_FALSE(holds("list", ok("append", "2", "null") + ok("append", "1", "null") +
                                 ok("read", "null", "[1, 2]")));
  EXPECT_TRUE(holds("set", ok("read", "null", "[4]"), {4}));
}

TEST(Objects, Numbers) {
  EXPECT_TRUE(holds("counter", ok("add", "null", "null") + ok("add", "4", "4") +
                                   ok("read", "null", "5") + ok("add_and_get", "-7", "-2")));
  EXPECT_FALSE(holds("counter", ok("add", "2", "null") + ok("read", "null", "1")));
  const nlohmann::json accounts = {{"a", 10}, {"b", 0}};
  const auto pay = [](int amount, const std::string& answer) {
    return ok("transfer", R"({"from": "a", "to": "b", "amount": )" + std::to_string(amount) + "}",
              answer);
  };
  EXPECT_TRUE(holds("bank",
                    pay(7, "true") + ok("read", "null", R"({"a": 3, "b": 7})") + pay(4, "false"),
                    accounts));
  EXPECT_FALSE(holds("bank", pay(7, "true") + pay(7, "true"), accounts));
  EXPECT_FALSE(holds("bank", pay(7, "false"), accounts));
  EXPECT_EQ(
      refused("bank", ok("transfer", R"({"from": "a", "to": "c", "amount": 1})", "true"), accounts),
      "1: there is no account 'c'");
  EXPECT_FALSE(make_object("bank", {}));
  EXPECT_TRUE(holds("lock", ok("acquire", "null", "null") + ok("release", "null", "null") +
                                ok("acquire", "null", "null")));
  EXPECT_FALSE(holds("lock", ok("acquire", "null", "null") + ok("acquire", "null", "null")));
}

TEST(Histories, AnUnknownCallMayHaveHappenedMuchLater) {
  std::string lines = call(1, "write", "1", "info", "\"timed out\"");
  for (int i = 0; i < 10; ++i) lines += ok("read", "null", "null");
  EXPECT_TRUE(holds("register", lines));
  EXPECT_TRUE(holds("register", lines + ok("read", "null", "1")));
  EXPECT_FALSE(holds("register", lines + ok("read", "null", "1") + ok("read", "null", "null")));
}

TEST(Histories, EvidenceNarrowsWhatAnUnknownCallMayHaveDone) {
  const std::string invoke = R"({"process": 1, "type": "invoke", "f": "write", "value": 1})"
                             "\n";
  const std::string lost = invoke + R"({"process": 1, "type": "info", "reached": false})"
                                    "\n";
  const std::string seen = invoke + R"({"process": 1, "type": "info", "answer": 1})"
                                    "\n";
  const std::string one = ok("read", "null", "1"), none = ok("read", "null", "null");
  const CheckOptions believe{.evidence = true};
  EXPECT_EQ(checked("register", lost + one).verdict, Verdict::kLinearisable);
  EXPECT_EQ(checked("register", lost + one, {}, believe).verdict, Verdict::kNot);
  // It has happened, at whatever time.
  EXPECT_EQ(checked("register", seen + none, {}, believe).verdict, Verdict::kLinearisable);
  EXPECT_EQ(checked("register", seen + none + one, {}, believe).verdict, Verdict::kLinearisable);
  EXPECT_EQ(checked("register", seen + one + none, {}, believe).verdict, Verdict::kNot);
  const auto wrong = read_history(invoke + R"({"process": 1, "type": "info", "reached": 3})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "2: 'reached': expected true or false");
}

TEST(Histories, ABoundGivesNoVerdict) {
  std::string begins, ends;
  for (int i = 1; i <= 14; ++i) {
    const std::string who = "{\"process\": " + std::to_string(i) + ", ";
    begins += who + "\"type\": \"invoke\", \"f\": \"cas\", \"value\": [" + std::to_string(i % 3) +
              ", " + std::to_string((i + 1) % 3) + "]}\n";
    ends += who + "\"type\": \"ok\"}\n";
  }
  const std::string lines = begins + ends + ok("read", "null", "9");
  EXPECT_EQ(checked("cas-register", lines, 0).verdict, Verdict::kNot);
  const CheckedHistory stopped =
      checked("cas-register", lines, 0, {.deadline = std::chrono::steady_clock::time_point::min()});
  EXPECT_EQ(stopped.verdict, Verdict::kUnknown);
  EXPECT_EQ(stopped.why, "the time was over");
}

TEST(Histories, TheReportSaysTheStateBehindEachCall) {
  const CheckedHistory result =
      checked("register", ok("write", "3", "3") + ok("write", "4", "4") + ok("read", "null", "3"));
  ASSERT_EQ(result.parts.size(), 1u);
  const Order& order = result.parts[0].orders.at(0);
  EXPECT_EQ(order.calls, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(order.states, (std::vector<nlohmann::json>{3, 4}));
  EXPECT_EQ(order.stuck, 2u);
}

}  // namespace
}  // namespace filibuster::property
