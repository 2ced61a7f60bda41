// The executions of a test under faults: one sequence of outcomes at one call each.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fault/attempts.h"
#include "core/protocol/events.h"
#include "daemon/explore/observation.h"
#include "daemon/retries/policies.h"
#include "daemon/session/suite_tester.h"
#include "daemon/suite/runner.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// Above 5 s: many clients have a timeout of 5 s, which must fire before the silence ends.
constexpr milliseconds kAfterSilence{2000};  // for the calls that follow the end of a silence
constexpr int kMostSilences = 4;             // that a test may wait for beyond its own limit
constexpr uint32_t kMostTries = 3;           // of an execution that lost a race before its fault

// Which policies wait for an answer that does not come, at their first attempt.
bool begins_silent(const FaultSpec& fault) {
  const FaultSpec* first =
      fault.kind == FaultKind::kAttempts ? outcome_of(fault.attempts, 1) : &fault;
  return first != nullptr && first->kind == FaultKind::kTimeout;
}

// How long a test may wait for silences beyond a limit that nobody has chosen for it.
milliseconds time_for_silences(const Config& config, const TestConfig& test, const FaultSpec& fault,
                               milliseconds hang_limit) {
  if (test.timeout || config.bounds.test_timeout) return milliseconds(0);
  const auto& rules = fault.attempts.rules;
  const bool has_silence =
      begins_silent(fault) || std::any_of(rules.begin(), rules.end(), [](const AttemptRule& rule) {
        return rule.outcome.kind == FaultKind::kTimeout;
      });
  return has_silence ? kMostSilences * hang_limit : milliseconds(0);
}

// Do all attempts get a fault?
bool is_for_all(const FaultSpec& fault) {
  return fault.kind != FaultKind::kAttempts ||
         outcome_of(fault.attempts, kMaxAttemptNumber) != nullptr;
}

// Did a client give a call up before the fault that it does not give up without faults? On a busy machine a short timeout
// fires by itself, and what follows is not the fault's. A call that causes the faulted one ends after it, by the fault.
bool gave_up_before(const ExecutionRecord& record, Hash128 faulted,
                    const std::vector<Hash128>& given_up) {
  const auto first = std::ranges::find(record.rpcs, faulted, &RpcRecord::index);
  return std::any_of(record.rpcs.begin(), first, [&](const RpcRecord& rpc) {
    const bool is_over =
        first == record.rpcs.end() || (!rpc.open && rpc.finished_ns <= first->issued_ns);
    return is_over && !rpc.injected && was_given_up(rpc) &&
           std::ranges::find(given_up, rpc.index) == given_up.end();
  });
}

constexpr char kGaveUp[] =
    "clients gave other calls up before the fault (is the machine too busy for their timeouts?)";

// No race is lost where it stays away, but what is not there gets no fault.
constexpr char kDidNotCome[] = "the call, which comes in some executions only, did not come";

// The race that the execution has lost before its fault came: another execution of the same plan may win it. "": none, and
// whatever came of the execution counts.
std::string lost_race(const Attempt& attempt, Hash128 faulted, const SuiteTest& test,
                      bool sometimes) {
  if (sometimes && is_inconclusive(attempt.judgement.verdict) &&
      std::ranges::find(attempt.result.record.rpcs, faulted, &RpcRecord::index) ==
          attempt.result.record.rpcs.end())
    return kDidNotCome;
  if (gave_up_before(attempt.result.record, faulted, test.given_up)) return kGaveUp;
  if (is_inconclusive(attempt.judgement.verdict) &&
      attempt.judgement.cause == NoConclusion::kAnsweredEarly)
    return kAnsweredFirst;
  return "";
}

std::string seen_text(const RpcRecord& rpc) {
  if (rpc.injected) return to_text(rpc.fault);
  return rpc.was_error_already ? "pass (an error already)" : "pass";
}

bool calls_sometimes(const SuiteTest& test, const std::string& site) {
  const auto call = test.calls.find(site);
  return call != test.calls.end() && call->second.sometimes;
}

}  // namespace

