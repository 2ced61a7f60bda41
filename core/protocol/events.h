// Events: what agents tell the daemon through the ring. Each is a fixed part followed by texts,
// each text with a 16-bit length. encode() never allocates; decode() checks every bound (the ring
// belongs to someone else's process).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/hash.h"
#include "core/rpc/ending.h"
#include "core/rpc/protocol.h"

namespace filibuster {

enum class EventType : uint16_t {
  kFiller = 0,
  kRpcIssued = 1,
  kRpcReceived = 2,
  kRpcFinished = 3,
  kIncomingFinished = 4,
  kFaultFired = 5,
  kListen = 6,
  kNotInterposed = 7,
  kRpcFinalized = 8,     // a preliminary index got its payload
  kNote = 9,             // something the report must say (a forged header, no libunwind, ...)
  kRpcFields = 10,       // the fields of a body, where the session asks for them
  kUnseenRequests = 11,  // requests went over a connection that is being retired
  kRpcBody = 12,         // what a request sent of its body after kRpcIssued
  kNoLimit = 13,         // a thread waits without a limit for what a fault holds back
  kConnectionSeen = 14,  // in a recording: what connection it is whose bytes and RPCs follow
  kRpcAt = 15,           // in a recording: where the message of an RPC is
};

// How the parent of an RPC was found (docs/laws.md, law 3).
enum class Cause : uint8_t { kNone = 0, kHeader, kThread, kTask, kOnlyActive, kEntry, kProgram };
std::string_view cause_name(Cause cause);

enum RpcFlags : uint16_t {
  kRpcPreliminary = 1u << 0,
  kRpcOpensConnection = 1u << 1,   // first request on its connection: connect_key is meaningful
  kRpcRefusedAtConnect = 1u << 2,  // never sent: made from the plan entry at connect
  kRpcLate = 1u << 3,              // its cause belongs to an older execution
  kRpcEntry = 1u << 4,             // formed on arrival: the caller carries no agent
  kRpcPayloadTruncated = 1u << 5,
  kRpcHttp2 = 1u << 6,
  kRpcGrpc = 1u << 7,       // `target` is /package.Service/Method
  kRpcRedis = 1u << 8,      // `method` is a command, `target` a pattern of its key
  kRpcEncrypted = 1u << 9,  // over TLS
  kRpcWasAttempted =
      1u << 10,           // it says that there were attempts before it (kGrpcPreviousAttempts)
  kRpcSealed = 1u << 11,  // Protocol::kSealed
  // Its cause is not known, and might be, had no request of its process been given up before in this execution.
  kRpcAfterGivingUp = 1u << 12,
  // No request that was seen led to it: the runtime says so, or its call site calls while no request is open.
  kRpcBackground = 1u << 13,
};
inline Protocol protocol_of(uint16_t rpc_flags) {
  if ((rpc_flags & kRpcRedis) != 0) return Protocol::kRedis;
  if ((rpc_flags & kRpcSealed) != 0) return Protocol::kSealed;
  return (rpc_flags & kRpcGrpc) != 0 ? Protocol::kGrpc : Protocol::kHttp;
}

struct RpcIssued {
  uint64_t rpc = 0;         // agent id << 32 | sequence
  uint64_t parent_rpc = 0;  // the incoming RPC that caused it; 0 = entry or unknown
  Hash128 index;
  Hash128 parent_path;
  Hash128 signature;  // invocation signature r
  Hash128 payload;
  Hash128 stack;
  Hash128 connect_key;
  uint32_t count = 0;
  Cause cause = Cause::kNone;
  uint16_t flags = 0;
  uint32_t thread = 0;  // tid
  Hash128 request_id;   // hash of the value; zero: it has none. The value itself may be a secret.
  // texts
  std::string_view service;     // m: target service
  std::string_view method;      // GET
  std::string_view target;      // /movies/1?x=2, truncated
  std::string_view body;        // sample
  std::string_view stack_text;  // frames innermost first, one a line: "F file:line function" (a
                                // runtime's frame) or "N buildid+offset path" (native, hexadecimal)
  std::string_view peer;        // "127.0.0.1:5001"
  std::string_view request_id_name;  // of its header field, lower case
  std::string_view told;             // header fields, one a line (core/rpc/told_fields.h)
};

struct RpcReceived {  // this service terminated the call
  uint64_t rpc = 0;   // from the header; for kRpcEntry the id that the receiving agent gave
  uint32_t thread = 0;
  uint16_t flags = 0;  // kRpcEntry: an RpcIssued with the same id precedes it
};

struct RpcFinished : RpcEnding {
  uint64_t rpc = 0;
  // 1: we made this outcome; 2: a silence of ours, whose wait was ended at once.
  uint8_t injected = 0;
  uint32_t error = 0;         // errno; of kReset on an HTTP/2 stream 0, and `stream_error` is set
  uint32_t stream_error = 0;  // kReset: error code of RST_STREAM or GOAWAY (RFC 9113 §7)
  Hash128 body;               // digest of the response body
  uint64_t body_size = 0;
  std::string_view body_sample;
  std::string_view grpc_message;  // decoded
  std::string_view code;          // the word of code_space; "" of a success
  // Status of an answer that began, where `outcome` is another than kAnswered. 0: no head of one was read.
  uint16_t begun = 0;
};

struct IncomingFinished {
  uint64_t rpc = 0;
  uint16_t status = 0;  // 0: connection closed without an answer
  uint8_t grpc_status = kNoGrpcStatus;
};

// By what an RPC is known to be a further attempt of the call that an earlier RPC made.
enum class GroupedBy : uint8_t {
  kFirst = 0,         // it is the first attempt
  kRequestId = 1,     // the same request id
  kGrpcAttempts = 2,  // it says that there were attempts, and method and payload are the same
  kSameRequest =
      3,  // the same signature and payload from the same call site, after the earlier attempt failed
};
std::string_view grouped_by_name(GroupedBy rule);

struct FaultFired {
  uint64_t rpc = 0;
  uint32_t plan_entry = 0;
  uint8_t how = 0;  // FaultHow
  // Of a sequence of attempts: the number of this one, from 1, and which rule said that it is one (GroupedBy).
  // 0: the fault is no sequence.
  uint32_t attempt = 0;
  GroupedBy grouped_by = GroupedBy::kFirst;
  std::string_view detail;
};
enum class FaultHow : uint8_t {
  kInjected = 0,
  kResetInsteadOfRefused = 1,  // the connection was open already
  kNotInjected = 2,            // detail says why: the execution is 'plan not met'
  kLeaseExpired = 3,
  // A connection was ended for the fault, and another RPC (the event's) used that connection: 'plan not
  // met', although the fault may be injected as well.
  kHitAnother = 4,
  // The fault was first reported as kResetInsteadOfRefused. Then the client tried again by itself, and
  // that connect was refused: the caller sees a refusal.
  kRefusedAfterAll = 5,
  // An attempt of a sequence that passes, as the sequence says.
  kAttemptPasses = 6,
};

// Details of kNotInjected by which the daemon tells the cause.
inline constexpr char kConnectionEndedFirst[] = "the connection ended first";
inline constexpr char kOpenedNoConnection[] =
    "it did not open its connection where the plan expected it";
// "Expect: 100-continue", and a server that does not wait for the body.
inline constexpr char kAnsweredFirst[] = "the server answered before the request was complete";
// Of a fault of the server's certificate.
inline constexpr char kCheckNotReached[] = "how its TLS library checks certificates is not reached";
inline constexpr char kDoesNotCheck[] =
    "the client does not check the server's certificate, or resumed an earlier session";
inline constexpr char kPartWasSent[] = "a part of it had been sent before all of it was known";

struct Listen {
  uint16_t port = 0;  // 0: unix
  uint8_t kind = 0;   // TargetKind
  uint8_t address[16] = {};
  std::string_view service;
  std::string_view path;  // unix
};

enum class NotInterposedReason : uint8_t {
  kTls = 1,
  kUnknownProtocol,
  kMidStream,
  kTableFull,
  kHttp2,
  kUpgraded,
  kSpliced,
  kUdp,
  kStdio,
  kForeignDescriptor,
  kHttp2Before,        // the connection was open before the session, and could not be retired
  kRedis,              // the service is not declared to speak Redis: its calls get no faults
  kRedisBlocking,      // a command that waits for what others do
  kRedisSubscription,  // publish/subscribe, MONITOR: the server speaks unasked from then on
  kRedisUnfollowed,    // a command after which replies cannot be told apart (CLIENT REPLY, PSYNC)
  kSealed,      // TLS that nobody decrypts: its connection gets faults, and no answer is made
  kOpenBefore,  // of an attached service: the connection was open before, and cannot be ended politely
};
std::string_view reason_name(NotInterposedReason reason);
struct NotInterposed {
  NotInterposedReason reason = NotInterposedReason::kUnknownProtocol;
  uint8_t outgoing = 1;
  std::string_view peer;
  std::string_view service;  // target service if known
};

struct RpcFinalized {
  uint64_t rpc = 0;
  Hash128 payload;
  Hash128 signature;
  Hash128 index;
};

enum class NoteKind : uint8_t {
  kOther = 0,
  // A runtime of the process is not followed, or not wholly: its call sites or causes are missing
  // from the first request on, so a person hears it at once.
  kRuntime = 1,
};

struct Note {
  std::string_view text;
  NoteKind kind = NoteKind::kOther;
};

// The leaves of one complete body (core/index/body_walker.h), so that executions can be compared field
// by field.
struct RpcFields {
  uint64_t rpc = 0;
  uint8_t response = 0;     // 1: of the response, 0: of the request
  uint8_t form = 0;         // BodyForm
  uint8_t whole = 0;        // 1: `leaves` has all of them
  uint64_t size = 0;        // of the body
  Hash128 plain;            // its digest with nothing masked
  std::string_view leaves;  // each: 64-bit hash of the value, 16-bit length of the path, the path
};

// The first bytes of a request's body, where RpcIssued was sent before they were written. For a gRPC
// call it is sent as soon as the first message is there: a fault injection predicate may ask about its
// arguments before the request ends.
struct RpcBody {
  uint64_t rpc = 0;
  uint8_t truncated = 0;  // 1: there is more of it
  std::string_view body;
};

// A thread of the caller waits for the rest of the answer to this RPC, for nothing else, and without a limit. The rest is what a
// fault of ours holds back, so it never comes.
struct NoLimit {
  uint64_t rpc = 0;
};

// Requests that went over an HTTP/2 connection that was open before the session and whose client is
// being told to open another one. They were not seen, or, on a connection that an earlier session's
// relay has ended, the client tries them again. So this execution does not show what others will show.
struct UnseenRequests {
  uint64_t count = 0;
  std::string_view peer;
  std::string_view service;  // target service if known
};

// What is spoken on a connection, above its encryption.
enum class StreamProtocol : uint8_t { kNone = 0, kHttp1, kHttp2, kRedis };

// From where on a recording has the bytes of a connection.
enum class SeenFrom : uint8_t {
  kItsFirstByte = 0,
  kAMessage = 1,   // nothing was under way as they began, so that a message begins there
  kTheMiddle = 2,  // of a message, or of a state that earlier bytes have made (HPACK)
};

// The first bytes of a connection in a recording go by (lane_memory.h `recording`). It is said once in each recording, and by a
// forked child again, which has connections of its parent.
struct ConnectionSeen {
  uint64_t connection = 0;  // its number in this agent
  uint32_t recording = 0;
  uint8_t server = 0;  // 1: this process receives the requests
  // As it is known by then: an HTTP/1 connection may be upgraded later.
  StreamProtocol protocol = StreamProtocol::kHttp1;
  SeenFrom seen_from = SeenFrom::kItsFirstByte;
  uint64_t messages = 0;    // how many requests went by before, as RpcAt::number counts them
  uint16_t local_port = 0;  // 0: it has none (a Unix socket)
  std::string_view local, peer;
  std::string_view service;  // target service if known
};

// Where the request of an RPC is, in a recording. It comes after RpcIssued or RpcReceived. The bytes are on the tape, to which this
// ring has no order.
struct RpcAt {
  uint64_t rpc = 0;  // of an incoming one with our field: that of its caller
  uint64_t connection = 0;
  // The how many-th request of its connection it is, from 1 (HTTP/1); its stream (HTTP/2); the how many-th command (Redis; of a
  // transaction that of its MULTI).
  uint64_t number = 0;
  uint8_t incoming = 0;
};

// Encoders: number of bytes written into `out`, 0 if it does not fit. Texts longer than 65535 bytes
// are cut. Decoders: false if malformed; the views point into `data`.
inline constexpr size_t kMaxEvent = 64 * 1024;
// Every event that is encoded, once.
#define FILIBUSTER_EVENTS(Do)                                                                  \
  Do(RpcIssued) Do(RpcReceived) Do(RpcFinished) Do(IncomingFinished) Do(FaultFired) Do(Listen) \
      Do(NotInterposed) Do(RpcFinalized) Do(Note) Do(RpcFields) Do(UnseenRequests) Do(RpcBody) \
          Do(NoLimit) Do(ConnectionSeen) Do(RpcAt)
#define FILIBUSTER_EVENT(Type)                                 \
  size_t encode(const Type& event, uint8_t* out, size_t size); \
  bool decode(const uint8_t* data, size_t size, Type* out);
FILIBUSTER_EVENTS(FILIBUSTER_EVENT)
#undef FILIBUSTER_EVENT

}  // namespace filibuster
