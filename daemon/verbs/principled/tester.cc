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

using principled::Block;
using principled::BlockResult;
using principled::Diagnostic;
using principled::DiagnosticKind;
using principled::FaultedCall;
using principled::Instruction;
using Json = nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kBlockLimit{60000};
constexpr size_t kMostAhead = 20;  // executions to know which statements can be offered
constexpr char kHappyPath[] = "without faults";

std::vector<principled::DependencyCall> dependency_calls(const Observed& observed) {
  std::vector<principled::DependencyCall> out;
  for (const ObservedCall& each : observed.calls) out.push_back(each.call);
  return out;
}

std::string blamed(const BlockResult& result) {
  return result.message.empty() ? "it failed" : result.message;
}

}  // namespace

PrincipledTester::PrincipledTester(SessionContext* session, Lane* lane, const TestConfig& test,
                                   principled::BlockChannel* channel, Options options)
    : session_(*session),
      lane_(*lane),
      test_(test),
      channel_(*channel),
      options_(options),
      config_(session->config) {}

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
  if (auto prepared = prepare(); !prepared) return prepared;
  if (stopped_) return {};
  out->form = program_->form();
  open_.push_back({});
  known_.insert({});
  bool failed = false;
  while (next_ < open_.size() && (!failed || options_.keep_going)) {
    const uint64_t most = config_.bounds.max_executions;
    if (most != 0 && out->judged() >= most) break;
    if (session_.deadline && std::chrono::steady_clock::now() >= *session_.deadline) break;
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
  out->left = open_.size() - next_;
  out->finished = !stopped_ && out->left == 0 && !failed;
  if (out->finished) check_statements();
  if (in_runner_ != nullptr) {
    std::string text;
    for (const Diagnostic& each : out->diagnostics)
      text +=
          (text.empty() ? "" : "\n") + std::string(diagnostic_name(each.kind)) + ": " + each.text;
    tell_event({{"do", "finish"}, {"passed", out->passed()}, {"text", text}});
    in_runner_->finish(out->diagnostics.empty(), text);
  } else {
    tell_event({{"do", "finish"}, {"passed", out->passed()}, {"text", ""}});
  }
  return {};
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
  for (const ServiceEnd& ended : result->ended) {
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

std::optional<BlockResult> PrincipledTester::run_block(const Instruction& what, Run* run) {
  if (!run->gone.empty()) return std::nullopt;
  BlockTime time{what.block, clock_ns(), 0};
  auto result = program_->run(what);
  time.end_ns = clock_ns();
  run->times.push_back(time);
  PrincipledBlock row;
  row.name = block_name(what.block);
  row.seconds = static_cast<double>(time.end_ns - time.begin_ns) / 1e9;
  if (!result) {
    run->gone = result.error().message;
    row.passed = false;
    run->row.blocks.push_back(std::move(row));
    fail(run, {DiagnosticKind::kProgramEnded,
               "the block '" + std::string(block_name(what.block)) +
                   "' was not run to its end: " + run->gone,
               "",
               runner_->output(),
               run->row.faults,
               {}});
    return std::nullopt;
  }
  row.passed = result->passed;
  run->row.blocks.push_back(std::move(row));
  return std::move(result).value();
}

void PrincipledTester::fail(Run* run, Diagnostic diagnostic) {
  // The first one says what is wrong; those behind it may follow from it.
  if (!run->row.diagnostic) run->row.diagnostic = std::move(diagnostic);
}

principled::Statements::Readers PrincipledTester::readers() const {
  principled::Statements::Readers out;
  out.stub = [this](const std::string& service, const Json& stub) -> Result<stubs::Stub> {
    const auto found =
        std::find_if(config_.services.begin(), config_.services.end(),
                     [&](const ServiceConfig& each) { return each.name == service; });
    if (found == config_.services.end())
      return Error{"the configuration has no service '" + service + "'"};
    if (!found->is_virtual)
      return Error{
          "service '" + service +
          "' has a process; a stub stands for a service that is declared with \"stubs\": [] and without a command"};
    return parse_stub(stub, service, found->protocol == Protocol::kRedis);
  };
  out.key = [descriptors = session_.descriptors->get()](principled::Key* key) -> Result<void> {
    if (key->call.kind != stubs::Kind::kGrpc || !descriptors->names_service(key->call.path))
      return {};
    if (auto known = descriptors->question(key->call.path, "{}"); !known) return known.error();
    if (!key->call.has_whole) return {};
    // As a request is shown: what is not named has its default.
    auto whole = descriptors->request_of(key->call.path, key->call.whole.dump());
    if (!whole) return Error{"'request' " + whole.error().message};
    key->call.whole = Json::parse(whole.value());
    return {};
  };
  return out;
}

bool PrincipledTester::state(const BlockResult& result, Block block, Run* run) {
  std::vector<Diagnostic> problems = run->statements.read(block, result.calls, readers());
  if (!problems.empty()) fail(run, std::move(problems.front()));
  return problems.empty();
}

bool PrincipledTester::install_stubs(Run* run) {
  VirtualServices* const services = lane_.services().virtual_services();
  if (services == nullptr) return true;
  std::map<std::string, std::vector<stubs::Stub>> of_test;
  for (const principled::StubStatement& each : run->statements.stubs)
    of_test[each.service].push_back(each.stub);
  const std::vector<std::string> problems = services->add_stubs(of_test);
  if (!problems.empty()) {
    fail(run, {DiagnosticKind::kNotUnderstood, problems.front(), "", "", {}, {}});
    return false;
  }
  return true;
}

void PrincipledTester::run_blocks(Run* run, ExecutionResult* result) {
  const auto passes = [&](Block block) {
    const auto ran = run_block({block}, run);
    if (!ran) return false;
    if (!state(*ran, block, run)) return false;
    if (ran->passed) return true;
    fail(run, {DiagnosticKind::kBlockFailed,
               "the block '" + std::string(block_name(block)) + "' failed: " + blamed(*ran),
               ran->at,
               ran->trace,
               run->row.faults,
               {}});
    return false;
  };
  const auto blocks = [&] {
    if (!passes(Block::kSetup) || !passes(Block::kStub) || !install_stubs(run) ||
        !passes(Block::kFailure))
      return;
    if (auto found = principled::contradiction(run->statements))
      return fail(run, std::move(*found));
    lane_.hub().wait_quiescent(config_.bounds.quiesce_timeout);
    if (VirtualServices* const services = lane_.services().virtual_services()) services->begin();
    channel_.take_intervals();
    const auto executed = run_block({Block::kExecute}, run);
    if (!executed || !state(*executed, Block::kExecute, run)) return;
    lane_.hub().wait_quiescent(config_.bounds.quiesce_timeout);
    look(run);
    if (executed->outcome) run->observed.outcome = *executed->outcome;
    run->row.outcome = run->observed.outcome;
    if (commands_ != nullptr) commands_->set_outcome(run->observed.outcome);
    if (run->ahead) return learn_assertions(run);
    const bool holds = run->set->faults.empty() ? judge_happy_path(*executed, run)
                                                : judge_under_faults(*executed, run);
    if (holds) judge_counts(run);
  };
  blocks();
  // What was set up is torn down, whatever came between.
  passes(Block::kTeardown);
  result->exit = ExitStatus{};
  result->stopped = is_readable(lane_.place().wake_fd);
}

void PrincipledTester::look(Run* run) {
  ExecutionRecord record = lane_.hub().snapshot(StackLines::kOfAll);
  session_.descriptors->get()->read_arguments(&record);
  std::vector<stubs::CallNote> notes;
  if (VirtualServices* const services = lane_.services().virtual_services())
    notes = services->calls();
  run->intervals = channel_.take_intervals();
  run->observed = observe_execute({config_, record, notes, run->times.back(), run->intervals});
  for (const stubs::CallNote& note : notes) {
    if (!note.stub) {
      const Json key =
          principled::key_json({note.call, ""}, {!note.call.arguments.is_null(), false});
      fail(run, {DiagnosticKind::kCallWithoutStub,
                 note.problem,
                 "",
                 "",
                 run->row.faults,
                 {{"a stub for this call",
                   principled::Snippets(program_->form()).stub(note.call.service, key)}}});
      continue;
    }
    // As VirtualServices has them: those of the configuration, then those of the test.
    size_t number = *note.stub;
    for (const ServiceConfig& service : config_.services) {
      if (service.name != note.call.service) continue;
      if (number < service.stubs.size()) {
        called_stubs_.insert(service.stubs[number].name);
        break;
      }
      number -= service.stubs.size();
      for (const principled::StubStatement& each : run->statements.stubs) {
        if (each.service != service.name || number-- != 0) continue;
        called_stubs_.insert(each.stub.name);
        break;
      }
    }
  }
  cover(*run);
}

bool PrincipledTester::judge_calls(Run* run) {
  const Observed& seen = run->observed;
  if (!seen.left_the_lane.empty() && lane_.services().virtual_services() != nullptr) {
    fail(run, {DiagnosticKind::kLeftTheLane,
               seen.left_the_lane.front() +
                   " goes to an address that is no service of the configuration",
               "",
               "",
               run->row.faults,
               {}});
  }
  for (const ObservedCall& call : seen.calls) {
    if (!call.failed || call.call.faulted) continue;
    const bool unimplemented = call.ending.starts_with("UNIMPLEMENTED") || call.ending == "501";
    fail(run, {unimplemented ? DiagnosticKind::kUnimplemented : DiagnosticKind::kDependencyFailed,
               principled::method_text(call.call.call) + " of '" + call.call.call.service +
                   "' ended with " + call.ending + ", and no fault was injected there",
               "",
               "",
               run->row.faults,
               {}});
  }
  return !run->row.diagnostic;
}

bool PrincipledTester::judge_happy_path(const BlockResult& executed, Run* run) {
  for (const principled::Specification& each : run->statements.specifications)
    stated_[to_text(each)] = each.at;
  for (const principled::ExceptionAssertions& each : run->statements.on_exceptions)
    stated_["assert_on_exception of " + each.code + " (" + each.at + ")"] = each.at;
  for (const principled::StubStatement& each : run->statements.stubs)
    stub_names_.emplace_back(each.stub.name, each.at);
  if (!judge_calls(run)) return false;
  const Observed& seen = run->observed;
  if (!executed.passed || seen.outcome.thrown) {
    std::string text = "without any fault, the block 'execute' ";
    text += seen.outcome.thrown ? "is answered " + to_text(seen.outcome)
                                : "failed: " + blamed(executed);
    fail(run, {DiagnosticKind::kBlockFailed, text, executed.at, executed.trace, {}, {}});
    return false;
  }
  if (!seen.has_entry || seen.calls.empty()) {
    fail(run, {DiagnosticKind::kNothingCalled,
               seen.has_entry ? "'" + seen.service + "' called no dependency in the block 'execute'"
                              : "the block 'execute' called no service of the configuration",
               "",
               "",
               {},
               {}});
    return false;
  }
  out_->service = seen.service;
  const auto asserted = run_block({Block::kAssertTest}, run);
  if (!asserted || !state(*asserted, Block::kAssertTest, run)) return false;
  if (!asserted->passed) {
    fail(run, {DiagnosticKind::kBlockFailed,
               "without any fault, the block 'assert_test' failed: " + blamed(*asserted),
               asserted->at,
               asserted->trace,
               {},
               {}});
  }
  return asserted->passed;
}

bool PrincipledTester::judge_under_faults(const BlockResult& executed, Run* run) {
  size_t injected = 0;
  for (const ObservedCall& call : run->observed.calls) injected += call.call.faulted ? 1 : 0;
  if (injected != run->set->faults.size()) {
    fail(
        run,
        {DiagnosticKind::kFaultNotInjected,
         "of the planned faults (" + to_text(run->row.faults) + "), " + std::to_string(injected) +
             " came: the service does not make the same calls each time, or what they carry varies (see `nondeterminism`)",
         "",
         "",
         run->row.faults,
         {}});
    return false;
  }
  if (!judge_calls(run)) return false;
  const principled::Thrown& outcome = run->observed.outcome;
  if (!executed.passed && !outcome.thrown) {
    fail(run, {DiagnosticKind::kBlockFailed,
               "the block 'execute' failed, although the service answered with a success: " +
                   blamed(executed),
               executed.at,
               executed.trace,
               run->row.faults,
               {}});
    return false;
  }
  const principled::Ruling ruling = rule(run->statements, run->row.faults, outcome);
  for (const size_t each : ruling.matched)
    matched_.insert(to_text(run->statements.specifications[each]));
  if (ruling.diagnostic) {
    // What to offer depends on whether the assertions of the test still hold.
    if (!outcome.thrown) learn_assertions(run);
    fail(run, *ruling.diagnostic);
    return false;
  }
  for (const principled::Step& step : ruling.steps) {
    const auto ran = run_block(step.run, run);
    if (!ran || !state(*ran, step.run.block, run)) return false;
    if (step.run.block == Block::kOnException) {
      for (const principled::ExceptionAssertions& each : run->statements.on_exceptions) {
        if (each.block == step.run.specification)
          matched_.insert("assert_on_exception of " + each.code + " (" + each.at + ")");
      }
    }
    if (ran->passed) {
      run->assertions_hold |= step.run.block == Block::kAssertTest;
      continue;
    }
    fail(run, {step.if_it_fails,
               "under " + run->row.name + " the block '" + std::string(block_name(step.run.block)) +
                   "' failed: " + blamed(*ran),
               ran->at,
               ran->trace,
               run->row.faults,
               {}});
    return false;
  }
  return true;
}

void PrincipledTester::learn_assertions(Run* run) {
  if (run->observed.outcome.thrown) return;
  const auto asserted = run_block({Block::kAssertTest}, run);
  run->assertions_hold = asserted && asserted->passed;
}

bool PrincipledTester::judge_counts(Run* run) {
  const auto ran = run_block({Block::kAssertStubs}, run);
  if (!ran || !state(*ran, Block::kAssertStubs, run)) return false;
  if (!ran->passed) {
    fail(run, {run->set->faults.empty() ? DiagnosticKind::kBlockFailed
                                        : DiagnosticKind::kStubsDidNotHold,
               "the block 'assert_stubs' failed: " + blamed(*ran),
               ran->at,
               ran->trace,
               run->row.faults,
               {}});
    return false;
  }
  principled::Statements all = run->statements;
  for (const ServiceConfig& service : config_.services) {
    for (const stubs::Stub& stub : service.stubs) all.stubs.push_back({service.name, stub, ""});
  }
  const std::vector<principled::DependencyCall> calls = dependency_calls(run->observed);
  if (auto uncovered = principled::uncovered_stub(all)) {
    const principled::Snippets snippets(program_->form());
    std::map<std::string, std::pair<Json, uint64_t>> counts;
    for (const principled::DependencyCall& call : calls) {
      const bool is_counted = std::any_of(
          all.counts.begin(), all.counts.end(),
          [&](const principled::Count& each) { return names_call(each.key, call.call); });
      if (is_counted) continue;
      auto& count = counts[principled::method_text(call.call)];
      count.first = principled::key_json({call.call, ""}, {});
      ++count.second;
    }
    for (const auto& [method, count] : counts)
      uncovered->remedies.push_back({"calls of " + method + " in this execution",
                                     snippets.verify(count.first, count.second)});
    fail(run, std::move(*uncovered));
    return false;
  }
  auto wrong = principled::wrong_count({run->statements, calls,
                                        run->set->faults.empty() ? nullptr : &run->set->before,
                                        run->row.faults, run->observed.outcome.thrown});
  if (wrong) fail(run, std::move(*wrong));
  return !wrong;
}

// The same faults, and one more at a call that comes behind them.
void PrincipledTester::extend(const Set& set, const Run& run) {
  const std::vector<ObservedCall>& calls = run.observed.calls;
  size_t from = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].call.faulted) from = i + 1;
  }
  const uint32_t most = config_.bounds.max_faults;
  if (most != 0 && set.faults.size() >= most) return;
  for (size_t i = from; i < calls.size(); ++i) {
    if (!calls[i].left_out.empty()) {
      const std::string note =
          principled::method_text(calls[i].call.call) + " gets no fault: " + calls[i].left_out;
      if (std::find(out_->notes.begin(), out_->notes.end(), note) == out_->notes.end())
        out_->notes.push_back(note);
    }
    for (const FaultSpec& fault : calls[i].faults) {
      Set next{set.faults, dependency_calls(run.observed)};
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
  context.calls = dependency_calls(run->observed);
  context.before = run->set->before;
  if (run->row.faults.size() == 1) {
    outcomes_.push_back({run->row.faults.front(), run->observed.outcome, run->assertions_hold});
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
      if (++ahead > kMostAhead) {
        out_->notes.push_back("of the faults of " + method + ", " + std::to_string(kMostAhead) +
                              " were run ahead to know what can be offered, and not the others");
        break;
      }
      const Set set{{single}, {}};
      auto tried = execute(set, Kind::kAhead);
      if (!tried) return tried.error();
      if (stopped_ || !tried->gone.empty()) break;
      outcomes_.push_back({single.fault, tried->observed.outcome, tried->assertions_hold});
      out_->executions.push_back(std::move(tried->row));
    }
  }
  context.singles = outcomes_;
  coach(context, &diagnostic);
  return {};
}