Result<void> SuiteTester::prepare(const SuiteTest& test) {
  if (auto masked = mask(test.masks); !masked) return masked;
  // A request that leaves before its body is known by another index than the one that is planned.
  if (test.rpcs) lane_.hub().recall_rpcs(*test.rpcs);
  hang_limit_ = hang_limit_of(config_.bounds, test.row.seconds);
  lane_.hub().set_hang_limit(hang_limit_);
  config_.bounds.quiesce_timeout =
      std::max(config_.bounds.quiesce_timeout, hang_limit_ + kAfterSilence);
  if (auto made = make_run(); !made) return made;
  run_->set_reference_seconds(test.row.seconds);
  return {};
}

void SuiteTester::tell(const Attempt& attempt, const std::string& what) const {
  session_.sink({{"type", "execution"},
                 {"test", test_.name},
                 {"number", attempt.result.record.execution},
                 {"executed", 1},
                 {"scheduled", 1},
                 {"open", 0},
                 {"redundant", 0},
                 {"faults", nlohmann::json::array({what})},
                 {"passed", !is_failure(attempt.judgement.verdict)},
                 {"verdict", verdict_name(attempt.judgement.verdict)},
                 {"seconds", attempt.result.seconds}});
}

Result<SuiteTester::Tries> SuiteTester::attempts(const SuiteTest& test, const FaultSpec& fault,
                                                 const InjectedFault& rpc, bool sometimes) {
  Tries out;
  while (out.tries < kMostTries) {
    if (!out.race.empty()) out.tried_again = out.race;
    auto tried = run_->attempt(
        {plan_fault(rpc, fault)},
        [&](const Attempt& one) {
          if (one.result.stopped) return;
          ++out.tries;
          if (one.runs_again) out.tried_again = one.judgement.detail;
          tell(one, to_line(rpc));
        },
        time_for_silences(config_, test_, fault, hang_limit_));
    if (!tried) return tried.error();
    stopped_ = tried->result.stopped;
    if (stopped_) return out;
    out.last = std::move(tried).value();
    out.race = lost_race(*out.last, rpc.index, test, sometimes);
    if (out.race.empty()) break;
  }
  return out;
}

SuiteEvidence SuiteTester::read(const SuiteTest& of, const Attempt& attempt, const FaultSpec& fault,
                                const InjectedFault& rpc) const {
  SuiteEvidence out;
  out.record = attempt.result.record;
  out.groups = retries::group_attempts(out.record);
  out.faults = {rpc};
  note_delivery(out.record, &out.faults);
  out.verdict = verdict_name(attempt.judgement.verdict);
  retries::FaultedTest& test = out.outcome;
  for (size_t i = 0; i < out.groups.size(); ++i) {
    const RpcRecord& first = out.record.rpcs[out.groups[i].rpcs.front()];
    if (first.index == rpc.index && (first.injected || first.attempt != 0)) test.group = i;
  }
  test.call_site = rpc.call_site;
  const auto hangs = [&test](const std::string& what) {
    if (test.hang.find(what) != std::string::npos) return;
    test.hang += (test.hang.empty() ? "" : "; ") + what;
  };
  if (attempt.judgement.verdict == Verdict::kTestTimeout) hangs(attempt.judgement.detail);
  if (test.group) {
    for (const size_t at : out.groups[*test.group].rpcs) {
      const RpcRecord& one = out.record.rpcs[at];
      if (one.hang_limit.waited_on()) hangs(one.caller + ": " + to_text(one.hang_limit));
      if (!one.injected) continue;
      const std::string text = to_text(one.fault);
      if (std::find(test.outcomes.begin(), test.outcomes.end(), text) == test.outcomes.end())
        test.outcomes.push_back(text);
    }
  }
  for (const AttemptRule& rule : fault.attempts.rules) {
    if (std::string code = retries::error_code_of(rule.outcome); !code.empty())
      test.error_codes.push_back(std::move(code));
    if (!rule.outcome.body.empty()) test.error_bodies.push_back(rule.outcome.body);
  }
  using retries::Ending;
  const auto& exit = attempt.result.exit;
  bool wrote = true;
  if (exit && !exit->success()) test.failure = failure_of(attempt, &wrote);
  test.no_result = exit && exit->success() && !of.cases.empty() && says_nothing_of(of.cases);
  test.ending = !test.hang.empty()                                ? Ending::kHung
                : !attempt.result.ended.empty() || test.no_result ? Ending::kDied
                : !exit || exit->success()                        ? Ending::kPassed
                : exit->signalled || !wrote                       ? Ending::kDied
                                                                  : Ending::kFailed;
  if (!of.hides_exceptions) note_uncaught(&test);
  return out;
}

