#include "daemon/lint/record_view.h"

#include <algorithm>
#include <cstdio>

#include "core/grpc/call.h"
#include "core/resp/commands.h"
#include "daemon/model/call_name.h"
#include "daemon/redact/redact.h"

namespace filibuster::lint {

RecordView::RecordView(const ExecutionRecord& record) : record_(record) {
  for (const RpcRecord& rpc : record.rpcs) by_id_.emplace(rpc.rpc, &rpc);
  std::unordered_map<uint64_t, size_t> places;
  for (const RpcRecord& rpc : record.rpcs) {
    if (!is_of_this_execution(rpc) || is_test_call(rpc) || rpc.cause == Cause::kNone) continue;
    const auto incoming = by_id_.find(rpc.parent_rpc);
    if (rpc.parent_rpc == 0 || incoming == by_id_.end()) continue;
    const auto [place, added] = places.emplace(rpc.parent_rpc, groups_.size());
    if (added) groups_.push_back({incoming->second, {}});
    groups_[place->second].rpcs.push_back(&rpc);
  }
}

const RpcRecord* RecordView::root_of(const RpcRecord& rpc) const {
  const RpcRecord* at = &rpc;
  for (size_t steps = 0; steps <= by_id_.size(); ++steps) {
    if (is_test_call(*at)) return at;
    const auto parent = by_id_.find(at->parent_rpc);
    if (at->parent_rpc == 0 || parent == by_id_.end()) return nullptr;
    at = parent->second;
  }
  return nullptr;  // the causes form a circle
}

bool is_of_this_execution(const RpcRecord& rpc) {
  return (rpc.flags & kRpcLate) == 0;
}

namespace {

// True for codes that the same request would get again, by the documentation of gRPC's status codes:
// the request is wrong, or what it asks for is not there.
bool is_final(grpc::Code code) {
  using grpc::Code;
  switch (code) {
    case Code::kOk:
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kUnauthenticated:
      return true;
    default:
      return false;
  }
}

// False for codes that a server gives only until it, or its cluster, can execute the command: a second
// request may succeed.
bool is_final_redis(std::string_view code) {
  constexpr std::string_view kPassing[] = {"BUSY",       "CLUSTERDOWN", "LOADING",
                                           "MASTERDOWN", "MISCONF",     "NOREPLICAS",
                                           "OOM",        "READONLY",    "TRYAGAIN"};
  return std::find(std::begin(kPassing), std::end(kPassing), code) == std::end(kPassing);
}

// A transaction changes nothing if none of its commands does. A command that is not in the table may
// change anything.
bool changes_nothing(std::string_view command, std::string_view target) {
  if (command == "MULTI") {
    while (!target.empty()) {
      const size_t end = target.find(", ");
      const std::string_view one = target.substr(0, end);
      if (!changes_nothing(one.substr(0, one.find(' ')), "")) return false;
      target = end == std::string_view::npos ? std::string_view() : target.substr(end + 2);
    }
    return true;
  }
  const resp::CommandProperties* row = resp::find_command(command);
  return row != nullptr && !row->has(resp::kWrites);
}

bool has_grpc_answer(const RpcRecord& rpc) {
  return rpc.is_grpc() && rpc.status == 200;
}

}  // namespace

bool succeeded(const RpcRecord& rpc) {
  if (!rpc.answered()) return false;
  if (rpc.code_space == CodeSpace::kRedis) return is_final_redis(rpc.code);
  if (has_grpc_answer(rpc)) return is_final(static_cast<grpc::Code>(rpc.grpc_status));
  // 408 and 429 ask the client to send the request again, as 5xx does.
  return rpc.status < 500 && rpc.status != 408 && rpc.status != 429;
}

bool is_read_only(const RpcRecord& rpc) {
  if (rpc.is_redis()) return changes_nothing(rpc.method, rpc.target);
  return rpc.method == "GET" || rpc.method == "HEAD" || rpc.method == "OPTIONS";
}

std::string request_key(const RpcRecord& rpc) {
  // The payload's digest leaves out what the configuration masks; the body sample has it.
  return rpc.service + '\0' + rpc.method + '\0' + rpc.target + '\0' + to_hex(rpc.payload) + '\0' +
         rpc.body_sample;
}

std::string site_key(const RpcRecord& rpc) {
  std::string key = caller_of(rpc) + '\0' + rpc.service + '\0' + rpc.method + '\0';
  if (!rpc.stack.is_zero()) return key + to_hex(rpc.stack);
  const std::string path = path_of(rpc);
  // The path of a gRPC call names the method, the path of a Redis command the pattern of its key:
  // neither has arguments.
  if (rpc.protocol() != Protocol::kHttp) return key + path;
  return key + path.substr(0, path.rfind('/') + 1);
}

Call describe_call(const RpcRecord& rpc) {
  return {caller_of(rpc), rpc.service, rpc.method,    rpc.target,
          rpc.stack_text, rpc.index,   rpc.protocol()};
}

std::string request_text(const RpcRecord& rpc) {
  return call_name(rpc, redact(rpc.target)) + " of " + rpc.service;
}

std::string call_text(const Call& call, const char* between) {
  return call.caller + " -> " + call.service + between +
         call_name(call.method, redact(call.target), call.protocol);
}

std::string duration_text(uint64_t nanoseconds) {
  char text[32];
  const double milliseconds = static_cast<double>(nanoseconds) / 1e6;
  if (milliseconds < 1000) {
    std::snprintf(text, sizeof text, milliseconds < 10 ? "%.1f ms" : "%.0f ms", milliseconds);
  } else {
    std::snprintf(text, sizeof text, "%.1f s", milliseconds / 1000);
  }
  return text;
}

}  // namespace filibuster::lint
