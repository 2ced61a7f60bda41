#include "core/fault/fault.h"

#include <algorithm>
#include <array>

#include "core/fault/attempts.h"
#include "core/fault/reason_phrases.h"
#include "core/hash.h"
#include "core/text/ascii.h"
#include "core/text/duration.h"
#include "core/text/nearest.h"

namespace filibuster {
namespace {

using Argument = FaultArgument;
using Needs = FaultNeeds;
constexpr std::array<FaultKindRow, 16> kFaultKinds = {{
    {FaultKind::kRefused, "refused", Argument::kNone, false, false, Needs::kAnyRpc,
     "the connection is refused (ECONNREFUSED)"},
    {FaultKind::kReset, "reset", Argument::kNone, true, false, Needs::kAnyRpc,
     "the connection is reset (ECONNRESET)"},
    {FaultKind::kTimeout, "timeout", Argument::kNone, true, false, Needs::kAnyRpc,
     "no answer comes; the caller's own timer fires"},
    {FaultKind::kStatus, "status", Argument::kStatus, true, false, Needs::kHttp,
     "an HTTP answer with this status"},
    {FaultKind::kGrpc, "grpc", Argument::kCode, true, true, Needs::kGrpc,
     "a gRPC call ends with this status"},
    {FaultKind::kStreamReset, "stream-reset", Argument::kError, true, true, Needs::kHttp2,
     "the stream is reset (RST_STREAM) with this error"},
    {FaultKind::kGoaway, "goaway", Argument::kNone, false, false, Needs::kHttp2,
     "the server leaves (GOAWAY) and has not taken the request"},
    {FaultKind::kLatency, "latency", Argument::kTime, false, true, Needs::kHttpOrRedis,
     "the server's answer comes later"},
    {FaultKind::kPartialMessage, "partial-message", Argument::kNone, false, false, Needs::kAnswer,
     "half of the answer (of gRPC: of its first message), then its connection or stream ends"},
    {FaultKind::kEmptyMessage, "empty-message", Argument::kNone, false, false, Needs::kAnswer,
     "the body of the answer (of gRPC: its messages) is empty"},
    {FaultKind::kCorruptMessage, "corrupt-message", Argument::kNone, false, false, Needs::kAnswer,
     "the bytes of the body of the answer (of gRPC: of its messages) are inverted"},
    {FaultKind::kNoTrailers, "no-trailers", Argument::kNone, false, false, Needs::kGrpc,
     "the answer ends without a grpc-status"},
    {FaultKind::kRedis, "redis", Argument::kReply, false, false, Needs::kRedis,
     "a command to Redis is answered with this error, or with a null"},
    {FaultKind::kContentLength, "content-length", Argument::kDelta, false, false, Needs::kHttp1,
     "the Content-Length of the answer is larger or smaller than its body"},
    {FaultKind::kSlowBody, "slow-body", Argument::kTimeOrNone, false, false, Needs::kHttp1,
     "the body of the answer comes in pieces over this time, or stops in its middle"},
    {FaultKind::kTls, "tls", Argument::kTls, false, false, Needs::kTls,
     "the handshake of its connection fails, as the client sees it"},
}};

constexpr std::string_view kTlsFaults[] = {"certificate-expired", "unknown-ca", "handshake-timeout",
                                           "closed-without-notify"};

// The messages of Redis 7 behind the codes of its errors, where they are the same each time; sorted.
struct RedisError {
  std::string_view code, message;
};
constexpr RedisError kRedisErrors[] = {
    {"BUSY", "Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
    {"BUSYGROUP", "Consumer Group name already exists"},
    {"BUSYKEY", "Target key name already exists."},
    {"CLUSTERDOWN", "The cluster is down"},
    {"CROSSSLOT", "Keys in request don't hash to the same slot"},
    {"ERR", "max number of clients reached"},
    {"EXECABORT", "Transaction discarded because of previous errors."},
    {"LOADING", "Redis is loading the dataset in memory"},
    {"MASTERDOWN", "Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
    {"MISCONF",
     "Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. "
     "Commands that may modify the data set are disabled, because this instance is configured to "
     "report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). "
     "Please check the Redis logs for details about the RDB error."},
    {"NOAUTH", "Authentication required."},
    {"NOREPLICAS", "Not enough good replicas to write."},
    {"NOSCRIPT", "No matching script. Please use EVAL."},
    {"NOTBUSY", "No scripts in execution right now."},
    {"OOM", "command not allowed when used memory > 'maxmemory'."},
    {"READONLY", "You can't write against a read only replica."},
    {"TRYAGAIN", "Multiple keys request during rehashing of slot"},
    {"UNKILLABLE",
     "Sorry the script already executed write commands against the dataset. You can either wait the "
     "script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."},
    {"WRONGPASS", "invalid username-password pair or user is disabled."},
    {"WRONGTYPE", "Operation against a key holding the wrong kind of value"},
};
constexpr bool by_code(const RedisError& a, const RedisError& b) {
  return a.code < b.code;
}
static_assert(std::is_sorted(std::begin(kRedisErrors), std::end(kRedisErrors), by_code));

// "redis:nil" stands for a null in place of an error.
constexpr std::string_view kNilReply = "nil";
constexpr size_t kMaxRedisCode = 32;  // characters

constexpr uint16_t kMinStatus = 200;  // a 1xx is no answer: its caller would go on waiting
constexpr uint16_t kMaxStatus = 599;

Error not_a_fault(std::string_view text, std::string_view why) {
  return Error{
      "'" + std::string(text) + "' is not a fault: " + std::string(why) +
      "; expected refused, reset, timeout, status:503 or grpc:UNAVAILABLE, and all but "
      "the first also with ':after' (status:503:after); on HTTP/2 also "
      "stream-reset:CANCEL, goaway and latency:300ms; of HTTP/1.1 and gRPC answers partial-message, "
      "empty-message, corrupt-message and no-trailers, and grpc:UNAVAILABLE@3, "
      "stream-reset@3 and latency:300ms@3; of commands to Redis redis:LOADING and "
      "redis:nil"};
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
    if (c == '-' || c == ' ') c = '_';
  }
  return out;
}

// The names of all gRPC codes but OK.
std::array<std::string_view, grpc::kCodes - 1> error_code_names() {
  std::array<std::string_view, grpc::kCodes - 1> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = to_name(static_cast<grpc::Code>(i + 1));
  return names;
}

// nullptr: not one of the well-known codes.
const RedisError* redis_message(std::string_view code) {
  const auto* row = std::lower_bound(std::begin(kRedisErrors), std::end(kRedisErrors),
                                     RedisError{code, {}}, by_code);
  return row != std::end(kRedisErrors) && row->code == code ? row : nullptr;
}

// ", did you mean 'grpc:UNAVAILABLE'?"; "" where nothing is near.
std::string suggestion(std::string_view kind) {
  std::array<std::string_view, kFaultKinds.size()> kinds;
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kFaultKinds[i].name;
  std::string meant(nearest(kind, kinds));
  const std::string code = upper(kind);
  if (grpc::parse_code(code) && code.find_first_of("0123456789") == std::string::npos) {
    meant = "grpc:" + code;
  } else if (redis_message(code) != nullptr) {
    meant = "redis:" + code;
  }
  return meant.empty() ? "" : ", did you mean '" + meant + "'?";
}

const FaultKindRow* row_of(FaultKind kind) {
  const auto row = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                                [&](const FaultKindRow& r) { return r.kind == kind; });
  return row != kFaultKinds.end() ? &*row : nullptr;
}

// Every code of RFC 9113 §7 but NO_ERROR, which is no failure.
constexpr uint32_t kStreamErrors = 13;
std::array<std::string_view, kStreamErrors> stream_error_names() {
  std::array<std::string_view, kStreamErrors> names;
  for (uint32_t i = 0; i < kStreamErrors; ++i) {
    names[i] = http2::to_name(static_cast<http2::ErrorCode>(i + 1));
  }
  return names;
}

// All digits, from 1 to `most`.
bool parse_number(std::string_view text, uint32_t most, uint32_t* out) {
  if (text.empty() || text.size() > 9) return false;
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  *out = value;
  return value >= 1 && value <= most;
}

// Takes the part up to the next ':' off `rest`; *more says whether another part follows.
std::string_view take_part(std::string_view* rest, bool* more) {
  const size_t colon = rest->find(':');
  *more = colon != std::string_view::npos;
  const std::string_view part = rest->substr(0, colon);
  *rest = *more ? rest->substr(colon + 1) : std::string_view();
  return part;
}

bool parse_status(std::string_view text, uint16_t* out) {
  if (text.size() != 3) return false;
  uint16_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    value = static_cast<uint16_t>(value * 10 + (c - '0'));
  }
  *out = value;
  return value >= kMinStatus && value <= kMaxStatus;
}

// A field that would end the head early, or contradict the framing given here, is left out.
bool may_send(std::string_view name, std::string_view value) {
  constexpr std::string_view kBreaks("\r\n\0", 3);
  if (name.empty() || name.find_first_of(kBreaks) != std::string_view::npos ||
      name.find_first_of(" \t:") != std::string_view::npos ||
      value.find_first_of(kBreaks) != std::string_view::npos) {
    return false;
  }
  return !equal_ignoring_case(name, "content-length") && !equal_ignoring_case(name, "connection") &&
         !equal_ignoring_case(name, "transfer-encoding");
}

}  // namespace

