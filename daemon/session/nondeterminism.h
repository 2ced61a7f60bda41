// What differs between the reference executions of a test: found, described, and as far as it can
// be masked, masked field by field.
//
//   Nondeterminism found = find_nondeterminism({&run1, &run2}, rules, parts);
//   ... the agents mask `rules` and found.proposed; two more runs ...
//   found = find_nondeterminism({&run3, &run4}, all_rules, parts);   // what is left is unstable
//
// Pure: reads records that have the fields of every body (AgentHub::report_fields).
//
// A mask may merge RPCs of one execution. It is refused where that loses something: where a field
// that it hides is the same in every execution for one of them (it told them apart), or where they
// are concurrent (then not even their order tells them apart). RPCs that follow one another and
// differ only in what varies anyway are told apart by their invocation count.
#pragma once

#include <string>
#include <vector>

#include "daemon/agents/execution_record.h"
#include "daemon/config/config.h"
#include "daemon/report/finding.h"
#include "daemon/session/rpc_matching.h"
#include "daemon/session/unstable_rpcs.h"

namespace filibuster {

struct Nondeterminism {
  std::vector<Variation> variations;         // all that varied, for people
  std::vector<NondeterminismRule> proposed;  // masks beyond `rules`
  UnstableRpcs unstable;                     // what neither covers
  // Of `rules`: "rule 1 ... would make A and B one RPC". They must not be used.
  std::vector<std::string> too_broad;
};
Nondeterminism find_nondeterminism(const std::vector<const ExecutionRecord*>& runs,
                                   const std::vector<NondeterminismRule>& rules,
                                   uint32_t index_parts, const FieldNames& names = {});

}  // namespace filibuster
