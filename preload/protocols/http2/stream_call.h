// One stream: a request and its response, as Stream::user of the view.
//
// Guarded by the lock of its connection, but for what the sender of an undecided request uses: the
// server has not seen anything of it, so nobody else has a reason to look.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hash.h"
#include "preload/protocols/http1/exchange.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/request_head.h"

namespace filibuster::preload {

// What is kept of a request until it has been sent whole, or its body was read whole.
struct RequestPart {
  // Method, target, authority, our field, and the fields that the daemon is told.
  static constexpr size_t kMaxText = 2560 + kMaxToldText;
  // Of its body, as far as it travels in events (LaneMemory::payload_sample).
  static constexpr size_t kSample = 512;
  HashStream hash;
  uint16_t sample_size = 0;
  uint16_t sample_told = 0;  // bytes of it that the daemon has
  char sample[kSample];
  char text[kMaxText];
};

// What is kept of a response, for a client, from its head on.
struct AnswerPart {
  static constexpr size_t kMaxGrpcText = 256;  // of grpc-message in an event
  HashStream hash;
  Hash128 grpc_words;  // MessageHead
  uint16_t sample_size = 0;
  uint16_t grpc_text_size = 0;
  char sample[kBodySample];
  char grpc_text[kMaxGrpcText];
};

struct StreamCall {
  uint32_t stream = 0;
  bool released = true;   // client: its header block is not, or no longer, among the kept ones
  bool ended = false;     // the stream is over; the call is freed once it is released, too
  bool answered = false;  // the response is complete
  bool head_request = false;
  bool ordered = false;  // its fault was ordered of the relay

  // A client's request. To decide it is to call outgoing_begin for it.
  bool decided = false;
  bool ready = false;           // to be decided before its header block leaves
  bool body_complete = false;   // when it was made ready: its index is final
  bool waits_for_body = false;  // what is missing comes without anybody waiting: it may be held
  bool body_follows = false;    // another thread brings the rest of the body (RuntimeField)
  // Decided by its head, because the number of messages that go with it is chance.
  bool in_pieces = false;
  bool sample_ended = false;   // no more of its body is kept for events
  RequestHead head;            // views into `request`: empty when that is gone
  bool request_ended = false;  // then `body` is its digest
  Hash128 body;
  uint64_t body_size = 0;
  uint64_t list_size = 0;                 // http2::MessageHead
  const RequestOrigin* origin = nullptr;  // until it is decided: owned
  OutgoingCall call;
  RequestFields* fields = nullptr;  // owned
  RpcFinished finished;             // texts are set when it is reported
  uint64_t response_size = 0;

  // A server's request.
  Incoming* incoming = nullptr;

  // As the response says. A client derives a status where the response has none (grpc_status_of).
  uint16_t status = 0;
  bool has_grpc_status = false;
  uint8_t grpc_status = kNoGrpcStatus;

  RequestPart* request = nullptr;  // owned; a server has one only if it hashes the body
  AnswerPart* answer = nullptr;    // owned
};
// What a request takes while it waits for its answer.
static_assert(sizeof(StreamCall) <= 1024);

}  // namespace filibuster::preload