std::span<const FaultKindRow> fault_kinds() {
  return kFaultKinds;
}

bool is_at_connect(FaultKind kind) {
  return kind == FaultKind::kRefused || kind == FaultKind::kTls;
}

bool changes_answer(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLatency:
    case FaultKind::kPartialMessage:
    case FaultKind::kEmptyMessage:
    case FaultKind::kCorruptMessage:
    case FaultKind::kNoTrailers:
    case FaultKind::kContentLength:
    case FaultKind::kSlowBody:
      return true;
    default:
      return false;
  }
}

bool changes_answer(const FaultSpec& fault) {
  return changes_answer(fault.kind) || fault.at_message > 0;
}

bool stalls(const FaultSpec& fault) {
  return fault.kind == FaultKind::kSlowBody && fault.latency_ms == 0;
}

FaultNeeds needs(const FaultSpec& fault) {
  if (fault.at_message > 0) return FaultNeeds::kGrpc;
  const FaultKindRow* row = row_of(fault.kind);
  return row != nullptr ? row->needs : FaultNeeds::kAnyRpc;
}

Result<FaultSpec> parse_fault(std::string_view text) {
  if (is_attempts_text(text)) return parse_attempts(text);
  FaultSpec fault;
  const size_t at = text.rfind('@');
  std::string_view rest = text.substr(0, at);
  bool more = false;
  const std::string_view name = take_part(&rest, &more);
  const auto row = std::find_if(kFaultKinds.begin(), kFaultKinds.end(),
                                [&](const FaultKindRow& r) { return r.name == name; });
  if (row == kFaultKinds.end()) {
    return not_a_fault(text, "there is no such kind" + suggestion(name));
  }
  fault.kind = row->kind;
  if (row->argument == Argument::kCode) {
    if (!more) return not_a_fault(text, "the status code is missing");
    const auto code = parse_error_code(take_part(&rest, &more));
    if (!code) return not_a_fault(text, code.error().message);
    fault.code = code.value();
  }
  if (row->argument == Argument::kStatus) {
    if (!more) return not_a_fault(text, "the status is missing");
    if (!parse_status(take_part(&rest, &more), &fault.status)) {
      return not_a_fault(text, "a status is a number from 200 to 599");
    }
  }
  if (row->argument == Argument::kReply) {
    if (!more) return not_a_fault(text, "the code of the error is missing, as in redis:LOADING");
    auto reply = parse_redis_reply(take_part(&rest, &more));
    if (!reply) return not_a_fault(text, reply.error().message);
    fault.reply = std::move(reply).value();
  }
  if (row->argument == Argument::kTime || (row->argument == Argument::kTimeOrNone && more)) {
    if (!more) return not_a_fault(text, "the time is missing, as in latency:300ms");
    const auto time = parse_latency(take_part(&rest, &more));
    if (!time) return not_a_fault(text, time.error().message);
    fault.latency_ms = time.value();
  }
  if (row->argument == Argument::kDelta) {
    if (!more) return not_a_fault(text, "the number is missing, as in content-length:+10");
    const auto delta = parse_delta(take_part(&rest, &more));
    if (!delta) return not_a_fault(text, delta.error().message);
    fault.delta = delta.value();
  }
  if (row->argument == Argument::kTls) {
    const std::string_view which = take_part(&rest, &more);
    const auto found = std::find(std::begin(kTlsFaults), std::end(kTlsFaults), which);
    if (found == std::end(kTlsFaults)) {
      const std::string_view near = nearest(which, kTlsFaults);
      std::string all;
      for (const std::string_view one : kTlsFaults)
        all += (all.empty() ? "tls:" : ", tls:") + std::string(one);
      return not_a_fault(text, near.empty() ? "there are " + all
                                            : "did you mean 'tls:" + std::string(near) + "'?");
    }
    fault.tls = static_cast<TlsFault>(found - std::begin(kTlsFaults) + 1);
  }
  if (row->argument == Argument::kError && more && rest != "after") {
    const auto error = parse_stream_error(take_part(&rest, &more));
    if (!error) return not_a_fault(text, error.error().message);
    fault.error = error.value();
  }
  if (more) {
    if (take_part(&rest, &more) != "after" || more) {
      return not_a_fault(text, "only ':after' can follow");
    }
    if (!row->can_be_after) {
      return not_a_fault(text, row->kind == FaultKind::kRefused
                                   ? "a refused connection reaches no server, so it has no ':after'"
                                   : "it has no ':after'");
    }
    fault.after_effect = true;
  }
  if (at == std::string_view::npos) return fault;
  if (!row->can_be_at_message) return not_a_fault(text, "it has no '@'");
  if (fault.after_effect) {
    return not_a_fault(text, "'@' follows a part of the answer, so it goes without ':after'");
  }
  if (!parse_number(text.substr(at + 1), kMaxMessageNumber, &fault.at_message)) {
    return not_a_fault(text, "after '@' stands the number of a message, from 1 to 1000000");
  }
  return fault;
}