// Node writes of a file whose process has ended itself that it passed, and nothing of its tests.
bool SuiteTester::says_nothing_of(const std::set<std::string>& cases) const {
  const std::set<std::string> written = written_cases();
  return std::none_of(written.begin(), written.end(),
                      [&](const std::string& name) { return cases.contains(name); });
}

// What only the runner has kept from ending the process. An exception of a callback may be what the test waits for, so it is
// judged as the test's failure; a rejection that nobody handles has no such use.
void SuiteTester::note_uncaught(retries::FaultedTest* test) const {
  using retries::Ending;
  if (test->ending != Ending::kPassed && test->ending != Ending::kFailed) return;
  const auto text = test_.junit_xml.empty() ? Result<std::string>(Error{})
                                            : read_file(suite::uncaught_path(test_.junit_xml));
  if (!text || text->empty()) return;
  const size_t line = std::min(text->find('\n'), text->size() - 1);
  retries::Failure failure = retries::read_failure(std::string_view(text.value()).substr(line + 1));
  if (failure.assertion) return;
  const bool rejected = text->starts_with("unhandledRejection");
  if (rejected && !failure.chain.empty() &&
      retries::is_of_test_code(failure.chain.front(), oracle_options_))
    return;
  test->uncaught = true;
  test->failure = std::move(failure);
  test->ending = rejected ? Ending::kDied : Ending::kFailed;
}

// What this execution says of its call site and its client library, for other executions.
void SuiteTester::learn(const SuiteEvidence& evidence, const FaultSpec& fault, double base_seconds,
                        double seconds, const std::string& site) {
  const retries::FaultedTest& test = evidence.outcome;
  if (!test.group) return;
  const retries::RetryGroup& group = evidence.groups[*test.group];
  const std::lock_guard lock(memory_.mutex);
  SiteKnowledge& known = memory_.sites[site];
  const auto came = static_cast<uint32_t>(group.rpcs.size());
  uint32_t silences = 0;
  bool elapsed = false, no_timeout = false;
  for (const size_t at : group.rpcs) {
    const RpcRecord& rpc = evidence.record.rpcs[at];
    no_timeout = no_timeout || rpc.hang_limit.has_no_timeout();
    if (!rpc.injected || rpc.fault.kind != FaultKind::kTimeout) continue;
    ++silences;
    elapsed = elapsed || rpc.elapsed;
  }
  known.hangs += no_timeout ? 1 : 0;
  if (begins_silent(fault)) known.retries = known.retries.value_or(false) || came > 1;
  if (is_for_all(fault)) known.attempts = std::max(known.attempts, came);
  if (silences > 0)
    known.silence_seconds = elapsed ? 0 : std::max(0.0, seconds - base_seconds) / silences;
  // Only what was raised for an injected fault says as what it surfaces.
  const RpcRecord& last = evidence.record.rpcs[group.rpcs.back()];
  if (test.ending == retries::Ending::kFailed && last.injected && !test.failure.assertion)
    memory_.surfaces.learn(to_text(last.fault), test.failure, test.call_site, oracle_options_);
}

