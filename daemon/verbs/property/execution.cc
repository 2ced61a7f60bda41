// The execution of one program: faults are armed between its commands, which go to the client one after the other. (blocks.cc: to several clients.)
#include <algorithm>
#include <thread>

#include "core/protocol/lane_memory.h"
#include "daemon/base/descriptors.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/property/history.h"
#include "daemon/verbs/property/tester.h"

namespace filibuster {

using Json = nlohmann::json;
using property::Item;
using property::json_text;
using property::Program;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBackgroundLimit{2000};  // for a call that comes by itself
constexpr milliseconds kEndLimit{100};          // for a service to end by the fault of such a call
constexpr milliseconds kLookAgain{1};

// A request that waits gets a fault, which has to be one of an answer: it makes no difference to its caller.
const FaultSpec kHeld = [] {
  FaultSpec out;
  out.kind = FaultKind::kLatency;
  out.latency_ms = 1;
  return out;
}();

bool is_held(const Program& program, const RpcRecord& rpc) {
  return rpc.fault == kHeld &&
         std::any_of(program.holds.begin(), program.holds.end(), [&](const property::Hold& hold) {
           return hold.edge.service == rpc.service && hold.edge.method == rpc.method;
         });
}

}  // namespace

Result<ExecutedProgram> PropertyTester::execute(const Program& program) {
  ExecutedProgram out;
  out.number = session_.counters.next_execution++;
  std::vector<PlannedRpcFault> plan;
  for (const Item& item : program.items) {
    if (!item.is_fault()) continue;
    const property::ArmableFault& fault = out_->faults[*item.fault];
    PlannedRpcFault row;
    row.fault = fault.fault;
    row.service = fault.edge.service;
    row.edge = fault.edge;
    plan.push_back(std::move(row));
  }
  for (const property::Hold& hold : program.holds) {
    PlannedRpcFault row;
    row.fault = kHeld;
    row.holds = true;
    row.service = hold.edge.service;
    row.edge = hold.edge;
    plan.push_back(std::move(row));
  }
  auto result = runner_->run_body(out.number, plan, [&](ExecutionResult* of) -> Result<void> {
    auto ran = in_blocks_ ? run_blocks(program, &out) : run_items(program, &out);
    broken_ = ran ? "" : ran.error().message;
    of->stopped = is_readable(lane_.place().wake_fd);
    if (ran && !of->stopped) wait_for_background(program);
    of->exit = ExitStatus{};
    return {};
  });
  if (!result) return result.error();
  stopped_ |= result->stopped || is_readable(lane_.place().wake_fd);
  read_record(result.value(), program, &out);
  if (learns_) look_at_calls(result->record);
  if (learns_calls_) learn_calls(result->record);
  if (session_.on_record) session_.on_record(&result->record);
  // A service that dies violates the property, whatever else was seen: that follows from it.
  const std::vector<ServiceEnd> ended =
      stopped_ ? std::vector<ServiceEnd>() : take_ended(*result.operator->());
  if (!ended.empty()) {
    const ServiceEnd& first = ended.front();
    out.violation = Violation{"died:" + first.name, "service '" + first.name + "' " + first.how()};
    out.output = first.output;
  } else if (!broken_.empty() && !stopped_) {
    return Error{broken_};
  }
  if (in_blocks_ && !out.violation && !stopped_) {
    if (auto judged = judge_history(&out); !judged) return judged.error();
  }
  return out;
}

// A fault that stands last in its program, and that a call gets which comes by itself, would come too late otherwise.
void PropertyTester::wait_for_background(const Program& program) {
  const auto began = lane_.hub().patient_now();
  size_t row = 0;
  for (const Item& item : program.items) {
    if (!item.is_fault()) continue;
    const size_t number = row++;
    if (!out_->faults[*item.fault].is_background || item.lasts > 0) continue;
    while (lane_.hub().is_waiting(number) && lane_.hub().patient_now() - began < kBackgroundLimit)
      std::this_thread::sleep_for(kLookAgain);
  }
}

// Services that ended, also those that are about to: one whose background call got the last fault of the program has had no time yet. The
// call may have begun before the fault was armed. On a busy machine the service gets more time.
std::vector<ServiceEnd> PropertyTester::take_ended(const ExecutionResult& result) {
  if (!result.ended.empty() || begun_ns_.empty()) return result.ended;
  const bool may_end =
      std::any_of(result.record.rpcs.begin(), result.record.rpcs.end(), [&](const RpcRecord& rpc) {
        return rpc.injected && rpc.cause == Cause::kNone &&
               (rpc.finished_ns == 0 || rpc.finished_ns >= begun_ns_.back());
      });
  std::vector<ServiceEnd> out;
  const auto began = lane_.hub().patient_now();
  while (may_end && out.empty() && lane_.hub().patient_now() - began < kEndLimit) {
    std::this_thread::sleep_for(kLookAgain);
    out = lane_.services().take_ended({});
  }
  return out;
}