std::string to_text(const FaultSpec& fault) {
  if (fault.kind == FaultKind::kAttempts) return to_text(fault.attempts);
  const FaultKindRow* row = row_of(fault.kind);
  if (row == nullptr) return "none";
  std::string text(row->name);
  if (row->argument == Argument::kStatus) text += ":" + std::to_string(fault.status);
  if (row->argument == Argument::kCode) text += ":" + std::string(to_name(fault.code));
  if (row->argument == Argument::kError && fault.error != http2::ErrorCode::kInternalError) {
    text += ":" + std::string(http2::to_name(fault.error));
  }
  if (row->argument == Argument::kTime ||
      (row->argument == Argument::kTimeOrNone && fault.latency_ms != 0)) {
    text += ":" + (fault.latency_ms % 1000 == 0 ? std::to_string(fault.latency_ms / 1000) + "s"
                                                : std::to_string(fault.latency_ms) + "ms");
  }
  if (row->argument == Argument::kDelta)
    text += (fault.delta > 0 ? ":+" : ":") + std::to_string(fault.delta);
  if (row->argument == Argument::kTls)
    text += ":" + std::string(kTlsFaults[static_cast<size_t>(fault.tls) - 1]);
  if (row->argument == Argument::kReply) {
    text += ":" + (fault.reply.empty() ? std::string(kNilReply) : fault.reply);
  }
  if (fault.after_effect) text += ":after";
  if (fault.at_message > 0) text += "@" + std::to_string(fault.at_message);
  return text;
}

