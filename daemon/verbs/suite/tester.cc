// The reference executions of a test: does it pass, and by itself; what does it call; what gets faults.
#include "daemon/verbs/suite/tester.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text/ascii.h"
#include "core/text/glob.h"
#include "daemon/explore/reference_phase.h"
#include "daemon/explore/variability.h"
#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/observe/observation.h"
#include "daemon/redact/redact.h"
#include "daemon/report/unknown_cause.h"
#include "daemon/retries/callers.h"
#include "daemon/retries/effects.h"
#include "daemon/retries/expected_errors.h"
#include "daemon/retries/policies.h"
#include "daemon/suite/results.h"
#include "daemon/suite/runner.h"

namespace filibuster {
namespace {

constexpr size_t kMaxReason = 300;  // bytes of what a runner says
// Flakiness is seen by comparison.
constexpr uint32_t kLeastReferences = 2;

// Words in the name of a test of several parts together.
constexpr std::string_view kSystemWords[] = {"system", "integration", "endtoend",  "end_to_end",
                                             "e2e",    "functional",  "acceptance"};

std::string first_line(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, std::min(text.find('\n', begin) - begin, kMaxReason));
}

// What comes in some executions only, and in more than one, gets its faults where it comes.
void note_recurring(const std::vector<ExecutionResult>& runs, UnstableRpcs* unstable) {
  std::map<Hash128, std::set<size_t>> in_runs;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const RpcRecord& rpc : runs[run].record.rpcs) {
      if (unstable->comes_sometimes(rpc) != nullptr) in_runs[rpc.index].insert(run);
    }
  }
  for (const auto& [index, in] : in_runs) {
    if (in.size() > 1) unstable->comes_again(index);
  }
}

}  // namespace

retries::OracleOptions oracle_options(const Config& config) {
  retries::OracleOptions out;
  out.test_code = config.retries.test_code;
  out.listed_files = config.retries.listed_files;
  out.mutations = config.retries.mutations;
  out.client_code = config.frames.deny;
  return out;
}