Result<void> PropertyTester::run_items(const Program& program, ExecutedProgram* out) {
  if (auto done = clients_.reset(); !done) return done;
  auto state = model_->initial();
  if (!state) return state.error();
  state_ = std::move(state).value();
  answers_.clear();
  begun_ns_.clear();
  goes_on_ = true;
  lasting_.clear();
  size_t row = 0;
  for (size_t at = 0; at < program.items.size() && goes_on_; ++at) {
    const Item& item = program.items[at];
    begun_ns_.push_back(clock_ns());
    disarm(at);
    if (item.is_fault()) {
      arm(item, at, row++, out);
    } else if (auto ran = run_command(item, out); !ran) {
      return ran;
    }
  }
  return {};
}

void PropertyTester::arm(const Item& item, size_t at, size_t row, ExecutedProgram* out) {
  lane_.hub().arm(row, item.lasts > 0 ? kEachCall : item.occurrence);
  if (item.lasts > 0) lasting_.emplace_back(row, at + item.lasts);
  ExecutedItem executed;
  executed.item = item;
  executed.outcome = "armed";
  out->items.push_back(std::move(executed));
}

void PropertyTester::disarm(size_t at) {
  std::erase_if(lasting_, [&](const auto& each) {
    if (each.second >= at) return false;
    lane_.hub().arm(each.first, 0);
    return true;
  });
}

Result<void> PropertyTester::run_command(const Item& item, ExecutedProgram* out) {
  ExecutedItem executed;
  executed.item = item;
  if (answers_.size() <= item.number) answers_.resize(item.number + 1);
  const auto asked = property::with_results(item.value, answers_);
  if (!asked) {
    // The command whose answer it needs failed.
    executed.outcome = "left out";
    executed.reason = "the command whose answer it needs has none";
    out->items.push_back(std::move(executed));
    return {};
  }
  executed.asked = *asked;
  auto answer = clients_.ask(0, "0", item.f, *asked);
  if (!answer) return answer.error();
  executed.outcome = outcome_name(answer->outcome);
  executed.answered = answer->answer;
  executed.reason = answer->reason;
  if (answer->outcome == property::Outcome::kOk) {
    auto step = model_->step(state_, item.f, *asked, executed.answered);
    if (!step) return step.error();
    if (step->impossible || (step->answer && *step->answer != executed.answered)) {
      executed.expected = step->answer;
      out->violation =
          Violation{"answer:" + item.f,
                    item.f + (asked->is_null() ? "" : " " + json_text(*asked)) + " was answered " +
                        json_text(executed.answered) +
                        (step->impossible ? ", which the model does not allow: " + *step->impossible
                                          : ", and the model says " + json_text(*step->answer))};
      goes_on_ = false;
    } else {
      if (auto counted = count_labels(executed, state_); !counted) return counted;
      state_ = std::move(step->state);
      answers_[item.number] = executed.answered;
    }
  } else if (answer->outcome == property::Outcome::kInfo && !model_->only_reads(item.f)) {
    // A read has changed nothing, whatever became of it. Behind another command nobody knows the state, and one client does one thing after
    // the other.
    goes_on_ = false;
    if (!request_.info_ends)
      out->violation =
          Violation{"info:" + item.f, "nobody knows the outcome of " + item.f +
                                          (asked->is_null() ? "" : " " + json_text(*asked)) + ": " +
                                          executed.reason};
  }
  if (counts_) ++out_->commands[item.f + " " + executed.outcome];
  out->items.push_back(std::move(executed));
  return {};
}

Result<void> PropertyTester::count_labels(const ExecutedItem& executed, const Json& state) {
  if (!counts_) return {};
  const auto labels = model_->labels(state, executed.item.f, executed.asked, executed.answered);
  if (!labels) return labels.error();
  for (const std::string& each : labels.value()) ++out_->labels[each];
  return {};
}

void PropertyTester::read_record(const ExecutionResult& result, const Program& program,
                                 ExecutedProgram* out) {
  for (const RpcRecord& rpc : result.record.rpcs) {
    if (!rpc.injected && rpc.answered())
      seen_answers_.insert(
          answer_key(rpc.service, rpc.is_grpc(), rpc.is_grpc() ? rpc.grpc_status : rpc.status));
    if (!rpc.injected || is_held(program, rpc)) continue;
    const auto behind = std::upper_bound(begun_ns_.begin(), begun_ns_.end(), rpc.issued_ns);
    if (behind == begun_ns_.begin()) continue;
    const auto at = static_cast<size_t>(behind - begun_ns_.begin()) - 1;
    if (at < out->items.size()) out->items[at].injected.push_back(injected_text(rpc));
  }
  const std::string of_hold = to_text(kHeld);
  for (const auto& each : result.record.not_injected) {
    if (!each.text.starts_with(of_hold))
      out->not_fired.push_back(each.text.substr(0, each.text.find(": ")));
  }
  if (!counts_) return;
  ++out_->executions;
  ++out_->schedules[out->schedule];
  for (const ExecutedItem& item : out->items) {
    for (const std::string& each : item.injected) ++out_->fired[each];
  }
  for (const std::string& each : out->not_fired) ++out_->not_fired[each];
}

}  // namespace filibuster
