// The execution of a program of several clients: the commands of a block run at the same time, and the history must be linearisable (Herlihy and
// Wing 1990; Claessen et al. 2009 for programs).
#include <algorithm>
#include <latch>
#include <mutex>
#include <thread>

#include "daemon/observe/observation.h"
#include "daemon/property/linearisability.h"
#include "daemon/verbs/property/tester.h"

namespace filibuster {

using property::Call;
using property::Item;
using property::Program;

namespace {

constexpr std::chrono::seconds kJudgingLimit{10};
constexpr size_t kJudgingBytes = size_t{512} << 20;

}  // namespace

Result<void> PropertyTester::run_blocks(const Program& program, ExecutedProgram* out) {
  if (auto done = clients_.reset(); !done) return done;
  answers_.clear();
  begun_ns_.clear();
  history_ = {};
  event_ = 0;
  processes_.resize(clients_.size());
  for (size_t i = 0; i < processes_.size(); ++i) processes_[i] = i;
  size_t row = 0;
  for (size_t at = 0, size = 0; at < program.items.size(); at += size) {
    size = block_size(program, at);
    const std::span block(&program.items[at], size);
    if (block.front().is_fault()) {
      begun_ns_.push_back(clock_ns());
      lane_.hub().arm(row++, block.front().occurrence);
      ExecutedItem armed;
      armed.item = block.front();
      armed.outcome = "armed";
      out->items.push_back(std::move(armed));
    } else if (auto ran = run_block(block, out); !ran) {
      return ran;
    }
  }
  return {};
}

Result<void> PropertyTester::run_block(std::span<const Item> block, ExecutedProgram* out) {
  struct Running {
    size_t item = 0, call = 0;  // places in `out` and in the history
    Result<Answered> answered = Answered{};
  };
  std::vector<Running> running;
  const uint64_t begun = clock_ns();
  for (const Item& item : block) {
    begun_ns_.push_back(begun);
    if (answers_.size() <= item.number) answers_.resize(item.number + 1);
    ExecutedItem executed;
    executed.item = item;
    const auto asked = property::with_results(item.value, answers_);
    if (!asked) {
      executed.outcome = "left out";
      executed.reason = "the command whose answer it needs has none";
      out->items.push_back(std::move(executed));
      continue;
    }
    executed.asked = *asked;
    executed.process = std::to_string(processes_[running.size()]);
    Call call;
    call.process = executed.process;
    call.f = item.f;
    call.asked = *asked;
    call.line = static_cast<int>(out->items.size()) + 1;
    running.push_back({out->items.size(), history_.calls.size()});
    history_.calls.push_back(std::move(call));
    out->items.push_back(std::move(executed));
  }
  std::mutex mutex;  // of the history
  std::latch all_there(static_cast<std::ptrdiff_t>(running.size()));
  const auto ask = [&](size_t client) {
    Running& of = running[client];
    Call& call = history_.calls[of.call];
    all_there.arrive_and_wait();
    const auto now = [&] {
      const std::lock_guard lock(mutex);
      return event_++;
    };
    call.call = now();
    of.answered = clients_.ask(client, call.process, call.f, call.asked);
    const int64_t end = now();
    if (!of.answered) return;
    call.outcome = of.answered->outcome;
    call.answered = of.answered->answer;
    // What failed to read has certainly changed nothing.
    if (call.outcome == property::Outcome::kInfo && model_->only_reads(call.f))
      call.outcome = property::Outcome::kFail;
    if (call.outcome != property::Outcome::kInfo) call.end = end;
  };
  std::vector<std::thread> threads;
  for (size_t client = 1; client < running.size(); ++client) threads.emplace_back(ask, client);
  if (!running.empty()) ask(0);
  for (std::thread& each : threads) each.join();
  for (size_t client = 0; client < running.size(); ++client) {
    Running& of = running[client];
    if (!of.answered) return of.answered.error();
    ExecutedItem& executed = out->items[of.item];
    executed.outcome = outcome_name(of.answered->outcome);
    executed.answered = of.answered->answer;
    executed.reason = of.answered->reason;
    if (of.answered->outcome == property::Outcome::kOk)
      answers_[executed.item.number] = of.answered->answer;
    // Its command may still have an effect, so a process of this name does no other one.
    if (history_.calls[of.call].outcome == property::Outcome::kInfo)
      processes_[client] += clients_.size();
    if (counts_) ++out_->commands[executed.item.f + " " + executed.outcome];
  }
  return {};
}

Result<void> PropertyTester::judge_history(ExecutedProgram* out) {
  std::stable_sort(history_.calls.begin(), history_.calls.end(),
                   [](const Call& a, const Call& b) { return a.call < b.call; });
  property::CheckOptions options;
  options.bytes = kJudgingBytes;
  options.deadline = std::chrono::steady_clock::now() + kJudgingLimit;
  const auto checked = property::check_history(
      history_,
      [&]() -> Result<std::unique_ptr<property::Object>> {
        return property::make_program_object(program_);
      },
      options);
  if (!checked) return checked.error();
  if (const std::string problem = program_->problem(); !problem.empty()) return Error{problem};
  out->history = history_lines(history_);
  if (checked->verdict == linear::Verdict::kUnknown) ++out_->undecided;
  if (checked->verdict != linear::Verdict::kNot) return {};
  out->violation = Violation{"order", "no order of these calls explains their answers"};
  for (const property::CheckedPart& part : checked->parts) {
    if (part.verdict != linear::Verdict::kNot || part.orders.empty()) continue;
    const auto item_of = [&](size_t call) {
      return static_cast<size_t>(history_.calls[call].line) - 1;
    };
    const property::Order& order = part.orders.front();
    LongestOrder longest;
    for (const size_t call : order.calls) longest.items.push_back(item_of(call));
    longest.state = order.states.empty() ? part.initial : order.states.back();
    if (order.stuck) longest.stuck = item_of(*order.stuck);
    out->longest = std::move(longest);
    break;
  }
  return {};
}

}  // namespace filibuster
