#include "daemon/verbs/principled/tester.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/base/descriptors.h"
#include "daemon/model/call_name.h"
#include "daemon/model/environment_error.h"
#include "daemon/observe/observation.h"
#include "daemon/principled/snippets.h"
#include "daemon/redact/redact.h"

namespace filibuster {

using principled::Diagnostic;
using principled::DiagnosticKind;
using Json = nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBlockLimit{60000};
constexpr size_t kMostAhead = 20;  // executions to know which statements can be offered
constexpr char kHappyPath[] = "without faults";

}  // namespace

PrincipledTester::PrincipledTester(SessionContext* session, Lane* lane, const TestConfig& test,
                                   principled::BlockChannel* channel, Options options)
    : session_(*session),
      lane_(*lane),
      test_(test),
      channel_(*channel),
      options_(options),
      config_(session->config),
      methods_(options_.operations) {}

PrincipledTester::~PrincipledTester() = default;

Result<void> PrincipledTester::prepare() {
  auto runner = ExecutionRunner::create(config_, test_, lane_.place(), &lane_.hub(),
                                        &lane_.services(), &lane_.owned());
  if (!runner) return runner.error();
  runner_ = std::make_unique<ExecutionRunner>(std::move(runner).value());
  auto masks = compile_masks(config_.nondeterminism);
  if (!masks) return masks.error();
  lane_.hub().set_masks(*masks.value());
  lane_.hub().set_hang_limit(hang_limit_of(config_.bounds, 0));
  const ProgramPlace place{
      test_, config_, &lane_, runner_.get(),
      test_.timeout.value_or(config_.bounds.test_timeout.value_or(kBlockLimit))};
  if (!test_.principled->in_program) {
    auto made = std::make_unique<CommandProgram>(place);
    commands_ = made.get();
    program_ = std::move(made);
    return {};
  }
  auto started = RunnerProgram::start(place, &channel_);
  if (!started) {
    stopped_ = is_readable(lane_.place().wake_fd);
    return stopped_ ? Result<void>() : Result<void>(started.error());
  }
  in_runner_ = started->get();
  program_ = std::move(started).value();
  return {};
}

Result<void> PrincipledTester::run(PrincipledTest* out) {
  out_ = out;
  out->test = test_.name;
  for (const std::string& obstacle : lane_.obstacles()) out->notes.push_back(obstacle);
  if (is_time_over()) {
    out->time_over = true;
    tell_finish();
    return {};
  }
  if (auto prepared = prepare(); !prepared) return prepared;
  if (stopped_) return {};
  out->form = program_->form();
  open_.push_back({});
  known_.insert({});
  bool failed = false;
  while (next_ < open_.size() && (!failed || options_.keep_going)) {
    const uint64_t most = config_.bounds.max_executions;
    if (most != 0 && out->judged() >= most) break;
    if (is_time_over()) {
      out->time_over = true;
      break;
    }
    const Set set = open_[next_++];
    auto run = execute(set, Kind::kListed);
    if (!run) return run.error();
    if (stopped_) break;
    const bool holds = !run->row.diagnostic;
    if (holds) {
      extend(set, run.value());
    } else if (auto advised = advise(&run.value()); !advised) {
      return advised;
    }
    const std::string gone = run->gone;
    if (auto ended = end(std::move(run).value()); !ended) return ended;
    failed |= !holds;
    // Without a happy path there is nothing to compare with, and without a program nobody runs the blocks.
    if (!holds && (set.faults.empty() || !gone.empty())) break;
  }
  std::stable_sort(out->executions.begin(), out->executions.end(),
                   [](const auto& a, const auto& b) { return a.number < b.number; });
  out->left = open_.size() - next_;
  out->methods = methods_.all(*session_.descriptors->get());
  out->finished = !stopped_ && out->left == 0 && !failed;
  if (out->finished && !bounded_) check_statements();
  tell_finish();
  return {};
}

bool PrincipledTester::is_time_over() const {
  return session_.deadline && std::chrono::steady_clock::now() >= *session_.deadline;
}

