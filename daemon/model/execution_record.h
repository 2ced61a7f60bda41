// What the events of one execution add up to: the concrete test execution (dissertation Definition 16)
// with everything a report needs. Made by AgentHub, read by session/, report/ and api/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fault/fault.h"
#include "core/hash.h"
#include "core/index/body_walker.h"
#include "core/protocol/events.h"
#include "daemon/model/hang_limit.h"
#include "daemon/model/no_conclusion.h"

namespace filibuster {

// The fields of one body, where the execution reported them (AgentHub::report_fields).
struct BodyFields {
  bool known = false;  // the body was complete, and an agent reported it
  bool whole = false;  // `leaves` are all of them
  BodyForm form = BodyForm::kEmpty;
  uint64_t size = 0;
  Hash128 plain;                                         // digest of the body with nothing masked
  std::vector<std::pair<std::string, uint64_t>> leaves;  // path (body_walker.h), hash of the value
};

struct RpcRecord : RpcEnding {
  RpcRecord() { outcome = RpcOutcome::kClosed; }
  uint64_t rpc = 0;
  uint64_t parent_rpc = 0;
  Hash128 index;   // final (after kRpcFinalized)
  Hash128 parent;  // final index of the causing RPC; zero: [] or unknown
  Hash128 signature, payload, stack, connect_key;
  uint32_t count = 0;
  // Places in the order of issue, from 1, among the RPCs with this parent and to this service: `number`
  // among those from this call stack, `service_number` among those from any.
  uint32_t number = 0, service_number = 0;
  Cause cause = Cause::kNone;
  uint16_t flags = 0;  // RpcFlags
  uint32_t pid = 0, thread = 0;
  uint64_t issued_ns = 0, finished_ns = 0;  // CLOCK_MONOTONIC; 0: not (yet)
  std::string caller;                       // service name of the agent that issued it
  std::string service;                      // m in the signature
  std::string received_by;  // service whose agent received it; empty: none (third party, faulted)
  std::string method, target, body_sample, peer;
  // For a gRPC call, where descriptors are at hand: its first message as a JSON object ("": it is not
  // known, and `arguments_problem` says why), and whether all of its fields were seen.
  std::string arguments, arguments_problem;
  bool arguments_whole = false;
  std::vector<std::string> stack_text;  // innermost first, symbolized where possible
  bool open = true;                     // no RpcFinished yet
  bool incoming_open = false;
  uint32_t error = 0;
  uint32_t stream_error = 0;  // of an HTTP/2 stream that was reset (RFC 9113 §7)
  std::string grpc_message;
  uint16_t begun = 0;  // status of an answer that began and was not read to its end (RpcFinished)
  std::string code;    // of an answer whose code is a word (RpcFinished)
  // Digest of the response body; for a gRPC call that failed, also of the status' message and details.
  Hash128 response;
  uint64_t response_size = 0;
  std::string response_sample;
  BodyFields request_fields, response_fields;
  bool injected = false;  // a fault of ours was injected
  bool elapsed = false;   // the fault was a silence, and its caller's wait was ended at once
  FaultSpec fault;        // what was injected
  HangLimit hang_limit;   // of the fault, if the daemon had to end it
  // The RPC is an attempt of a call for which a sequence was planned: the attempt's number, from 1, the final index
  // of the first one, and how it was told to be one. 0: it is none. One that passes has no fault.
  uint32_t attempt = 0;
  Hash128 attempt_of;
  GroupedBy grouped_by = GroupedBy::kFirst;
  // The fault was to follow its effect, and the server's answer was an error already: that answer passed.
  bool was_error_already = false;
  Hash128 request_id;           // hash of the request id that it carries; zero: none
  std::string request_id_name;  // of its header field
  // Header fields that its agent told (core/rpc/told_fields.h): names in lower case, and values.
  std::vector<std::pair<std::string, std::string>> told;

  // nullptr: it was not told such a field.
  const std::string* told_value(std::string_view name) const {
    for (const auto& field : told) {
      if (field.first == name) return &field.second;
    }
    return nullptr;
  }
  Protocol protocol() const { return protocol_of(flags); }
  bool is_grpc() const { return protocol() == Protocol::kGrpc; }
  bool is_redis() const { return protocol() == Protocol::kRedis; }
  bool is_sealed() const { return protocol() == Protocol::kSealed; }
  bool answered() const { return !open && is_answer(); }
  // It was answered, and the answer is an error.
  bool answered_with_error() const { return !open && is_error(protocol()); }
  // It did not end well: with an error, without an answer, or not at all.
  bool failed() const { return open || RpcEnding::failed(protocol()); }
  // A refusal was planned, but the connection was open: the caller saw a reset.
  bool refused_as_reset() const {
    return injected && fault.kind == FaultKind::kRefused && outcome != RpcOutcome::kRefused;
  }
};

// An answer that the daemon passed on in the place of a planned fault after effect, since it was an error already.
struct PassedAnswer {
  uint16_t status = 0;
  uint8_t grpc_status = kNoGrpcStatus;
  Hash128 body;
  uint64_t body_size = 0;
  std::string_view body_sample;
};

struct NotInterposedRecord {
  std::string service, peer, target_service, reason;
  bool outgoing = true;
  uint64_t times = 1;
};

// Requests that went over connections which were open before the session, while their clients were being told to open
// other ones.
struct UnseenRecord {
  std::string service, peer, target_service;
  uint64_t requests = 0;
  // `service` is attached to, and is at either end. Most of such connections end with the request, so there are fewer of
  // them from execution to execution. Who is at the other end is not known.
  bool attached = false;
};

struct AgentRecord {
  uint32_t agent = 0, pid = 0;
  uint64_t start_time = 0;  // as the process says (field 22 of proc(5)'s stat)
  std::string service, executable, notes;
  bool alive = true;
};

struct ExecutionRecord {
  uint32_t execution = 0;
  std::vector<RpcRecord> rpcs;  // in order of issue (time, then agent)
  std::vector<NotInterposedRecord> not_interposed;
  std::vector<UnseenRecord> unseen;
  std::vector<std::string> notes;             // "users (pid 12): forged header ignored"
  std::vector<std::string> runtime_problems;  // "web: node: not followed under --no-addons: ..."
  std::vector<NotInjected> not_injected;      // planned faults that did not fire
  std::vector<std::string> late;              // requests of older executions that were received
  std::vector<std::string> late_calls;  // "front -> back GET /": RPCs whose cause belongs to an
                                        // execution that was over, or is answered already
  std::vector<std::string> still_open;  // filled when not quiescent
  uint64_t lost_events = 0;
  std::string lost_why;  // why one of them was lost, where that is known
  NoConclusion lost_cause = NoConclusion::kEventsLost;
  uint64_t damaged_fields = 0;  // header fields that were not of this session: ignored or overruled
  bool quiescent = true;
  bool names_changed =
      false;  // an address got its name after an RPC had been sent there: its index is not final
  uint64_t started_ns = 0, ended_ns = 0;
};

}  // namespace filibuster