Result<void> PrincipledTester::end(Run run) {
  if (run.row.faults.size() == 1 && !run.row.diagnostic)
    outcomes_.push_back({run.row.faults.front(), run.observed.outcome, run.assertions_hold});
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

void PrincipledTester::cover(const Run& run) {
  if (run.ahead) return;
  const std::string outcome =
      run.observed.outcome.thrown ? run.observed.outcome.code : std::string("a success");
  for (CoveredMethod& method : out_->methods) {
    if (method.service != run.observed.service || method.method != run.observed.method) continue;
    ++method.executions;
    if (std::find(method.outcomes.begin(), method.outcomes.end(), outcome) == method.outcomes.end())
      method.outcomes.push_back(outcome);
    return;
  }
  if (run.observed.has_entry)
    out_->methods.push_back({run.observed.service, run.observed.method, 1, {outcome}});
}

void PrincipledTester::read_blocks(const ExecutionRecord& record, Run* run) const {
  const RpcsById rpcs = rpcs_by_id(record);
  for (const RpcRecord& rpc : record.rpcs) {
    const RpcRecord* const root = root_of(rpcs, rpc);
    const uint64_t began = root == nullptr ? rpc.issued_ns : root->issued_ns;
    for (size_t i = 0; i < run->times.size(); ++i) {
      if (began < run->times[i].begin_ns || began > run->times[i].end_ns) continue;
      PrincipledBlock::Row row;
      row.call = describe_rpc(rpc);
      row.ending = ending_name(rpc);
      row.fault = rpc.injected ? to_text(rpc.fault) : "";
      row.arguments = rpc.arguments;
      for (const principled::Interval& each : run->intervals) {
        if (began >= each.begin_ns && (each.end_ns == 0 || began <= each.end_ns))
          row.group = each.group.empty() ? "no faults injected" : each.group;
      }
      for (auto above = rpcs.find(rpc.parent_rpc); above != rpcs.end() && row.depth < 64;
           above = rpcs.find(above->second->parent_rpc))
        ++row.depth;
      run->row.blocks[i].calls.push_back(std::move(row));
      break;
    }
  }
}

}  // namespace filibuster
