// The checker against an oracle that shares nothing with it: every order of the operations of small random histories.
#include "core/linear/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace filibuster::linear {
namespace {

// A register of 0 to 3 with writes, reads and compare-and-set: the state is the value. A step has its kind in the highest bits.
enum : Step { kWrite = 0, kRead = 16, kCas = 32 };
class Register final : public Model {
 public:
  State initial() override { return 0; }
  std::optional<State> next(State from, Step step) override {
    ++asked;
    const State a = step & 3, b = step >> 2 & 3;
    if (step < kRead) return a;
    if (step < kCas) return from == a ? std::optional(from) : std::nullopt;
    return from == a ? std::optional(b) : std::nullopt;
  }
  bool only_reads(Step step) override { return step >= kRead && step < kCas; }
  int asked = 0;
};

// A queue of at most three different items; the state is its content as digits to the base 4.
class Queue final : public Model {
 public:
  State initial() override { return 0; }
  std::optional<State> next(State from, Step step) override {
    const State item = step & 3;
    if (step < kRead) return from >= 64 ? std::nullopt : std::optional(from * 4 + item);  // enqueue
    State size = 0, first = from;
    for (State rest = from; rest > 0; rest /= 4, ++size) first = rest;
    if (item == 0) return from == 0 ? std::optional(from) : std::nullopt;  // 'empty'
    if (from == 0 || first != item) return std::nullopt;
    State power = 1;
    while (--size > 0) power *= 4;
    return from - first * power;
  }
  bool only_reads(Step step) override { return step == kRead; }
};

bool is_linearisable(const std::vector<Operation>& operations, Model& model, uint32_t taken,
                     State state) {
  int64_t first_end = kNever;
  for (size_t i = 0; i < operations.size(); ++i) {
    if ((taken >> i & 1) == 0) first_end = std::min(first_end, operations[i].end);
  }
  if (first_end == kNever) return true;
  for (size_t i = 0; i < operations.size(); ++i) {
    if ((taken >> i & 1) != 0 || operations[i].call > first_end) continue;
    const auto next = model.next(state, operations[i].step);
    if (next && is_linearisable(operations, model, taken | 1u << i, *next)) return true;
  }
  return false;
}

std::vector<Operation> random_history(std::mt19937_64& random, bool queue) {
  std::vector<Operation> out;
  const auto clients = 1 + random() % 4;
  std::map<uint64_t, int64_t> free;
  for (auto count = 1 + random() % 8; count > 0; --count) {
    const uint64_t client = random() % clients;
    Operation operation;
    operation.client = static_cast<uint32_t>(client);
    operation.call = free[client] + static_cast<int64_t>(random() % 4);
    operation.end = operation.call + static_cast<int64_t>(random() % 6);
    if (operation.call >= kNever / 2) continue;  // its client acts no more
    if (random() % 6 == 0) operation.end = kNever;
    free[client] = operation.is_unknown() ? kNever / 2 : operation.end + 1;
    operation.step = queue ? (random() % 2 == 0 ? kWrite + 1 + random() % 3 : kRead + random() % 4)
                           : static_cast<Step>(random() % 48);
    if (operation.step < kRead) operation.step &= 3;
    if (operation.step >= kRead && operation.step < kCas)
      operation.step = kRead + (operation.step & 3);
    out.push_back(operation);
  }
  return out;
}

std::string to_text(const std::vector<Operation>& operations) {
  std::string out;
  for (const Operation& each : operations)
    out += "\n" + std::to_string(each.client) + ": " + std::to_string(each.call) + " to " +
           (each.is_unknown() ? "?" : std::to_string(each.end)) + ", step " +
           std::to_string(each.step);
  return out;
}

// An order of the known operations that the model and their times allow?
void expect_order(const std::vector<Operation>& operations, Model& model, const Result& result) {
  State state = model.initial();
  std::vector<bool> taken(operations.size(), false);
  for (const uint32_t number : result.longest) {
    for (size_t i = 0; i < operations.size(); ++i)
      EXPECT_TRUE(taken[i] || operations[i].end >= operations[number].call);
    taken[number] = true;
    const auto next = model.next(state, operations[number].step);
    ASSERT_TRUE(next);
    state = *next;
  }
  if (result.verdict != Verdict::kLinearisable) return;
  for (size_t i = 0; i < operations.size(); ++i)
    EXPECT_TRUE(taken[i] || operations[i].is_unknown());
}

TEST(Linear, SaysWhatEveryOrderSays) {
  std::mt19937_64 random(7);
  // `make test-all` sets WHOLE, and takes a hundred times as many.
  const char* const whole = std::getenv("WHOLE");
  const int histories = whole != nullptr && *whole != '\0' ? 1'000'000 : 10'000;
  int linearisable = 0, total = 0;
  for (int i = 0; i < histories; ++i) {
    const bool queue = i % 2 == 0;
    const std::vector<Operation> operations = random_history(random, queue);
    Register cells;
    Queue items;
    Model& model = queue ? static_cast<Model&>(items) : cells;
    const bool expected = is_linearisable(operations, model, 0, model.initial());
    const Result result = check(operations, &model);
    ASSERT_EQ(result.verdict, expected ? Verdict::kLinearisable : Verdict::kNot)
        << "history " << i << to_text(operations);
    ASSERT_EQ(result.stuck.has_value(), !expected) << "history " << i;
    expect_order(operations, model, result);
    linearisable += expected ? 1 : 0;
    ++total;
  }
  EXPECT_GT(linearisable, total / 10);
  EXPECT_LT(linearisable, total * 9 / 10);
}

TEST(Linear, AnUnknownOperationMayTakeEffectLateOrNever) {
  const Operation unknown{0, 0, kNever, kWrite + 1};
  Register model;
  // Ten operations later, and not at all.
  std::vector<Operation> late{unknown};
  for (int64_t i = 1; i <= 10; ++i) late.push_back({1, 10 * i, 10 * i + 5, kRead + 0});
  EXPECT_EQ(check(late, &model).verdict, Verdict::kLinearisable);
  late.push_back({1, 200, 205, kRead + 1});
  EXPECT_EQ(check(late, &model).verdict, Verdict::kLinearisable);
  // Not back again.
  late.push_back({1, 300, 305, kRead + 0});
  const Result result = check(late, &model);
  EXPECT_EQ(result.verdict, Verdict::kNot);
  EXPECT_EQ(result.stuck, 12u);
  EXPECT_EQ(result.longest.size(), 12u);
}

TEST(Linear, OperationsThatTouchAreConcurrent) {
  Register model;
  EXPECT_EQ(
      check(std::vector<Operation>{{0, 0, 5, kWrite + 1}, {1, 5, 9, kRead + 0}}, &model).verdict,
      Verdict::kLinearisable);
  EXPECT_EQ(
      check(std::vector<Operation>{{0, 0, 5, kWrite + 1}, {1, 6, 9, kRead + 0}}, &model).verdict,
      Verdict::kNot);
  EXPECT_EQ(check({}, &model).verdict, Verdict::kLinearisable);
}

TEST(Linear, ABoundGivesNoVerdict) {
  // Eighteen writes at once, and a read that none of them explains.
  std::vector<Operation> operations;
  for (uint32_t i = 0; i < 18; ++i)
    operations.push_back({i, 0, 100, kCas + (i % 3) + ((i + 1) % 3 << 2)});
  operations.push_back({20, 200, 300, kRead + 3});
  Register model;
  const Result whole = check(operations, &model);
  EXPECT_EQ(whole.verdict, Verdict::kNot);
  EXPECT_GT(whole.visited, 1000u);
  // The model is asked once for each state and step: 3 states, and 4 steps of which one is the read.
  EXPECT_LE(model.asked, 12);
  const Result stopped = check(operations, &model, {.stop = [] { return true; }});
  EXPECT_EQ(stopped.verdict, Verdict::kUnknown);
  EXPECT_EQ(stopped.why, "the time was over");
  const Result full = check(operations, &model, {.bytes = 1});
  EXPECT_EQ(full.verdict, Verdict::kUnknown);
  EXPECT_EQ(full.why, "the bound of memory was reached");
}

TEST(Linear, ReadsCostNoMemory) {
  std::vector<Operation> operations{{0, 0, 1, kWrite + 2}};
  for (uint32_t i = 0; i < 2000; ++i)
    operations.push_back({1 + i % 8, 2 + i / 8, 30 + i / 8, kRead + 2});
  Register model;
  const Result result = check(operations, &model);
  EXPECT_EQ(result.verdict, Verdict::kLinearisable);
  EXPECT_LE(result.visited, 2u);
}

}  // namespace
}  // namespace filibuster::linear