bool is_system_test(const Config& config, const std::string& name) {
  const std::vector<std::string>& globs = config.retries.system_tests;
  if (!globs.empty()) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return glob_match(glob, name); });
  }
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return std::any_of(std::begin(kSystemWords), std::end(kSystemWords),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

bool was_given_up(const RpcRecord& rpc) {
  return !rpc.open && rpc.outcome != RpcOutcome::kAnswered && rpc.begun == 0 &&
         (rpc.flags & kRpcLate) == 0;
}

SuiteTester::SuiteTester(SessionContext* session, Lane* lane, const TestConfig& test,
                         SuiteMemory* memory)
    : session_(*session),
      lane_(*lane),
      test_(test),
      memory_(*memory),
      config_(session->config),
      oracle_options_(oracle_options(session->config)) {
  config_.fault_test_calls = true;
  oracle_options_.any_exception_is_a_bug =
      config_.retries.strict_system_tests && is_system_test(config_, test.name);
}

Result<void> SuiteTester::make_run() {
  auto run = TestRun::make(&session_, &lane_, test_, config_);
  if (!run) return run.error();
  run_ = std::move(run).value();
  return {};
}

void SuiteTester::note_place(SuiteTest* test) const {
  test->ports = lane_.place().automatic_ports;
  test->descriptors = session_.descriptors->learnt();
}

// The frames of the application that lead to the call, innermost first; the innermost frame may be a library's.
std::vector<std::string> SuiteTester::frames_of(const RpcRecord& rpc) const {
  std::vector<std::string> out;
  // Relative to the configuration, so that a plan fits any checkout.
  const std::string folder = config_.directory + "/";
  for (const std::string& frame : rpc.stack_text) {
    if (!out.empty() && (retries::is_client_frame(frame, oracle_options_) ||
                         retries::is_test_frame(frame, oracle_options_)))
      continue;
    out.push_back(frame.starts_with(folder) ? frame.substr(folder.size()) : frame);
  }
  if (out.empty()) out.push_back("(call site not known) " + rpc.service + " " + rpc.method);
  return out;
}

Result<bool> SuiteTester::accept(const Attempt& attempt, size_t earlier, SuiteTest* out) {
  const ExecutionResult& result = attempt.result;
  out->row.seconds = result.seconds;
  std::string& why = out->row.left_out;
  if (attempt.judgement.verdict == Verdict::kIncomplete) {
    why = "its run without faults is incomplete: " + attempt.judgement.detail;
  } else if (is_failure(attempt.judgement.verdict)) {
    const std::string text = failure_text(attempt);
    why = earlier == 0
              ? std::string(kFailsAlone) + ": " + text
              : "it passed " + std::to_string(earlier) + (earlier == 1 ? " time" : " times") +
                    " without any fault and then failed, so it is flaky, or depends on "
                    "what an earlier run has left: " +
                    text;
  } else if (!result.not_run.empty()) {
    why = result.not_run;
  } else if (result.record.rpcs.empty()) {
    why = "it makes no remote call";
  }
  if (!why.empty()) return false;
  out->cases = written_cases();
  out->hides_exceptions |=
      !test_.junit_xml.empty() && read_file(suite::uncaught_path(test_.junit_xml)).ok();
  return true;
}

std::string SuiteTester::failure_text(const Attempt& attempt) const {
  bool wrote = false;
  const suite::Failure failure = failure_of(attempt, &wrote);
  const std::string said = !failure.chain.empty()
                               ? failure.chain.front().type + ": " + failure.chain.front().message
                               : first_line(failure.text);
  return attempt.judgement.detail + (said.empty() ? "" : "; " + said.substr(0, kMaxReason));
}

// Names of what the file of results has of the last execution.
std::set<std::string> SuiteTester::written_cases() const {
  const auto text =
      test_.junit_xml.empty() ? Result<std::string>(Error{}) : read_file(test_.junit_xml);
  std::set<std::string> out;
  if (!text) return out;
  const auto cases = suite::parse_results(text.value());
  if (!cases) return out;
  for (const suite::JunitCase& one : cases.value()) out.insert(one.name);
  return out;
}

Result<std::string> SuiteTester::control(SuiteTest* test) {
  std::string why;
  // A short timeout may fire by itself, once.
  for (int tries = 0; tries < 2; ++tries) {
    auto run = run_->reference([&](const Attempt& one) {
      ++test->executions;
      control_seconds_ += one.result.seconds;
    });
    if (!run) return run.error();
    stopped_ = run->result.stopped;
    if (stopped_ || !is_failure(run->judgement.verdict)) return std::string();
    why = failure_text(run.value());
  }
  return "it passed without any fault before others ran under faults, and fails now, so it depends on what other executions "
         "leave: " +
         why;
}

Result<void> SuiteTester::reference(SuiteTest* out) {
  out->row.name = test_.name;
  out->row.system = is_system_test(config_, test_.name);
  out->lane = lane_.place().number;
  if (auto made = make_run(); !made) return made;
  for (const std::string& obstacle : run_->obstacles()) out->notes.push_back(obstacle);
  Variability varies(&test_, &config_,
                     [this](const MaskTable& masks) { lane_.hub().set_masks(masks); });
  if (auto masked = varies.mask_as_configured(); !masked) return masked;
  ReferencePhase::Options options;
  options.lane = &lane_;
  options.run = run_.get();
  options.index_parts = config_.index_parts;
  options.executions = std::max(config_.bounds.reference_executions, kLeastReferences);
  options.varies = &varies;
  options.refuses_broad_masks = false;
  // Any call of a call site stands for it.
  options.order = Order::kOfArrival;
  options.observer = [out](const Attempt&) { ++out->executions; };
  options.accept = [this, out](const Attempt& attempt, size_t earlier) {
    return accept(attempt, earlier, out);
  };
  ReferencePhase phase(std::move(options));
  const auto end = phase.run();
  out->masks = varies.masks();
  out->rpcs = lane_.hub().known_rpcs();
  if (!end) return end.error();
  stopped_ = end.value() == ReferencePhase::End::kStopped;
  const std::vector<ExecutionResult>& runs = phase.runs();
  if (stopped_) {
    out->row.left_out = "the session was stopped before its runs without faults were over";
    return {};
  }
  if (end.value() == ReferencePhase::End::kNotComparable) out->row.left_out = phase.why();
  if (out->row.left_out.empty()) {
    UnstableRpcs unstable = varies.unstable();
    note_recurring(runs, &unstable);
    note_calls(runs.back().record, unstable, Which::kAll, out);
    out->acts = acts_of(runs.back().record, out->masks);
    if (unstable.has_sometimes()) {
      for (const ExecutionResult& run : runs)
        note_calls(run.record, unstable, Which::kThatComeSometimes, out);
    }
    if (out->seen.empty())
      out->row.left_out = "only its own code makes remote calls, and these get no fault";
  }
  SuiteProgress& all = memory_.references;
  session_.sink({{"type", "reference"},
                 {"test", test_.name},
                 {"short_name", suite::short_name(test_.name)},
                 {"number", ++all.done},
                 {"planned", all.planned.load()},
                 {"left_out", redact(out->row.left_out)},
                 {"seconds", out->row.seconds},
                 {"rpcs", runs.empty() ? 0 : runs.back().record.rpcs.size()}});
  return {};
}

std::map<std::string, size_t> SuiteTester::acts_of(
    const ExecutionRecord& record, const std::vector<NondeterminismRule>& masks) const {
  std::map<std::string, size_t> out;
  for (const RpcRecord& rpc : record.rpcs) {
    if (retries::is_unsafe_mutation(rpc, oracle_options_.mutations) &&
        retries::succeeded_at_server(rpc))
      ++out[describe_rpc(rpc, masks)];
  }
  return out;
}

std::string SuiteTester::why_not(const RpcsById& rpcs, const RpcRecord& rpc, bool goes_on,
                                 const UnstableRpcs& unstable) const {
  if (!root_is_known(rpcs, rpc)) return why_root_not_known(rpc);
  if ((rpc.flags & kRpcPreliminary) != 0) return std::string(kStayedPreliminary);
  if (const UnstableKind* kind = unstable.find(rpc)) return kind->reason;
  if (faults_for(config_, caller_of(rpc), rpc.service, rpc.method, path_of(rpc), rpc.protocol())
          .empty())
    return "the fault rules of the configuration leave it out";
  std::string why;
  for (const retries::Policy& policy : retries::all_policies({})) {
    const auto fault = retries::fault_for(policy, rpc, goes_on);
    if (fault.ok()) return "";
    if (why.empty()) why = fault.error().message;
  }
  if (rpc.answered_with_error() && !goes_on) why += ", after which the application does not go on";
  return why;
}

void SuiteTester::note_calls(const ExecutionRecord& record, const UnstableRpcs& unstable,
                             Which which, SuiteTest* out) {
  const RpcsById rpcs = rpcs_by_id(record);
  for (const RpcRecord& rpc : record.rpcs) {
    if (was_given_up(rpc)) out->given_up.push_back(rpc.index);
  }
  for (const retries::RetryGroup& group : retries::group_attempts(record)) {
    const RpcRecord& rpc = record.rpcs[group.rpcs.front()];
    if ((rpc.flags & kRpcLate) != 0) continue;
    const UnstableKind* sometimes = unstable.comes_sometimes(rpc);
    if (which == Which::kThatComeSometimes && sometimes == nullptr) continue;
    if (is_test_call(rpc) && !rpc.stack_text.empty() &&
        retries::is_test_frame(rpc.stack_text.front(), oracle_options_)) {
      ++out->row.own_calls;
      continue;
    }
    const std::vector<std::string> frames = frames_of(rpc);
    const std::string kind = retries::kind_of(rpc);
    auto seen = std::find_if(out->seen.begin(), out->seen.end(), [&](const SeenCalls& one) {
      return one.kind == kind && one.frames == frames;
    });
    const bool is_new = seen == out->seen.end();
    if (is_new) {
      out->seen.push_back(
          {frames, kind, {"", rpc.service, retries::name_of_call(rpc), 0, 1, "", "", "", ""}, {}});
      seen = out->seen.end() - 1;
    }
    retries::SiteRow& row = seen->row;
    // Of what comes sometimes the last execution has counted its own.
    if (is_new || which == Which::kAll) ++row.calls;
    if (is_new && sometimes != nullptr) row.seen = sometimes->reason;
    row.attempts = std::max(row.attempts, static_cast<uint32_t>(group.rpcs.size()));
    if (group.rpcs.size() > 1)
      row.grouped_by = group.request_id_name.empty()
                           ? std::string(grouped_by_name(group.grouped_by[1]))
                           : group.request_id_name;
    // The first call that can get a fault stands for the others; better one that all policies fit.
    if (seen->call && !seen->call->goes_on) continue;
    const bool goes_on = rpc.answered_with_error() &&
                         retries::goes_on_after(record, group, oracle_options_, test_.name);
    const std::string why = why_not(rpcs, rpc, goes_on, unstable);
    if (is_new || why.empty()) row.why_not = why;
    if (!why.empty() || (seen->call && goes_on)) continue;
    seen->call = SuiteCall{describe_for_report(rpcs, rpc), rpc, sometimes != nullptr, goes_on};
    row.own_error = goes_on ? ending_name(rpc) : "";
    row.seen = sometimes == nullptr ? "" : sometimes->reason;
  }
}

// What the runner says of the failure. `*wrote`: it wrote a result, or the test has no file for one.
suite::Failure SuiteTester::failure_of(const Attempt& attempt, bool* wrote) const {
  *wrote = test_.junit_xml.empty();
  if (test_.junit_xml.empty()) return suite::read_failure(attempt.output);
  const auto text = read_file(test_.junit_xml);
  const auto cases = text.ok() ? suite::parse_results(text.value())
                               : Result<std::vector<suite::JunitCase>>(text.error());
  if (cases.ok()) {
    for (const suite::JunitCase& one : cases.value()) {
      if (one.result != suite::CaseResult::kFailed) continue;
      *wrote = true;
      suite::Failure failure = suite::read_failure(one.stack);
      if (failure.chain.empty() && !failure.assertion)
        failure = suite::read_failure(one.message + "\n" + one.stack);
      return failure;
    }
  }
  // A runner that writes no results, or whose process ended before it did.
  suite::Failure failure = suite::read_failure(attempt.output);
  *wrote = !text.ok() && (!failure.chain.empty() || failure.assertion);
  return failure;
}

}  // namespace filibuster
