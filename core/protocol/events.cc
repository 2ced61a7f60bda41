#include "core/protocol/events.h"

#include <type_traits>

#include "core/index/body_walker.h"
#include "core/protocol/field_codec.h"

namespace filibuster {
namespace {

// One list of fields per event, for both directions. `E` is the event, const when writing.
template <typename T, typename E>
constexpr bool kIs = std::is_same_v<std::remove_const_t<E>, T>;

template <typename E, typename V>
bool fields(E& e, V& v) {
  if constexpr (kIs<RpcIssued, E>) {
    return v(e.rpc) && v(e.parent_rpc) && v(e.index) && v(e.parent_path) && v(e.signature) &&
           v(e.payload) && v(e.stack) && v(e.connect_key) && v(e.count) && v(e.cause) &&
           v(e.flags) && v(e.thread) && v(e.request_id) && v(e.service) && v(e.method) &&
           v(e.target) && v(e.body) && v(e.stack_text) && v(e.peer) && v(e.request_id_name) &&
           v(e.told);
  } else if constexpr (kIs<RpcReceived, E>) {
    return v(e.rpc) && v(e.thread) && v(e.flags);
  } else if constexpr (kIs<RpcFinished, E>) {
    return v(e.rpc) && v(e.outcome) && v(e.injected) && v(e.status) && v(e.grpc_status) &&
           v(e.error) && v(e.stream_error) && v(e.body) && v(e.body_size) && v(e.body_sample) &&
           v(e.grpc_message) && v(e.code_space) && v(e.code) && v(e.begun);
  } else if constexpr (kIs<NoLimit, E>) {
    return v(e.rpc);
  } else if constexpr (kIs<IncomingFinished, E>) {
    return v(e.rpc) && v(e.status) && v(e.grpc_status);
  } else if constexpr (kIs<FaultFired, E>) {
    return v(e.rpc) && v(e.plan_entry) && v(e.how) && v(e.attempt) && v(e.grouped_by) &&
           v(e.detail);
  } else if constexpr (kIs<Listen, E>) {
    return v(e.port) && v(e.kind) && v(e.address) && v(e.service) && v(e.path);
  } else if constexpr (kIs<NotInterposed, E>) {
    return v(e.reason) && v(e.outgoing) && v(e.peer) && v(e.service);
  } else if constexpr (kIs<RpcFinalized, E>) {
    return v(e.rpc) && v(e.payload) && v(e.signature) && v(e.index);
  } else if constexpr (kIs<RpcFields, E>) {
    return v(e.rpc) && v(e.response) && v(e.form) && v(e.whole) && v(e.size) && v(e.plain) &&
           v(e.leaves);
  } else if constexpr (kIs<UnseenRequests, E>) {
    return v(e.count) && v(e.peer) && v(e.service);
  } else if constexpr (kIs<RpcBody, E>) {
    return v(e.rpc) && v(e.truncated) && v(e.body);
  } else if constexpr (kIs<ConnectionSeen, E>) {
    return v(e.connection) && v(e.recording) && v(e.server) && v(e.protocol) && v(e.seen_from) &&
           v(e.messages) && v(e.local_port) && v(e.local) && v(e.peer) && v(e.service);
  } else if constexpr (kIs<RpcAt, E>) {
    return v(e.rpc) && v(e.connection) && v(e.number) && v(e.incoming);
  } else {
    static_assert(kIs<Note, E>);
    return v(e.text) && v(e.kind);
  }
}

// Values outside of an enumeration are malformed, not merely unknown: a reader may use them as an
// index, and a new value needs a new major version.
template <typename E>
bool in_range(const E& e) {
  if constexpr (kIs<RpcIssued, E>) {
    return e.cause <= Cause::kProgram;
  } else if constexpr (kIs<RpcFinished, E>) {
    return e.outcome >= RpcOutcome::kAnswered && e.outcome <= RpcOutcome::kNotRead &&
           e.code_space <= CodeSpace::kRedis;
  } else if constexpr (kIs<FaultFired, E>) {
    return e.how <= static_cast<uint8_t>(FaultHow::kAttemptPasses) &&
           e.grouped_by <= GroupedBy::kSameRequest;
  } else if constexpr (kIs<RpcFields, E>) {
    return e.form <= static_cast<uint8_t>(BodyForm::kMessage);
  } else if constexpr (kIs<NotInterposed, E>) {
    return e.reason >= NotInterposedReason::kTls && e.reason <= NotInterposedReason::kSealed;
  } else if constexpr (kIs<Note, E>) {
    return e.kind <= NoteKind::kRuntime;
  } else if constexpr (kIs<ConnectionSeen, E>) {
    return e.protocol >= StreamProtocol::kHttp1 && e.protocol <= StreamProtocol::kRedis &&
           e.seen_from <= SeenFrom::kTheMiddle;
  } else {
    return true;
  }
}

template <typename E>
size_t encode_event(const E& event, uint8_t* out, size_t size) {
  FieldWriter writer(out, size);
  return fields(event, writer) ? writer.written() : 0;
}

// Bytes after the last known field are allowed: a later minor version may append fields.
template <typename E>
bool decode_event(const uint8_t* data, size_t size, E* out) {
  FieldReader reader(data, size);
  E event;
  if (!fields(event, reader) || !in_range(event)) return false;
  *out = event;
  return true;
}

}  // namespace

#define FILIBUSTER_EVENT(Type)                                  \
  size_t encode(const Type& event, uint8_t* out, size_t size) { \
    return encode_event(event, out, size);                      \
  }                                                             \
  bool decode(const uint8_t* data, size_t size, Type* out) {    \
    return decode_event(data, size, out);                       \
  }
FILIBUSTER_EVENTS(FILIBUSTER_EVENT)
#undef FILIBUSTER_EVENT

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "none";
    case Cause::kHeader:
      return "header";
    case Cause::kThread:
      return "thread";
    case Cause::kTask:
      return "task";
    case Cause::kOnlyActive:
      return "only-active";
    case Cause::kEntry:
      return "entry";
    case Cause::kProgram:
      return "program";
  }
  return "unknown";
}