void PrincipledTester::tell_finish() {
  std::string text = out_->not_begun();
  for (const Diagnostic& each : out_->diagnostics) {
    if (commands_ == nullptr)
      text +=
          (text.empty() ? "" : "\n") + std::string(diagnostic_name(each.kind)) + ": " + each.text;
  }
  const bool passed = out_->passed() && !out_->time_over;
  tell_event({{"do", "finish"}, {"passed", passed}, {"text", text}});
  if (in_runner_ != nullptr)
    in_runner_->finish(out_->diagnostics.empty() && !out_->time_over, text);
}

Result<PrincipledTester::Run> PrincipledTester::execute(const Set& set, Kind kind) {
  Run run;
  run.set = &set;
  run.ahead = run.row.ahead = kind == Kind::kAhead;
  run.row.number = session_.counters.next_execution++;
  std::vector<PlannedRpcFault> plan;
  for (const Planned& planned : set.faults) {
    plan.push_back(plan_fault(planned.fault.rpc, planned.spec));
    run.row.faults.push_back(planned.fault);
  }
  run.row.name = set.faults.empty() ? kHappyPath : to_text(run.row.faults);
  if (!run.ahead) {
    // Calls of one method, with other arguments.
    const int alike = ++names_[run.row.name];
    if (alike > 1) run.row.name += " (" + std::to_string(alike) + ")";
  }
  if (session_.tries) session_.tries(run.row.name);
  if (!run.ahead) {
    tell_event({{"do", "begin"}, {"execution", run.row.number}, {"name", run.row.name}});
    if (auto begun = program_->begin(run.row.number, run.row.name); !begun) {
      run.gone = begun.error().message;
      fail(&run, {DiagnosticKind::kProgramEnded,
                  "the program does not begin an execution: " + run.gone,
                  "",
                  "",
                  {},
                  {}});
      return run;
    }
  }
  auto result = runner_->run_body(run.row.number, plan, [&](ExecutionResult* of) {
    run_blocks(&run, of);
    return Result<void>();
  });
  if (!result) return result.error();
  stopped_ |= result->stopped || is_readable(lane_.place().wake_fd);
  run.row.seconds = result->seconds;
  if (session_.on_record) session_.on_record(&result->record);
  if (!result->ended.empty()) {
    // Whatever else was seen follows from that.
    const ServiceEnd& ended = result->ended.front();
    run.row.diagnostic.reset();
    fail(&run, {DiagnosticKind::kBlockFailed,
                "service '" + ended.name + "' " + ended.how() + "\n" + ended.output,
                "",
                "",
                run.row.faults,
                {}});
  }
  read_blocks(result->record, &run);
  return run;
}

// The same faults, and one more at a call that comes behind them.
void PrincipledTester::extend(const Set& set, const Run& run) {
  const std::vector<ObservedCall>& calls = run.observed.calls;
  size_t from = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].call.faulted) from = i + 1;
  }
  const uint32_t most = config_.bounds.max_faults;
  if (most != 0 && set.faults.size() >= most) {
    // What is stated of larger sets was not tried.
    bounded_ |= std::any_of(calls.begin() + static_cast<std::ptrdiff_t>(from), calls.end(),
                            [](const ObservedCall& each) { return !each.faults.empty(); });
    return;
  }
  for (size_t i = from; i < calls.size(); ++i) {
    if (!calls[i].left_out.empty()) {
      const std::string note =
          principled::method_text(calls[i].call.call) + " gets no fault: " + calls[i].left_out;
      if (std::find(out_->notes.begin(), out_->notes.end(), note) == out_->notes.end())
        out_->notes.push_back(note);
    }
    for (const FaultSpec& fault : calls[i].faults) {
      Set next{set.faults, run.observed.dependency_calls()};
      next.faults.push_back({faulted_call(calls[i], fault), fault});
      std::set<std::pair<Hash128, std::string>> key;
      for (const Planned& each : next.faults)
        key.emplace(each.fault.rpc.index, each.fault.rpc.identity());
      if (!known_.insert(key).second) continue;
      if (next.faults.size() == 1) singles_.push_back(next.faults.front());
      open_.push_back(std::move(next));
    }
  }
  // Fewer faults come first; those with equally many in the order in which they were found.
  std::stable_sort(open_.begin() + static_cast<std::ptrdiff_t>(next_), open_.end(),
                   [](const Set& a, const Set& b) { return a.faults.size() < b.faults.size(); });
}

