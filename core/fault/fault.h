// Fault specifications: what can be done to one RPC, as data. One row of `kFaultKinds` per kind.
//
// Text form (configuration, command line, reports):
//   refused | reset | reset:after | timeout | timeout:after | status:503 | status:503:after |
//   grpc:UNAVAILABLE | grpc:14 | grpc:UNAVAILABLE:after
// and, of answers of HTTP/1.1 and of gRPC:
//   latency:300ms | partial-message | empty-message | corrupt-message
// and, on HTTP/1.1 only:
//   tls:certificate-expired | tls:unknown-ca | tls:handshake-timeout | tls:closed-without-notify
//   content-length:+10 | content-length:-10 | slow-body | slow-body:2s
// and, on HTTP/2 only:
//   stream-reset | stream-reset:CANCEL | stream-reset:CANCEL:after | goaway | no-trailers |
//   grpc:UNAVAILABLE@3 | stream-reset@3 | latency:300ms@3
// and, of commands to Redis:
//   latency:300ms
// and, of these only:
//   redis:LOADING | redis:nil
// and, of the attempts of one call (core/fault/attempts.h):
//   timeout:after, 503, pass | 503 when=1..3 | 503 when=3+3
// ":after" = the server receives the request and acts on it; the answer does not come back.
// "@3" = the answer passes up to its third message, and the fault follows (gRPC calls only).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/grpc/call.h"
#include "core/http2/frame.h"
#include "core/result.h"

