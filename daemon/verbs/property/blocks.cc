// The execution of a program of several clients: the commands of a block run at the same time, and the history must be linearisable (Herlihy and
// Wing 1990; Claessen et al. 2009 for programs).
#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <thread>

#include "core/index/execution_index.h"
#include "daemon/lint/record_view.h"
#include "daemon/model/caller.h"
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
// How long a command may take while another one stands still, in times of the longest block. One that needs what the other has locked never ends.
constexpr int kTurns = 10;
constexpr std::chrono::milliseconds kShortestTurn{50}, kLongestTurn{2000};
constexpr int kOncePossible = -1;   // in the place of a number
constexpr int kMostImpossible = 3;  // of one hold, until it is not tried again
constexpr std::chrono::microseconds kTurnLook{200};

// Equal commands at an equal call, whatever their values are.
std::string kind_of(const Program& program, const std::vector<property::Hold>& holds) {
  std::string out;
  const auto name_of = [&](uint32_t number) {
    const auto found =
        std::find_if(program.items.begin(), program.items.end(),
                     [&](const Item& item) { return !item.is_fault() && item.number == number; });
    return found == program.items.end() ? std::string() : found->f;
  };
  for (const property::Hold& hold : holds)
    out += name_of(hold.command) + " | " + hold.edge.caller + " -> " + hold.edge.service + " " +
           hold.edge.method + " " + std::to_string(hold.occurrence) + " | " + name_of(hold.until) +
           "\n";
  return out;
}

}  // namespace

// A command that a thread of its own asks.
struct PropertyTester::Asked {
  size_t item = 0, call = 0,
         client = 0;  // places in what is executed, in the history, and of the client
  uint32_t number = 0;
  Result<Answered> answered = Answered{};
  std::atomic<bool> ended = false;
  std::thread thread;
};

Result<void> PropertyTester::run_blocks(const Program& program, ExecutedProgram* out) {
  if (auto done = clients_.reset(); !done) return done;
  answers_.clear();
  begun_ns_.clear();
  history_ = {};
  seen_.clear();
  event_ = 0;
  lasting_.clear();
  processes_.resize(clients_.size());
  for (size_t i = 0; i < processes_.size(); ++i) processes_[i] = i;
  size_t row = 0;
  for (size_t at = 0, size = 0; at < program.items.size(); at += size) {
    size = block_size(program, at);
    const std::span block(&program.items[at], size);
    disarm(at);
    if (block.front().is_fault()) {
      begun_ns_.push_back(clock_ns());
      arm(block.front(), at, row++, out);
    } else if (auto ran = run_block(block, program, out); !ran) {
      return ran;
    }
  }
  return {};
}

Result<void> PropertyTester::run_block(std::span<const Item> block, const Program& program,
                                       ExecutedProgram* out) {
  const uint64_t begun = clock_ns();
  const auto commands = begin_block(block, begun, out);
  const auto is_of_block = [&](const property::Hold& hold) {
    return std::any_of(block.begin(), block.end(),
                       [&](const Item& item) { return item.number == hold.command; });
  };
  if (program.holds.empty()) {
    std::latch all_there(static_cast<std::ptrdiff_t>(commands.size()));
    for (const auto& each : commands) {
      each->thread = std::thread([&, command = each.get()] {
        all_there.arrive_and_wait();
        ask(command, *out);
      });
    }
    for (const auto& each : commands) each->thread.join();
  } else {
    if (is_of_block(program.holds.front())) out->schedule = follow(program, commands, *out);
    // Where a schedule says the order of some, the others come one after the other, so that the whole execution is the same each time.
    for (const auto& each : commands) {
      if (!each->ended) ask(each.get(), *out);
    }
  }
  return end_block(commands, begun, out);
}

