// Calls that some of the executions without faults make and others do not: something is kept from one execution to the next, and
// no fault can be planned for them. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"
#include "daemon/observe/unstable_rpcs.h"

namespace filibuster {

struct CallOfSome {
  std::string rpc;  // as describe_rpc() names it
  std::string caller;
  std::string call_site;     // "catalog.py:25 (books)"; "": not known
  std::set<size_t> in_runs;  // those of the executions that make it, from 0
};
using Records = std::vector<const ExecutionRecord*>;  // executions without faults, in their order

// Those that would get faults, by their names. RPCs of unknown causes and those whose contents vary are not among them.
std::vector<CallOfSome> calls_of_some(const Records& runs, const Config& config,
                                      const std::vector<NondeterminismRule>& masks,
                                      const UnstableRpcs& unstable);

// "seen in 1 of 4 executions without faults: the first execution alone makes it: ..."
std::string why_not_planned(const CallOfSome& call, size_t runs);
// What they are, and what to do so that they can be tested.
std::string kept_state_warning(const std::vector<CallOfSome>& calls, const Records& runs,
                               const Config& config);
// How the note begins that says what to do.
inline constexpr std::string_view kComeInSome = "RPCs that come in some executions only: ";
std::string kept_state_note(const std::vector<CallOfSome>& calls, const Records& runs,
                            const Config& config);

}  // namespace filibuster