namespace filibuster {

enum class FaultKind : uint8_t {
  kNone = 0,
  kRefused = 1,  // ECONNREFUSED from connect; a reset where the connection is reused
  kReset = 2,    // ECONNRESET instead of an answer
  kTimeout = 3,  // no answer comes; the caller's own timer fires
  kStatus = 4,   // an HTTP answer made here
  kGrpc = 5,     // a gRPC status made here
  // On streams of HTTP/2 only, made by the relay (daemon/relay).
  kStreamReset = 6,  // RST_STREAM
  kGoaway = 7,       // GOAWAY with a lower last stream: the request may be sent again elsewhere
  // The server's own answer, changed: on HTTP/2 by the relay, on HTTP/1.1 by the finisher
  // (daemon/agents). What is said here of messages holds there for the body.
  kLatency = 8,          // later
  kPartialMessage = 9,   // its head, half of its first message, then RST_STREAM(INTERNAL_ERROR); on
                         // HTTP/1.1 the end of the connection
  kEmptyMessage = 10,    // its messages without their payload
  kCorruptMessage = 11,  // the bytes of its messages inverted
  kNoTrailers = 12,      // its messages, then the end without a grpc-status
  kRedis = 13,           // an error reply made here, or a null
  // On HTTP/1.1 only.
  kContentLength = 14,  // the answer with another Content-Length than its body has
  kSlowBody = 15,  // its head, then its body in pieces over a time, or half of it and then silence
  kTls = 16,       // the handshake of the connection that the RPC opens fails (TlsFault)
  // The attempts of one call, each with its own outcome (core/fault/attempts.h). It has no row.
  kAttempts = 17,
};

// What goes wrong in a handshake of TLS, as the client sees it.
enum class TlsFault : uint8_t {
  kNone = 0,
  kCertificateExpired = 1,  // the server's certificate has expired
  kUnknownCa = 2,           // nobody whom the client trusts has signed it
  kHandshakeTimeout = 3,    // the server does not answer the ClientHello
  kClosedWithoutNotify =
      4,  // the connection ends in the handshake, without close_notify (RFC 8446 §6.1)
};
// Does the fault happen when the RPC opens its connection, before there is a request?
bool is_at_connect(FaultKind kind);

enum class FaultArgument : uint8_t {
  kNone,
  kStatus,      // "status:503"
  kCode,        // "grpc:UNAVAILABLE", "grpc:14"
  kError,       // "stream-reset:CANCEL" (RFC 9113 §7); may be left out
  kTime,        // "latency:300ms", "latency:2s"
  kTimeOrNone,  // "slow-body:2s", "slow-body"
  kDelta,       // "content-length:+10", "content-length:-10"
  kReply,       // "redis:LOADING", "redis:nil"
  kTls,         // "tls:unknown-ca"
};

// What an RPC has to be for a fault to mean anything there.
// kAnswer: an answer of HTTP/1.1, or of gRPC. kTls: the first request of an encrypted connection.
enum class FaultNeeds : uint8_t {
  kAnyRpc,
  kHttp,
  kHttpOrRedis,
  kHttp1,
  kHttp2,
  kAnswer,
  kGrpc,
  kRedis,
  kTls
};

struct FaultKindRow {
  FaultKind kind;
  std::string_view name;
  FaultArgument argument;
  bool can_be_after;       // ":after" allowed
  bool can_be_at_message;  // "@3" allowed
  FaultNeeds needs;
  std::string_view meaning;
};
std::span<const FaultKindRow> fault_kinds();  // kNone and kAttempts have no row

// Which attempts of a call are meant, as in strace(1): first, first + step, ..., up to last.
struct Occasions {
  uint32_t first = 1, last = 1;  // last 0: there is no end
  uint32_t step = 1;
  bool covers(uint32_t number) const;
  bool operator==(const Occasions&) const = default;
};
struct AttemptRule;
struct AttemptSequence {
  std::vector<AttemptRule> rules;  // the first that covers an attempt decides it; else it passes
  bool operator==(const AttemptSequence& other) const;
};

struct FaultSpec {
  FaultKind kind = FaultKind::kNone;
  bool after_effect = false;
  uint16_t status = 0;  // kStatus only: 200..599 (a 1xx is no answer)
  std::string body;     // kStatus only
  std::vector<std::pair<std::string, std::string>> headers;  // kStatus only
  grpc::Code code = grpc::Code::kOk;                         // kGrpc only, and then never kOk
  std::string message;  // kGrpc, kRedis: UTF-8, as the caller shall read it
  std::string details;  // kGrpc only: bytes of a google.rpc.Status; empty: none
  http2::ErrorCode error = http2::ErrorCode::kInternalError;  // kStreamReset only
  // kRedis only: the code of the error reply, "LOADING" (`message` follows it); empty: a null instead.
  std::string reply;
  TlsFault tls = TlsFault::kNone;  // kTls only, and then never kNone
  uint32_t latency_ms = 0;   // kLatency, kSlowBody: 1..kMaxLatencyMs; of kSlowBody also 0 (stalls)
  int32_t delta = 0;         // kContentLength only: not 0, at most kMaxDelta either way
  uint32_t at_message = 0;   // the fault follows this message of the answer, from 1; 0: no message
  AttemptSequence attempts;  // kAttempts only
  bool operator==(const FaultSpec&) const = default;
};

struct AttemptRule {
  FaultSpec outcome;  // kNone: the attempt passes
  Occasions when;
  bool operator==(const AttemptRule&) const = default;
};

// Bounds that keep an answer within its header block (grpc::kMaxStatusBlock) in its encoded form: there
// a byte of a message takes up to three, and three bytes of details take four.
inline constexpr size_t kMaxGrpcMessage = 1024;  // bytes
inline constexpr size_t kMaxGrpcDetails = 3072;  // bytes

// Bound on the message of a fault's error reply, which is a single line.
inline constexpr size_t kMaxRedisMessage = 512;  // bytes

inline constexpr uint32_t kMaxLatencyMs = 3'600'000;
inline constexpr uint32_t kMaxMessageNumber = 1'000'000;
inline constexpr int32_t kMaxDelta = 1'000'000'000;

// Does the server's own answer pass, changed or cut short as the fault says? Otherwise none passes, or
// one that is made here.
bool changes_answer(const FaultSpec& fault);
bool changes_answer(FaultKind kind);
// Does the body of the answer stop in its middle, until the caller gives up?
bool stalls(const FaultSpec& fault);
// What an RPC has to be for this fault: what its kind needs, and a gRPC call where "@3" needs messages.
FaultNeeds needs(const FaultSpec& fault);

// The Error names the accepted forms.
Result<FaultSpec> parse_fault(std::string_view text);
// Body, headers, message and details are left out.
std::string to_text(const FaultSpec& fault);
std::string to_text(const AttemptSequence& attempts);
// to_text(), made unique where what it leaves out makes it another fault.
std::string fault_key(const FaultSpec& fault);

// A code of a failure by its name or number: "UNAVAILABLE", "14". The Error says what was meant.
Result<grpc::Code> parse_error_code(std::string_view text);

// A code of RST_STREAM by its name: "CANCEL". The Error says what was meant.
Result<http2::ErrorCode> parse_stream_error(std::string_view text);
// What stands behind "redis:": "LOADING"; "" for "nil". The Error says what was meant.
Result<std::string> parse_redis_reply(std::string_view text);
// "300ms", "2s".
Result<uint32_t> parse_latency(std::string_view text);
// "+10", "-10".
Result<int32_t> parse_delta(std::string_view text);

// The faults of RPCs that no rule is for. HTTP: refused, timeout, 500, 502, 503.
std::vector<FaultSpec> default_http_faults();
// gRPC: UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL, UNIMPLEMENTED, UNKNOWN, as statuses made here. A
// refused connection is UNAVAILABLE to a gRPC application and a silence DEADLINE_EXCEEDED, made by
// its own library: as faults they would only repeat these two, the silence each time with a wait
// for the caller's deadline.
std::vector<FaultSpec> default_grpc_faults();

// Redis: refused, timeout and LOADING of every command, READONLY of one that writes, OOM of one that
// may need memory. `resource`: of MULTI the commands that the transaction holds, "SET user:*, INCR visits".
std::vector<FaultSpec> default_redis_faults(std::string_view method, std::string_view resource);

// Of TLS that nobody decrypts: refused, timeout, reset.
std::vector<FaultSpec> default_sealed_faults();

// The error that the caller receives for a kRedis fault, without its '-' and its line end; with the
// words of Redis where the fault has none of its own. "" for a null.
std::string redis_error_line(const FaultSpec& fault);

// The HTTP/1.1 response that the caller receives for a kStatus fault; always has Content-Length
// (but 204, RFC 9110 §8.6) and Connection: close (the connection to the real server is given up).
// For HEAD, 204 and 304 no body follows. Fields that would break the framing are left out.
std::string render_http_response(const FaultSpec& fault, bool head_request);

}  // namespace filibuster
