// The executions of a test under faults: one sequence of outcomes at one call each.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/fault/attempts.h"
#include "core/protocol/events.h"
#include "daemon/observe/observation.h"
#include "daemon/observe/rule_advice.h"
#include "daemon/retries/policies.h"
#include "daemon/suite/runner.h"
#include "daemon/verbs/suite/tester.h"

namespace filibuster {
namespace {

using std::chrono::milliseconds;

// Above 5 s: many clients have a timeout of 5 s, which must fire before the silence ends.
constexpr milliseconds kAfterSilence{2000};  // for the calls that follow the end of a silence
constexpr int kMostSilences = 4;             // that a test may wait for beyond its own limit
// Client libraries try for 30 s and more.
constexpr milliseconds kWhileCallsCome{120'000};
constexpr char kEndOfSilence[] = "reset:after";  // what a caller that waits to the hang limit sees
constexpr uint32_t kMostTries = 3;  // of an execution that lost a race before its fault

// Which policies wait for an answer that does not come, at their first attempt.
bool begins_silent(const FaultSpec& fault) {
  const FaultSpec* first =
      fault.kind == FaultKind::kAttempts ? outcome_of(fault.attempts, 1) : &fault;
  return first != nullptr && first->kind == FaultKind::kTimeout;
}

bool begins_with_reset(const FaultSpec& fault) {
  const FaultSpec* first =
      fault.kind == FaultKind::kAttempts ? outcome_of(fault.attempts, 1) : &fault;
  return first != nullptr && first->kind == FaultKind::kReset;
}

// Client objects are not known: calls of one program to one service are taken for those of one client.
std::string client_of(const RpcRecord& rpc) {
  return rpc.caller + " -> " + rpc.service;
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

constexpr char kStillTried[] =
    "no conclusion: the client still tried again, with longer and longer pauses, when the limit of the test was over; a longer "
    "'timeout' of the test shows what comes of it";

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

// Is it known of the planned RPC with this index that it need not come, or that its server answers with an error by itself?
bool is_known_of(const SuiteTest& test, Hash128 index, bool SuiteCall::*is) {
  return std::any_of(test.calls.begin(), test.calls.end(), [&](const auto& entry) {
    return entry.second.*is && entry.second.rpc.index == index;
  });
}

}  // namespace

Result<void> SuiteTester::prepare(const SuiteTest& test) {
  prepared_ = &test;
  auto masks = compile_masks(test.masks);
  if (!masks) return masks.error();
  lane_.hub().set_masks(*masks.value());
  // A request that leaves before its body is known by another index than the one that is planned.
  if (test.rpcs) lane_.hub().recall_rpcs(*test.rpcs);
  hang_limit_ = hang_limit_of(config_.bounds, test.row.seconds);
  lane_.hub().set_hang_limit(hang_limit_);
  config_.bounds.quiesce_timeout =
      std::max(config_.bounds.quiesce_timeout, hang_limit_ + kAfterSilence);
  if (auto made = make_run(); !made) return made;
  run_->set_reference_seconds(test.row.seconds);
  if (!test_.timeout && !config_.bounds.test_timeout) run_->set_while_calls_come(kWhileCallsCome);
  return {};
}

void SuiteTester::tell(const Attempt& attempt, const std::string& what) const {
  const SuiteProgress& all = memory_.faults;
  const size_t planned = all.planned, now = std::min(all.done + 1, planned), left = planned - now;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - all.began;
  session_.sink(
      {{"type", "execution"},
       {"test", test_.name},
       {"short_name", suite::short_name(test_.name)},
       {"number", attempt.result.record.execution},
       {"executed", now},
       {"scheduled", now},
       {"planned", planned},
       {"open", left},
       {"redundant", 0},
       {"eta_seconds", took.count() / static_cast<double>(now) * static_cast<double>(left)},
       {"faults", nlohmann::json::array({what})},
       {"passed", !is_failure(attempt.judgement.verdict)},
       {"verdict", verdict_name(attempt.judgement.verdict)},
       {"seconds", attempt.result.seconds}});
}

Result<CaseOutcome> SuiteTester::execute(const Case& one, CaseSource* /*source*/) {
  const InjectedFault& rpc = one.faults.front();
  const bool sometimes = is_known_of(*prepared_, rpc.index, &SuiteCall::sometimes);
  CaseOutcome out;
  out.tries = 0;
  while (out.tries < kMostTries) {
    if (!out.lost_race.empty()) out.why_tried_again = out.lost_race;
    auto tried = run_->attempt(
        one.plan,
        [&](const Attempt& attempt) {
          if (attempt.result.stopped) return;
          ++out.tries;
          if (attempt.runs_again) out.why_tried_again = attempt.judgement.detail;
          tell(attempt, to_line(rpc));
        },
        time_for_silences(config_, test_, one.plan.front().fault, hang_limit_));
    if (!tried) return tried.error();
    stopped_ = tried->result.stopped;
    out.attempt = std::move(tried).value();
    if (stopped_) break;
    out.lost_race = lost_race(out.attempt, rpc.index, *prepared_, sometimes);
    if (out.lost_race.empty()) break;
  }
  return out;
}

SuiteEvidence SuiteTester::read(const Attempt& attempt, const Case& of) const {
  const InjectedFault& rpc = of.faults.front();
  const FaultSpec& fault = of.plan.front().fault;
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
  if (test.group) {
    const std::string call =
        describe_rpc(out.record.rpcs[out.groups[*test.group].rpcs.front()], prepared_->masks);
    const auto usual = prepared_->acts.find(call);
    test.usual_acts = usual != prepared_->acts.end() &&
                      acts_of(out.record, prepared_->masks)[call] <= usual->second;
  }
  test.own_error = is_known_of(*prepared_, rpc.index, &SuiteCall::goes_on);
  if (attempt.judgement.verdict == Verdict::kTestTimeout) test.hang = attempt.judgement.detail;
  const auto outcome = [&test](const std::string& text) {
    if (std::find(test.outcomes.begin(), test.outcomes.end(), text) == test.outcomes.end())
      test.outcomes.push_back(text);
  };
  if (test.group) {
    for (const size_t at : out.groups[*test.group].rpcs) {
      const RpcRecord& one = out.record.rpcs[at];
      if (one.hang_limit.has_no_timeout() || one.hang_limit.reached == HangLimit::Reached::kNoLimit)
        test.endless = one.caller + ": " + to_text(one.hang_limit);
      test.client = client_of(one);
      if (!one.injected) continue;
      outcome(to_text(one.fault));
      if (one.hang_limit.waited_on()) outcome(kEndOfSilence);
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
  test.no_result =
      exit && exit->success() && !prepared_->cases.empty() && says_nothing_of(prepared_->cases);
  test.ending = !test.hang.empty()                                ? Ending::kHung
                : !attempt.result.ended.empty() || test.no_result ? Ending::kDied
                : !exit || exit->success()                        ? Ending::kPassed
                : exit->signalled || !wrote                       ? Ending::kDied
                                                                  : Ending::kFailed;
  if (!prepared_->hides_exceptions) note_uncaught(&test);
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
  if (test->ending == Ending::kDied && !test->no_result) return;
  const auto text = test_.junit_xml.empty() ? Result<std::string>(Error{})
                                            : read_file(suite::uncaught_path(test_.junit_xml));
  if (!text || text->empty()) return;
  const size_t line = std::min(text->find('\n'), text->size() - 1);
  suite::Failure failure = suite::read_failure(std::string_view(text.value()).substr(line + 1));
  if (failure.assertion) return;
  const bool rejected = text->starts_with("unhandledRejection");
  if (rejected && !failure.chain.empty() &&
      retries::is_of_test_code(failure.chain.front(), oracle_options_))
    return;
  test->hang.clear();
  test->uncaught = true;
  test->failure = std::move(failure);
  if (test->no_result) return;
  test->ending = rejected ? Ending::kDied : Ending::kFailed;
}

// What this execution says of its call site and its client library, for other executions.
void SuiteTester::learn(const SuiteEvidence& evidence, const FaultSpec& fault, double seconds,
                        const std::string& site) {
  const retries::FaultedTest& test = evidence.outcome;
  if (!test.group) return;
  const retries::RetryGroup& group = evidence.groups[*test.group];
  const std::lock_guard lock(memory_.mutex);
  SiteKnowledge& known = memory_.sites[site];
  const auto came = static_cast<uint32_t>(group.rpcs.size());
  uint32_t silences = 0;
  bool elapsed = false, waited = false;
  for (const size_t at : group.rpcs) {
    const RpcRecord& rpc = evidence.record.rpcs[at];
    if (rpc.hang_limit.waited_on() && !std::exchange(waited, true)) {
      retries::WaitingClient& client = memory_.clients[client_of(rpc)];
      if (client.executions++ == 0 || rpc.hang_limit.has_no_timeout()) {
        client.client = client_of(rpc);
        client.waited = rpc.caller + ": " + to_text(rpc.hang_limit);
        if (client.site.empty()) client.site = site;
      }
    }
    if (!rpc.injected || rpc.fault.kind != FaultKind::kTimeout) continue;
    ++silences;
    elapsed = elapsed || rpc.elapsed;
  }
  if (begins_with_reset(fault))
    known.retries_after_reset = known.retries_after_reset.value_or(false) || came > 1;
  if (begins_silent(fault)) known.retries = known.retries.value_or(false) || came > 1;
  if (is_for_all(fault)) known.attempts = std::max(known.attempts, came);
  const double longer = std::max(0.0, seconds - prepared_->row.seconds);
  if (silences > 0)
    known.silence_seconds = elapsed ? 0 : longer / silences;
  else if (came > 1)
    known.backoff_seconds = longer / (came - 1);
  // Only what was raised for an injected fault says as what it surfaces.
  const RpcRecord& last = evidence.record.rpcs[group.rpcs.back()];
  if (test.ending == retries::Ending::kFailed && last.injected && !test.failure.assertion)
    memory_.surfaces.learn(
        last.hang_limit.waited_on() ? kEndOfSilence : to_text(last.fault), test.failure,
        test.call_site, oracle_options_, [&](const suite::Raised& raised) {
          return retries::is_later(retries::raised_by(raised, evidence.record, oracle_options_),
                                   evidence.record, &group);
        });
}

std::optional<Case> SuiteTester::plan(const retries::Policy& policy, size_t position,
                                      retries::FaultRow* row) {
  const SuiteCall& call = prepared_->calls.at(row->site);
  auto fault = retries::fault_for(policy, call.reference, call.goes_on);
  if (!fault) {
    row->skipped = fault.error().message;
    return std::nullopt;
  }
  {
    const std::lock_guard lock(memory_.mutex);
    const SiteKnowledge& known = memory_.sites[row->site];
    const auto waits = memory_.clients.find(client_of(call.reference));
    if (waits != memory_.clients.end() && memory_.has_reset_forms && begins_silent(fault.value())) {
      row->skipped =
          "the client (" + waits->first +
          ") waits for an answer for longer than the hang limit, which is said once; P1-reset and P2-reset need no wait";
      return std::nullopt;
    }
    const bool reset = begins_with_reset(fault.value());
    if ((reset ? known.retries_after_reset : known.retries) == false && !policy.without_retries) {
      row->skipped = std::string("the client does not try again here, so it would see what ") +
                     (reset ? "P1-reset" : "P1") + " shows";
      return std::nullopt;
    }
  }
  if (did_not_come_.contains(row->site)) {
    row->skipped = kDidNotCome;
    return std::nullopt;
  }
  InjectedFault rpc = call.rpc;
  rpc.set_fault(fault.value());
  if (const auto* answer = retries::template_for(retries::signs_of(call.reference));
      answer != nullptr && !answer->grpc && !rpc.key.empty())
    rpc.answer = answer->name;
  row->attempts = rpc.fault;
  return Case{static_cast<uint32_t>(position), {rpc}, {plan_fault(rpc, fault.value())}};
}

void SuiteTester::conclude(const Case& one, const CaseOutcome& result, retries::FaultRow* row) {
  ++memory_.faults.done;
  row->tries = result.tries;
  row->tried_again = result.why_tried_again;
  const Attempt& attempt = result.attempt;
  if (result.lost_race == kDidNotCome) {
    did_not_come_.insert(row->site);
    row->skipped = kDidNotCome;
    return;
  }
  if (!result.lost_race.empty()) {
    row->skipped = "no conclusion: " + result.lost_race;
    return;
  }
  row->seconds = attempt.result.seconds;
  if (is_inconclusive(attempt.judgement.verdict)) {
    const RpcRecord& planned = prepared_->calls.at(row->site).reference;
    row->skipped = "no conclusion: " + attempt.judgement.detail +
                   advice(rule_for_missing(attempt.result.record, planned, prepared_->masks,
                                           config_.index_parts));
    return;
  }
  SuiteEvidence evidence = read(attempt, one);
  if (evidence.outcome.ending == retries::Ending::kHung && evidence.outcome.group &&
      retries::backs_off(evidence.record, evidence.groups[*evidence.outcome.group])) {
    row->skipped = kStillTried;
    return;
  }
  row->execution = attempt.result.record.execution;
  tell_attempts(evidence, row);
  learn(evidence, one.plan.front().fault, row->seconds, row->site);
  const bool passed =
      evidence.outcome.ending == retries::Ending::kPassed && evidence.outcome.endless.empty() &&
      retries::repeated_mutations(evidence.record, evidence.groups, oracle_options_.mutations)
          .empty();
  if (passed) return;
  const std::lock_guard lock(memory_.mutex);
  memory_.evidence[one.id] = std::move(evidence);
}

void SuiteTester::tell_attempts(const SuiteEvidence& evidence, retries::FaultRow* row) const {
  if (!evidence.outcome.group) return;
  const retries::RetryGroup& group = evidence.groups[*evidence.outcome.group];
  row->came = static_cast<uint32_t>(group.rpcs.size());
  for (const size_t at : group.rpcs) row->seen.push_back(seen_text(evidence.record.rpcs[at]));
  row->retried_by = retries::retried_by_name(group.retried_by);
  if (group.grouped_by.size() > 1)
    row->grouped_by = group.request_id_name.empty()
                          ? std::string(grouped_by_name(group.grouped_by[1]))
                          : group.request_id_name;
}

Result<SuiteTester::Replay> SuiteTester::replay(const SuiteEvidence& first,
                                                const retries::FaultRow& row) {
  const InjectedFault& rpc = first.faults.front();
  auto fault = parse_fault(rpc.fault);
  if (!fault) return fault.error();
  const FaultSpec spec = retries::attempts_as_template_says(fault.value(), rpc.answer);
  const Case one{0, {rpc}, {plan_fault(rpc, spec)}};
  const auto tried = execute(one, nullptr);
  if (!tried) return tried.error();
  Replay out;
  if (stopped_) return out;
  out.no_conclusion = tried->lost_race;
  if (out.no_conclusion.empty() && is_inconclusive(tried->attempt.judgement.verdict))
    out.no_conclusion = tried->attempt.judgement.detail;
  if (!out.no_conclusion.empty()) return out;
  const SuiteEvidence again = read(tried->attempt, one);
  const retries::Verdict verdict =
      retries::judge(again.outcome, again.record, again.groups, memory_.surfaces, oracle_options_);
  out.reproduced = verdict.oracle == row.oracle;
  return out;
}

}  // namespace filibuster
