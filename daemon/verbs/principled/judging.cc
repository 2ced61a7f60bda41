// What is said of one execution of a structured test (dissertation 11.3.4).
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "daemon/principled/snippets.h"
#include "daemon/verbs/principled/tester.h"

namespace filibuster {

using principled::Block;
using principled::BlockResult;
using principled::DiagnosticKind;
using Json = nlohmann::json;

namespace {

constexpr int kLogLines = 8;

}  // namespace

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
    if (!call.waited.empty())
      fail(run,
           {DiagnosticKind::kNoTimeout,
            "under the fault " + call.fault + " at " + principled::method_text(call.call.call) +
                ", '" + seen.service + "' waits for an answer that does not come: " + call.waited +
                ". Give the call a timeout; or leave this fault out of `faults`",
            "",
            "",
            run->row.faults,
            {}});
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
                                : "failed: " + principled::blame_of(executed);
    std::string trace = executed.trace;
    if (seen.outcome.thrown) {
      if (seen.calls.empty())
        text += ", and '" + seen.service +
                "' has called no service of the configuration: lead its calls there by "
                "${port:NAME} in its `env`, or by `hosts`";
      const std::string said = last_lines(lane_.place().log_path(seen.service), kLogLines);
      if (trace.empty() && !said.empty()) trace = "last lines of '" + seen.service + "':\n" + said;
    }
    fail(run, {DiagnosticKind::kBlockFailed, text, executed.at, trace, {}, {}});
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
    fail(run,
         {DiagnosticKind::kBlockFailed,
          "without any fault, the block 'assert_test' failed: " + principled::blame_of(*asserted),
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
                   principled::blame_of(executed),
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
    add_what_was_answered(run);
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
                   "' failed: " + principled::blame_of(*ran),
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
  if (asserted && !asserted->passed) run->assertion = principled::blame_of(*asserted);
}

// Whether a success is right can be seen from the answer, and from what the assertions of the test say of it.
void PrincipledTester::add_what_was_answered(Run* run) {
  std::string& text = run->row.diagnostic->text;
  if (!run->observed.answer.empty()) text += "\nit answered " + run->observed.answer;
  if (!run->assertion.empty()) text += "\nassert_test does not hold: " + run->assertion;
}

bool PrincipledTester::judge_counts(Run* run) {
  const auto ran = run_block({Block::kAssertStubs}, run);
  if (!ran || !state(*ran, Block::kAssertStubs, run)) return false;
  if (!ran->passed) {
    fail(run, {run->set->faults.empty() ? DiagnosticKind::kBlockFailed
                                        : DiagnosticKind::kStubsDidNotHold,
               "the block 'assert_stubs' failed: " + principled::blame_of(*ran),
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
  const std::vector<principled::DependencyCall> calls = run->observed.dependency_calls();
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
  if (wrong && wrong->kind == DiagnosticKind::kNotDeclaredAgain) {
    // Where it is to be written.
    for (const principled::ExceptionAssertions& each : run->statements.on_exceptions) {
      if (each.code == run->observed.outcome.code) wrong->at = each.at;
    }
  }
  if (wrong) fail(run, std::move(*wrong));
  return !wrong;
}

}  // namespace filibuster