std::vector<std::unique_ptr<PropertyTester::Asked>> PropertyTester::begin_block(
    std::span<const Item> block, uint64_t begun, ExecutedProgram* out) {
  std::vector<std::unique_ptr<Asked>> commands;
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
    executed.process = std::to_string(processes_[commands.size()]);
    Call call = model_->call(item.f, *asked);
    call.process = executed.process;
    call.line = static_cast<int>(out->items.size()) + 1;
    auto command = std::make_unique<Asked>();
    command->item = out->items.size();
    command->call = history_.calls.size();
    command->client = commands.size();
    command->number = item.number;
    commands.push_back(std::move(command));
    history_.calls.push_back(std::move(call));
    out->items.push_back(std::move(executed));
  }
  return commands;
}

// On a thread of the command's own, or on that of the lane.
void PropertyTester::ask(Asked* command, const ExecutedProgram& program) {
  Call& call = history_.calls[command->call];
  const ExecutedItem& item = program.items[command->item];
  call.call = event_++;
  command->answered = clients_.ask(command->client, call.process, item.item.f, item.asked);
  const int64_t end = event_++;
  if (command->answered) {
    call.outcome = command->answered->outcome;
    call.answered = command->answered->answer;
    // What failed to read has certainly changed nothing.
    if (call.outcome == property::Outcome::kInfo && model_->only_reads(call.f))
      call.outcome = property::Outcome::kFail;
    if (call.outcome != property::Outcome::kInfo) call.end = end;
  }
  command->ended = true;
}

Result<void> PropertyTester::end_block(const std::vector<std::unique_ptr<Asked>>& commands,
                                       uint64_t begun, ExecutedProgram* out) {
  const uint64_t ended = clock_ns();
  const size_t number = seen_.empty() ? 0 : seen_.back().block + 1;
  for (const auto& each : commands) {
    if (!each->answered) return each->answered.error();
    seen_.push_back({number, each->client, each->number, begun, ended});
    ExecutedItem& executed = out->items[each->item];
    executed.outcome = outcome_name(each->answered->outcome);
    executed.answered = each->answered->answer;
    executed.reason = each->answered->reason;
    if (each->answered->outcome == property::Outcome::kOk)
      answers_[each->number] = each->answered->answer;
    // Its command may still have an effect, so a process of this name does no other one.
    if (history_.calls[each->call].outcome == property::Outcome::kInfo)
      processes_[each->client] += clients_.size();
    if (counts_) ++out_->commands[executed.item.f + " " + executed.outcome];
  }
  return {};
}

// Gives the commands their turns: each goes on until it stops at its hold, ends, or cannot go on before another one does. Then all of them go on
// to their ends.
ExecutedProgram::Schedule PropertyTester::follow(
    const Program& program, const std::vector<std::unique_ptr<Asked>>& commands,
    const ExecutedProgram& executed) {
  using Schedule = ExecutedProgram::Schedule;
  AgentHub& hub = lane_.hub();
  const std::vector<property::Hold>& holds = program.holds;
  // In the plan, the rows of holds stand behind those of faults.
  const auto first_row =
      static_cast<size_t>(std::count_if(program.items.begin(), program.items.end(),
                                        [](const Item& item) { return item.is_fault(); }));
  // What has happened once is waited for.
  const auto limit = learns_schedules_ ? std::clamp<std::chrono::nanoseconds>(
                                             kTurns * longest_, kShortestTurn, kLongestTurn)
                                       : kLongestTurn;
  Schedule out = Schedule::kHappened;
  for (size_t turn = 0; turn <= holds.size() && out == Schedule::kHappened; ++turn) {
    const uint32_t number = turn < holds.size() ? holds[turn].command : holds.back().until;
    const auto found = std::find_if(commands.begin(), commands.end(),
                                    [&](const auto& each) { return each->number == number; });
    if (found == commands.end()) {  // it was left out
      out = Schedule::kUnmet;
      break;
    }
    Asked* const command = found->get();
    const bool stops = turn < holds.size();
    if (stops) hub.arm(first_row + turn, holds[turn].occurrence);
    if (command->thread.joinable()) {
      hub.release(first_row + turn - 2);  // where it stopped in its last turn
    } else {
      command->thread = std::thread([&, command] { ask(command, executed); });
    }
    const auto began = hub.patient_now();
    while (!command->ended && !(stops && hub.is_held(first_row + turn)) &&
           out == Schedule::kHappened) {
      // Without another command that stands still, it goes on by itself.
      if (turn > 0 && hub.patient_now() - began > limit) out = Schedule::kImpossible;
      std::this_thread::sleep_for(kTurnLook);
    }
    if (stops && out == Schedule::kHappened && !hub.is_held(first_row + turn))
      out = Schedule::kUnmet;
  }
  for (size_t i = 0; i < holds.size(); ++i) hub.release(first_row + i);
  for (const auto& each : commands) {
    if (each->thread.joinable()) each->thread.join();
  }
  int& impossible = impossible_[kind_of(program, holds)];
  if (out == Schedule::kImpossible && impossible >= 0) ++impossible;
  if (out == Schedule::kHappened) impossible = kOncePossible;
  return out;
}