std::string_view grouped_by_name(GroupedBy rule) {
  switch (rule) {
    case GroupedBy::kFirst:
      return "first";
    case GroupedBy::kRequestId:
      return "request-id";
    case GroupedBy::kGrpcAttempts:
      return "grpc-previous-rpc-attempts";
    case GroupedBy::kSameRequest:
      return "same-request";
  }
  return "";
}

std::string_view reason_name(NotInterposedReason reason) {
  switch (reason) {
    case NotInterposedReason::kTls:
      return "tls";
    case NotInterposedReason::kUnknownProtocol:
      return "unknown-protocol";
    case NotInterposedReason::kMidStream:
      return "mid-stream";
    case NotInterposedReason::kTableFull:
      return "table-full";
    case NotInterposedReason::kHttp2:
      return "http2";
    case NotInterposedReason::kUpgraded:
      return "upgraded";
    case NotInterposedReason::kSpliced:
      return "spliced";
    case NotInterposedReason::kUdp:
      return "udp";
    case NotInterposedReason::kStdio:
      return "stdio";
    case NotInterposedReason::kForeignDescriptor:
      return "foreign-descriptor";
    case NotInterposedReason::kHttp2Before:
      return "http2-open-before";
    case NotInterposedReason::kRedis:
      return "redis";
    case NotInterposedReason::kRedisBlocking:
      return "redis-blocking-command";
    case NotInterposedReason::kRedisSubscription:
      return "redis-publish-subscribe";
    case NotInterposedReason::kRedisUnfollowed:
      return "redis-not-followed";
    case NotInterposedReason::kSealed:
      return "encrypted";
    case NotInterposedReason::kOpenBefore:
      return "open-before";
  }
  return "unknown";
}

}  // namespace filibuster