Result<void> SuiteTester::execute(const SuiteTest& test, const retries::Policy& policy,
                                  size_t position, retries::FaultRow* row) {
  const SuiteCall& call = test.calls.at(row->site);
  auto fault = retries::fault_for(policy, call.reference);
  if (!fault) {
    row->skipped = fault.error().message;
    return {};
  }
  {
    const std::lock_guard lock(memory_.mutex);
    const SiteKnowledge& known = memory_.sites[row->site];
    if (known.has_no_timeout() && begins_silent(fault.value())) {
      row->skipped =
          "the client has no timeout at this call site (" + row->site +
          "), which is said once; if other clients call by it, leave its frame out (index.frames.deny)";
      return {};
    }
    if (known.retries == false && !policy.without_retries) {
      row->skipped = "the client does not try again here, so it would see what P1 shows";
      return {};
    }
  }
  if (did_not_come_.contains(row->site)) {
    row->skipped = kDidNotCome;
    return {};
  }
  InjectedFault rpc = call.rpc;
  rpc.set_fault(fault.value());
  if (const auto* answer = retries::template_for(retries::signs_of(call.reference));
      answer != nullptr && !answer->grpc && !rpc.key.empty())
    rpc.answer = answer->name;
  row->attempts = rpc.fault;
  const auto tried = attempts(test, fault.value(), rpc, call.sometimes);
  if (!tried) return tried.error();
  row->tries = tried->tries;
  row->tried_again = tried->tried_again;
  if (stopped_) return {};
  const Attempt& one = *tried->last;
  if (tried->race == kDidNotCome) {
    did_not_come_.insert(row->site);
    row->skipped = kDidNotCome;
    return {};
  }
  if (!tried->race.empty()) {
    row->skipped = "no conclusion: " + tried->race;
    return {};
  }
  row->seconds = one.result.seconds;
  if (is_inconclusive(one.judgement.verdict)) {
    row->skipped = "no conclusion: " + one.judgement.detail;
    return {};
  }
  row->execution = one.result.record.execution;
  SuiteEvidence evidence = read(test, one, fault.value(), rpc);
  if (evidence.outcome.group) {
    const retries::RetryGroup& group = evidence.groups[*evidence.outcome.group];
    row->came = static_cast<uint32_t>(group.rpcs.size());
    for (const size_t at : group.rpcs) row->seen.push_back(seen_text(evidence.record.rpcs[at]));
    row->retried_by = retries::retried_by_name(group.retried_by);
    if (group.grouped_by.size() > 1)
      row->grouped_by = group.request_id_name.empty()
                            ? std::string(grouped_by_name(group.grouped_by[1]))
                            : group.request_id_name;
  }
  learn(evidence, fault.value(), test.row.seconds, row->seconds, row->site);
  const bool passed =
      evidence.outcome.ending == retries::Ending::kPassed &&
      retries::repeated_mutations(evidence.record, evidence.groups, oracle_options_.mutations)
          .empty();
  if (passed) return {};
  const std::lock_guard lock(memory_.mutex);
  memory_.evidence[position] = std::move(evidence);
  return {};
}

Result<SuiteTester::Replay> SuiteTester::replay(const SuiteTest& test, const SuiteEvidence& first,
                                                const retries::FaultRow& row) {
  const InjectedFault& rpc = first.faults.front();
  auto fault = parse_fault(rpc.fault);
  if (!fault) return fault.error();
  const FaultSpec spec = retries::attempts_as_template_says(fault.value(), rpc.answer);
  const auto tried = attempts(test, spec, rpc, calls_sometimes(test, row.site));
  if (!tried) return tried.error();
  Replay out;
  if (stopped_) return out;
  out.no_conclusion = tried->race;
  if (out.no_conclusion.empty() && is_inconclusive(tried->last->judgement.verdict))
    out.no_conclusion = tried->last->judgement.detail;
  if (!out.no_conclusion.empty()) return out;
  const SuiteEvidence again = read(test, *tried->last, spec, rpc);
  const retries::Verdict verdict =
      retries::judge(again.outcome, again.record, again.groups, memory_.surfaces, oracle_options_);
  out.reproduced = verdict.oracle == row.oracle;
  return out;
}

}  // namespace filibuster
