// Finds and describes what differs between the reference executions of a test, and proposes masks for
// it, field by field, as far as it can be masked.
//
//   Nondeterminism found = find_nondeterminism({&run1, &run2}, rules, parts);
//   ... the agents mask `rules` and found.proposed; two more runs ...
//   found = find_nondeterminism({&run3, &run4}, all_rules, parts);   // what is left is unstable
//
// No state and no I/O. The records must have the fields of every body (AgentHub::report_fields).
//
// A mask may merge RPCs of one execution: they then differ by their invocation count only. A mask is
// refused if that loses something: if a field that it hides tells the RPCs apart and does not vary
// from execution to execution, or if the RPCs are concurrent, so that not even their order tells them
// apart. By their order of arrival (Order::kOfArrival) concurrent RPCs are told apart, too, and their whole path may be masked:
// what is planned for the first of them comes to the first that arrives.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"
#include "daemon/model/variation.h"
#include "daemon/observe/rpc_matching.h"
#include "daemon/observe/unstable_rpcs.h"

namespace filibuster {

// Why RPCs come in some executions only, as far as the executions in which they come say it.
inline constexpr std::string_view kKept =
    "the first execution alone makes it: is its answer kept (a cache)?";
inline constexpr std::string_view kGrows =
    "the first execution does not make it: does a state grow (a counter, a queue)?";
inline constexpr std::string_view kComesAndGoes =
    "it comes and goes: is an answer kept for a time, or does a state grow?";
// That of an RPC that these of the executions without faults make, numbered from 0.
std::string_view why_sometimes(const std::set<size_t>& in_runs, size_t executions);
// "seen in 2 of 9 executions"
std::string seen_in(size_t times, size_t executions);

struct Nondeterminism {
  std::vector<Variation> variations;         // all that varied, for people
  std::vector<NondeterminismRule> proposed;  // masks beyond `rules`
  UnstableRpcs unstable;  // RPCs that vary in what neither `rules` nor `proposed` cover
  // Why some of `rules` must not be used: "rule 1 of 'nondeterminism' would merge A and B into one RPC, ...".
  std::vector<std::string> too_broad;
};
// What no mask covers, of the RPCs that a rule would mask: they are not faulted, and where their answers vary these count by
// their status.
void leave_out(const NondeterminismRule& rule, const std::string& reason, UnstableRpcs* out);

// What tells RPCs apart that are equal but for what varies.
enum class Order : uint8_t {
  kOfCalls,    // that one follows the other: concurrent ones are told apart by nothing
  kOfArrival,  // that one is issued before the other, whichever it is: each of them stands for all
};
Nondeterminism find_nondeterminism(const std::vector<const ExecutionRecord*>& runs,
                                   const std::vector<NondeterminismRule>& rules,
                                   uint32_t index_parts, const FieldNames& names = {},
                                   Order order = Order::kOfCalls);

}  // namespace filibuster
