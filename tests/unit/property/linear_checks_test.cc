#include "daemon/property/linear_checks.h"

#include <gtest/gtest.h>

namespace filibuster::property {
namespace {

// Events of "PROCESS TYPE F VALUE", a line each.
std::string problems(const std::string& check, const std::vector<std::string>& rows) {
  std::string lines;
  for (const std::string& row : rows) {
    const size_t a = row.find(' '), b = row.find(' ', a + 1), c = row.find(' ', b + 1);
    lines += "{\"process\": " + row.substr(0, a) + ", \"type\": \"" + row.substr(a + 1, b - a - 1) +
             "\", \"f\": \"" + row.substr(b + 1, c - b - 1) +
             "\", \"value\": " + row.substr(c + 1) + "}\n";
  }
  const auto history = read_history(lines);
  if (!history) return history.error().message;
  const auto found = check_in_one_pass(check, history.value());
  if (!found) return found.error().message;
  std::string out;
  for (const Problem& each : found.value()) {
    out += each.text + " @";
    for (const int line : each.lines) out += " " + std::to_string(line);
    out += "\n";
  }
  return out;
}

TEST(InOnePass, UniqueIds) {
  const std::vector<std::string> rows = {"0 invoke generate null", "1 invoke generate null",
                                         "0 ok generate 5", "1 ok generate 6"};
  EXPECT_EQ(problems("unique-ids", rows), "");
  EXPECT_EQ(problems("unique-ids", {rows[0], rows[1], rows[2], "1 ok generate 5"}),
            "the id 5 was given twice @ 1 2\n");
  EXPECT_EQ(problems("unique-ids", {"0 invoke read null"}), "1: 'read': expected generate");
}

TEST(InOnePass, TotalQueue) {
  const std::vector<std::string> put = {"0 invoke enqueue 1", "0 ok enqueue 1",
                                        "1 invoke enqueue 2", "1 info enqueue 2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> rows = put;
    rows.insert(rows.end(), more.begin(), more.end());
    return problems("total-queue", rows);
  };
  const std::vector<std::string> one = {"2 invoke dequeue null", "2 ok dequeue 1"};
  EXPECT_EQ(with(one), "");  // the 2 need not have come in
  EXPECT_EQ(with({one[0], one[1], "2 invoke dequeue null", "2 ok dequeue 2"}), "");
  EXPECT_EQ(with({one[0], one[1], "2 invoke dequeue null", "2 ok dequeue 1"}),
            "1 came out 2 times, and was put in at most 1 times @ 5 7\n");
  EXPECT_EQ(with({"2 invoke dequeue null", "2 ok dequeue 9", one[0], one[1]}),
            "9 came out, and was never put in @ 5\n");
  EXPECT_EQ(with({}), "1 of these were put in and did not come out: 1 @ 1\n");
  EXPECT_EQ(with({"2 invoke dequeue null", "2 info dequeue null"}), "");  // it may have taken the 1
}

TEST(InOnePass, SetFull) {
  const std::vector<std::string> add = {"0 invoke add 1", "0 ok add 1", "1 invoke add 2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> rows = add;
    rows.insert(rows.end(), more.begin(), more.end());
    return problems("set-full", rows);
  };
  EXPECT_EQ(with({"2 invoke read null", "2 ok read [1]"}), "");
  EXPECT_EQ(with({"2 invoke read null", "2 ok read []"}),
            "1 was there, and a read that began later does not have it @ 1 4\n");
  EXPECT_EQ(with({"2 invoke read null", "2 ok read [1, 2]", "2 invoke read null", "2 ok read [1]"}),
            "2 was there, and a read that began later does not have it @ 4 6\n");
  EXPECT_EQ(with({"2 invoke read null", "2 ok read [1, 7]"}),
            "a read has 7, which was not added before it ended @ 4\n");
  // Two reads that overlap may be in any order.
  EXPECT_EQ(with({"2 invoke read null", "3 invoke read null", "2 ok read [1, 2]", "3 ok read [1]"}),
            "");
}

TEST(InOnePass, CounterBounds) {
  const std::vector<std::string> add = {"0 invoke add 3", "1 invoke read null", "0 ok add 3"};
  const auto with = [&](const std::string& value) {
    return problems("counter-bounds", {add[0], add[1], add[2], "1 ok read " + value});
  };
  EXPECT_EQ(with("0"), "");
  EXPECT_EQ(with("3"), "");
  EXPECT_EQ(with("4"), "a read has 4, which is not between 0 and 3 @ 2\n");
  const std::vector<std::string> less = {"0 invoke add -2", "0 ok add -2", "1 invoke read null"};
  EXPECT_EQ(problems("counter-bounds", {less[0], less[1], less[2], "1 ok read 0"}),
            "a read has 0, which is not between -2 and -2 @ 3\n");
  EXPECT_EQ(problems("counter-bounds",
                     {"0 invoke add -2", "0 info add -2", "1 invoke read null", "1 ok read 0"}),
            "");
}

TEST(InOnePass, BankTotals) {
  EXPECT_EQ(problems("bank-totals", {"0 invoke read null", "0 ok read {\"a\": 3, \"b\": 4}",
                                     "0 invoke read null", "0 ok read {\"a\": 8, \"b\": -1}"}),
            "the account b has -1 @ 3\n");
  EXPECT_EQ(problems("bank-totals", {"0 invoke read null", "0 ok read {\"a\": 3}",
                                     "0 invoke read null", "0 ok read {\"a\": 4}"}),
            "the balances are 4 together, and were 3 @ 1 3\n");
}

}  // namespace
}  // namespace filibuster::property