Result<void> PrincipledTester::advise(Run* run) {
  Diagnostic& diagnostic = *run->row.diagnostic;
  if (run->row.faults.empty() || !run->gone.empty()) return {};
  principled::CoachContext context;
  context.form = program_->form();
  context.outcome = run->observed.outcome;
  context.assertions_hold = run->assertions_hold;
  context.calls = run->observed.dependency_calls();
  context.before = run->set->before;
  context.declared_again = run->statements.declared_again;
  if (run->row.faults.size() == 1) {
    remember(*run);
    const std::string method = principled::method_text(run->row.faults.front().seen.call);
    size_t ahead = 0;
    for (const Planned& single : singles_) {
      if (principled::method_text(single.fault.seen.call) != method) continue;
      const bool is_known = std::any_of(
          outcomes_.begin(), outcomes_.end(), [&](const principled::SingleOutcome& each) {
            return each.fault.rpc.index == single.fault.rpc.index &&
                   each.fault.rpc.identity() == single.fault.rpc.identity();
          });
      if (is_known) continue;
      if (is_time_over()) {
        out_->notes.push_back("not all faults of " + method +
                              " were run ahead to know what can be offered: the time was over");
        break;
      }
      if (++ahead > kMostAhead) {
        out_->notes.push_back("of the faults of " + method + ", " + std::to_string(kMostAhead) +
                              " were run ahead to know what can be offered, and not the others");
        break;
      }
      const Set set{{single}, {}};
      auto tried = execute(set, Kind::kAhead);
      if (!tried) return tried.error();
      if (stopped_ || !tried->gone.empty()) break;
      remember(tried.value());
      out_->executions.push_back(std::move(tried->row));
    }
  }
  context.singles = outcomes_;
  coach(context, &diagnostic);
  return {};
}

// Of an execution with one fault. What was run ahead of it said the same, and is listed no more.
void PrincipledTester::remember(const Run& run) {
  const principled::FaultedCall& fault = run.row.faults.front();
  const auto is_same = [&](const principled::FaultedCall& other) {
    return other.rpc.index == fault.rpc.index && other.rpc.identity() == fault.rpc.identity();
  };
  std::erase_if(outcomes_, [&](const auto& each) { return is_same(each.fault); });
  outcomes_.push_back({fault, run.observed.outcome, run.assertions_hold});
  std::erase_if(out_->executions, [&](const PrincipledExecution& each) {
    return each.ahead && each.faults.size() == 1 && is_same(each.faults.front());
  });
}

Result<void> PrincipledTester::end(Run run) {
  if (run.row.faults.size() == 1 && !run.row.diagnostic) remember(run);
  principled::Program::End end{run.row.number, !run.row.diagnostic, "", ""};
  if (run.row.diagnostic) {
    end.kind = diagnostic_name(run.row.diagnostic->kind);
    end.text = diagnostic_text(*run.row.diagnostic);
  }
  tell_event({{"do", "end"},
              {"execution", end.execution},
              {"name", run.row.name},
              {"passed", end.passed},
              {"kind", end.kind},
              {"text", redact(end.text)}});
  out_->executions.push_back(std::move(run.row));
  if (!run.gone.empty()) {
    out_->error = run.gone;
    return {};
  }
  if (auto told = program_->end(end); !told) out_->error = told.error().message;
  return {};
}

void PrincipledTester::tell_event(Json event) const {
  event["type"] = "principled";
  event["test"] = test_.name;
  session_.sink(std::move(event));
}

void PrincipledTester::check_statements() {
  for (const auto& [text, at] : stated_) {
    if (matched_.contains(text)) continue;
    out_->diagnostics.push_back(
        {DiagnosticKind::kSpecificationNeverMatched,
         text + " was true of no execution: leave it out, or correct its key",
         at,
         "",
         {},
         {}});
  }
  for (const auto& [name, at] : stub_names_) {
    if (called_stubs_.contains(name)) continue;
    out_->diagnostics.push_back(
        {DiagnosticKind::kStubNeverCalled, name + " was called in no execution", at, "", {}, {}});
  }
}

}  // namespace filibuster