std::vector<std::vector<property::Hold>> PropertyTester::schedules_of(const Program& program) {
  property::Random random(seed_ + 1);
  auto out =
      property::schedules(calls_, request_.schedules.value_or(test_.property->schedules), &random);
  std::erase_if(out, [&](const std::vector<property::Hold>& holds) {
    const auto found = impossible_.find(kind_of(program, holds));
    return found != impossible_.end() && found->second >= kMostImpossible;
  });
  return out;
}

void PropertyTester::learn_calls(const ExecutionRecord& record) {
  std::map<uint64_t, const RpcRecord*> by_id;
  for (const RpcRecord& rpc : record.rpcs) by_id.emplace(rpc.rpc, &rpc);
  const auto cause_of = [&](const RpcRecord& rpc) -> const RpcRecord* {
    const auto found = by_id.find(rpc.parent_rpc);
    return rpc.parent_rpc == 0 || found == by_id.end() ? nullptr : found->second;
  };
  const auto command_of = [&](const RpcRecord& rpc) {
    const RpcRecord* root = &rpc;
    while (const RpcRecord* cause = cause_of(*root)) root = cause;
    const auto client = root->caller == kTestService
                            ? clients_.client_of(static_cast<pid_t>(root->pid))
                            : std::nullopt;
    return std::find_if(seen_.begin(), seen_.end(), [&](const CommandSeen& each) {
      return each.client == client && root->issued_ns >= each.from_ns &&
             root->issued_ns <= each.to_ns;
    });
  };
  std::vector<const RpcRecord*> calls;
  for (const RpcRecord& rpc : record.rpcs) calls.push_back(&rpc);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const auto* a, const auto* b) { return a->issued_ns < b->issued_ns; });
  std::map<uint32_t, property::CommandCalls> by_command;
  for (const RpcRecord* rpc : calls) {
    // Answers over HTTP/2 cannot be held, nor is it known what calls are that nobody decrypts.
    if (rpc->caller == kTestService || rpc->is_sealed() || (rpc->flags & kRpcHttp2) != 0) continue;
    const auto command = command_of(*rpc);
    if (command == seen_.end()) continue;
    by_command[command->command].calls.push_back(
        {edge_of(*rpc), std::string(request_path(rpc->method, rpc->target)),
         !lint::is_read_only(*rpc)});
  }
  longest_ = {};
  for (const CommandSeen& each : seen_)
    longest_ = std::max(longest_, std::chrono::nanoseconds(each.to_ns - each.from_ns));
  calls_.assign(seen_.empty() ? 0 : seen_.back().block + 1, {});
  for (const CommandSeen& each : seen_) {
    property::CommandCalls& of = by_command[each.command];
    of.command = each.command;
    calls_[each.block].push_back(of);
  }
}

Result<void> PropertyTester::judge_history(ExecutedProgram* out) {
  std::stable_sort(history_.calls.begin(), history_.calls.end(),
                   [](const Call& a, const Call& b) { return a.call < b.call; });
  property::CheckOptions options;
  options.bytes = kJudgingBytes;
  options.deadline = std::chrono::steady_clock::now() + kJudgingLimit;
  const auto checked = property::check_history(history_, model_->object(), options);
  if (!checked) return checked.error();
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
