#include "daemon/explore/exploration.h"

#include <utility>

#include "daemon/observe/observation.h"

namespace filibuster {

ExplorationState::ExplorationState(SessionContext* in, Lane* on, const TestConfig& of,
                                   Variability::Apply apply)
    : session(*in),
      lane(*on),
      test(of),
      config(in->config),
      evidence(in, on),
      varies(&of, &in->config, std::move(apply)),
      memory(&varies),
      findings(in, on, &of),
      drifts(in) {}

void ExplorationState::note_appearances(const ExecutionRecord& record) {
  for (const std::string& call : varies.see(record)) evidence.comes_again(call);
}

FieldNames ExplorationState::field_names() const {
  return [descriptors = session.descriptors](const RpcRecord& rpc, const std::string& pointer,
                                             bool answer) {
    return descriptors->get()->field_names(rpc.target, pointer, answer);
  };
}

Execution ExplorationState::describe(const std::vector<InjectedFault>& faults,
                                     const Attempt& attempt) const {
  Execution out;
  out.test = test.name;
  out.number = attempt.result.record.execution;
  out.faults = faults;
  note_delivery(attempt.result.record, &out.faults);
  out.verdict = attempt.judgement.verdict;
  out.detail = attempt.judgement.detail;
  out.seconds = attempt.result.seconds;
  return out;
}

}  // namespace filibuster