std::string fault_key(const FaultSpec& fault) {
  const std::string text = to_text(fault);
  std::string rest = fault.body;
  for (const auto& [name, value] : fault.headers) rest += '\n' + name + ':' + value;
  if (!fault.message.empty() || !fault.details.empty()) {
    rest += fault.message + '\0' + fault.details;
  }
  for (size_t i = 0; i < fault.attempts.rules.size(); ++i) {
    const FaultSpec& outcome = fault.attempts.rules[i].outcome;
    const std::string key = fault_key(outcome);
    if (key != to_text(outcome)) rest += std::to_string(i) + key + '\n';
  }
  return rest.empty() ? text : text + "#" + to_hex(hash_text(rest)).substr(0, 16);
}

Result<grpc::Code> parse_error_code(std::string_view text) {
  const auto names = error_code_names();
  const std::string quoted = "'" + std::string(text) + "'";
  const std::optional<grpc::Code> code = grpc::parse_code(text);
  if (code == grpc::Code::kOk) return Error{quoted + " is the code of success, not of a failure"};
  if (code) return *code;
  const std::string_view near = nearest(upper(text), names);
  if (!near.empty()) {
    return Error{quoted + " is no gRPC status code, did you mean '" + std::string(near) + "'?"};
  }
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return Error{quoted + " is no gRPC status code (1 to 16, or " + all + ")"};
}

