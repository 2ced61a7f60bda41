// Retry groups: the attempts of one logical call, found in what an execution recorded. Pure.
//
// An RPC is a further attempt of the call that an earlier one made, if the same request of the same service caused
// both, and
//   kRequestId     both carry the same request id (core/rpc/request_ids.h); or
//   kGrpcAttempts  it says that there were attempts (gRPC's own retries), and method and payload are the same; or
//   kSameRequest   method, path, query and payload are the same, from the same call site (the innermost frame), and the
//                  earlier one had ended in an error or a timeout.
// Where a sequence of attempts was planned, the agents have decided by these rules already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/model/execution_record.h"

namespace filibuster::retries {

// Who made the further attempts.
enum class RetriedBy : uint8_t {
  kNobody = 0,  // there is one attempt
  kLibrary,  // the client library: its own id or field says so, or the stacks part in a frame of it
  kApplication,  // the stacks part in a frame of the application
  kUnknown,      // the stacks are the same: a loop at the call site, or in the library
};
std::string_view retried_by_name(RetriedBy who);

struct RetryGroup {
  std::vector<size_t> rpcs;  // positions in ExecutionRecord::rpcs, in order of issue; at least one
  std::vector<GroupedBy> grouped_by;  // of each; of the first kFirst
  std::string request_id_name;        // of the rule kRequestId; else ""
  RetriedBy retried_by = RetriedBy::kNobody;
  // The innermost frame that the first two attempts share, and that in which each goes on; "" where there is none.
  std::string shared_frame, first_frame, second_frame;
};

// Every RPC of the record is in one group. Groups are in the order of their first attempts.
std::vector<RetryGroup> group_attempts(const ExecutionRecord& record);

// Did the attempt end in an error or a timeout, as its caller saw it?
bool has_failed(const RpcRecord& rpc);

// Did the server act on the attempt and succeed, as far as is known? True for an answer below 400 (of gRPC: OK), and
// for a fault after effect in a sequence, which comes only if the server's answer is no error.
bool succeeded_at_server(const RpcRecord& rpc);

// Does the frame ("file:line (function)") belong to the interpreter, or to an installed package?
bool is_library_frame(std::string_view frame);

// In Node a function that was left by `await` once is "(async put)", and "(put)" before: both are this one.
std::string without_async(std::string frame);

// Does the client wait longer and longer between its attempts? Such a client may have ended its plan only after the limit of the test.
bool backs_off(const ExecutionRecord& record, const RetryGroup& group);

using filibuster::MutationRule;
// The first rule that matches decides.
bool is_unsafe_mutation(const RpcRecord& rpc, const std::vector<MutationRule>& rules);

}  // namespace filibuster::retries
