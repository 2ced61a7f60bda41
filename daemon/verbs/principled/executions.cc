// One execution of a structured test: its blocks in their order, and what they have shown. What is said of it: judging.cc.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/base/descriptors.h"
#include "daemon/model/call_name.h"
#include "daemon/observe/observation.h"
#include "daemon/principled/snippets.h"
#include "daemon/verbs/principled/check.h"
#include "daemon/verbs/principled/tester.h"

namespace filibuster {

using principled::Block;
using principled::BlockResult;
using principled::Diagnostic;
using principled::DiagnosticKind;
using principled::Instruction;
using Json = nlohmann::json;

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

bool PrincipledTester::state(const BlockResult& result, Block block, Run* run) {
  std::vector<Diagnostic> problems = run->statements.read(
      block, result.calls, statement_readers(config_, session_.descriptors->get()));
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
               "the block '" + std::string(block_name(block)) +
                   "' failed: " + principled::blame_of(*ran),
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
    // Under an error of the service a client may throw: whether that is right is said elsewhere.
    if (run->row.outcome.thrown) run->row.blocks.back().passed = true;
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
  // What a call asks for that has not come there is known from the execution in which it had no fault.
  for (ObservedCall& call : run->observed.calls) {
    for (const Planned& planned : run->set->faults) {
      if (call.call.faulted && !call.call.reached && call.rpc.index == planned.fault.rpc.index)
        call.call.call = planned.fault.seen.call;
    }
  }
  for (const stubs::CallNote& note : notes) {
    if (!note.stub && note.problem.empty()) continue;  // a model has answered
    if (!note.stub && note.call.method.empty() && note.call.path.empty()) {
      // A client that was refused before it could call.
      fail(run, {DiagnosticKind::kCallWithoutStub, note.problem, "", "", run->row.faults, {}});
      continue;
    }
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

void PrincipledTester::cover(const Run& run) {
  if (run.ahead || !run.observed.has_entry) return;
  const principled::Thrown& outcome = run.observed.outcome;
  methods_.add(run.observed.service, run.observed.method,
               outcome.thrown ? outcome.code : "a success");
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