Result<std::string> parse_redis_reply(std::string_view text) {
  if (text == kNilReply) return std::string();
  std::string large(text);
  for (char& c : large) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  const auto is_code = [](std::string_view code) {
    return !code.empty() && code.size() <= kMaxRedisCode &&
           std::all_of(code.begin(), code.end(), [](char c) {
             return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
           });
  };
  const bool means_nil = large == "NIL" || large == "NULL";
  if (is_code(text) && !means_nil) return std::string(text);
  const std::string meant = means_nil        ? std::string(kNilReply)
                            : is_code(large) ? large
                                             : std::string();
  return Error{"'" + std::string(text) + "' is no code of an error of Redis (1 to " +
               std::to_string(kMaxRedisCode) + " capital letters, digits, '_' or '-', as in " +
               "LOADING)" + (meant.empty() ? "" : ", did you mean '" + meant + "'?")};
}

Result<http2::ErrorCode> parse_stream_error(std::string_view text) {
  const auto names = stream_error_names();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) {
    return static_cast<http2::ErrorCode>(found - names.begin() + 1);
  }
  const std::string quoted = "'" + std::string(text) + "'";
  if (text == "NO_ERROR") return Error{quoted + " is no error of a stream"};
  const std::string_view near = nearest(upper(text), names);
  if (!near.empty()) {
    return Error{quoted + " is no error of a stream, did you mean '" + std::string(near) + "'?"};
  }
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return Error{quoted + " is no error of a stream (" + all + ")"};
}

Result<uint32_t> parse_latency(std::string_view text) {
  const auto time = parse_duration(text);
  // Who writes no unit may mean milliseconds.
  if (time && time->has_unit && time->milliseconds >= 1 && time->milliseconds <= kMaxLatencyMs)
    return static_cast<uint32_t>(time->milliseconds);
  return Error{"a time is a number with its unit, from 1ms to 1h, as in 300ms, 1.5s or 2m"};
}

Result<int32_t> parse_delta(std::string_view text) {
  uint32_t value = 0;
  const bool sign = text.starts_with('+') || text.starts_with('-');
  if (sign && parse_number(text.substr(1), kMaxDelta, &value))
    return text[0] == '+' ? static_cast<int32_t>(value) : -static_cast<int32_t>(value);
  return Error{"a change of the length is a number of bytes with its sign, as in +10 or -10"};
}

std::string redis_error_line(const FaultSpec& fault) {
  if (fault.reply.empty()) return "";
  const RedisError* known = redis_message(fault.reply);
  std::string line = fault.reply;
  if (!fault.message.empty()) {
    line += " " + fault.message;
  } else if (known != nullptr) {
    line += " " + std::string(known->message);
  }
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return line;
}

std::string render_http_response(const FaultSpec& fault, bool head_request) {
  const bool bodyless = fault.status == 204 || fault.status == 304;
  std::string text = "HTTP/1.1 " + std::to_string(fault.status) + " ";
  const std::string_view reason = reason_phrase(fault.status);
  text += reason.empty() ? "Injected" : reason;
  text += "\r\n";
  // RFC 9110 §8.6: never in a 204.
  if (fault.status != 204) text += "Content-Length: " + std::to_string(fault.body.size()) + "\r\n";
  text += "Connection: close\r\n";
  for (const auto& [name, value] : fault.headers) {
    if (may_send(name, value)) text += name + ": " + value + "\r\n";
  }
  text += "\r\n";
  if (!head_request && !bodyless) text += fault.body;
  return text;
}

}  // namespace filibuster
