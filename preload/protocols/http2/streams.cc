// What happens when the view reads a frame: on a client's streams, on a server's streams, and with the
// header blocks that a client's sender has to keep. Everything here runs under the lock.
#include <algorithm>
#include <cstring>
#include <new>

#include "core/grpc/call.h"
#include "core/grpc/message_reader.h"
#include "core/http2/frame.h"
#include "preload/os/pool.h"
#include "preload/protocols/http2/http2_connection.h"
#include "preload/rpc/fields.h"
#include "preload/stream/kept.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {

using http2::Direction;
using http2::MessageHead;
using http2::Stream;

namespace {

Pool<StreamCall, 64, 1024> g_stream_calls;
Pool<RequestPart, 16, 4096> g_request_parts;
Pool<AnswerPart, 16, 4096> g_answer_parts;

// A head is held for its body only if the server's window has room for this much. Otherwise the body would
// wait for a WINDOW_UPDATE, which the server only sends after it has the head.
constexpr int64_t kLeastWindow = 8 * 1024;

template <typename Part, typename Parts>
Part* make_part(Parts* parts) {
  Part* memory = parts->take();
  if (memory == nullptr) return nullptr;
  auto* part = new (memory) Part;
  part->hash.reset();
  return part;
}

RequestPart* make_request_part() {
  return make_part<RequestPart>(&g_request_parts);
}

void drop_request_part(StreamCall* x) {
  if (x->request == nullptr) return;
  g_request_parts.give(x->request);
  x->request = nullptr;
  x->head.method = x->head.target = x->head.host = x->head.filibuster = x->head.told = {};
}

// Frees the kept part of a request that was sent or given up.
void drop_request_part_if_sent(StreamCall* x) {
  if (x->released && (x->request_ended || x->ended)) drop_request_part(x);
}

StreamCall* call_of(const Stream& stream) {
  return static_cast<StreamCall*>(stream.user);
}

// Copies texts into a bounded buffer. A text that does not fit is left out.
class TextRoom {
 public:
  explicit TextRoom(RequestPart* part) : part_(part) {}
  std::string_view keep(std::string_view text) {
    const size_t size = std::min(text.size(), sizeof part_->text - used_);
    char* to = part_->text + used_;
    std::memcpy(to, text.data(), size);
    used_ += size;
    return {to, size};
  }

 private:
  RequestPart* part_;
  size_t used_ = 0;
};

template <size_t kSize>
void add_sample(char (&sample)[kSize], uint16_t* have, const char* data, size_t size) {
  if (*have == kSize) return;
  const size_t take = std::min(size, kSize - *have);
  std::memcpy(sample + *have, data, take);
  *have = static_cast<uint16_t>(*have + take);
}

// Where the first message of a gRPC call ends, or SIZE_MAX.
size_t first_message_end(const StreamCall& x) {
  const RequestPart& part = *x.request;
  if (!x.head.is_grpc() || part.sample_size < grpc::kPrefixSize) return SIZE_MAX;
  return grpc::kPrefixSize + size_t{http2::read_u32(part.sample + 1)};
}

// Sends the daemon the sample of a decided request's body: once, when all of the sample is there, or when no
// more of the body comes (`ended`).
void tell_sample(StreamCall* x, bool ended) {
  if (x->sample_ended || x->request == nullptr) return;
  const std::string_view sample = request_sample(*x);
  const size_t end = first_message_end(*x);
  if (!ended && sample.size() < std::min(end, RequestPart::kSample)) return;
  x->sample_ended = true;
  if (sample.size() == x->request->sample_told) return;
  const bool all = end == SIZE_MAX ? x->request_ended : sample.size() == end;
  outgoing_body_sample(x->call, sample, !all || x->body_size > sample.size());
}

void take_grpc_status(StreamCall* x, const MessageHead& head) {
  if (!head.has_grpc_status) return;
  x->has_grpc_status = true;
  x->grpc_status = static_cast<uint8_t>(grpc::parse_status(head.grpc_status));
  if (x->answer == nullptr) return;
  x->answer->grpc_words = head.grpc_words;
  x->answer->grpc_text_size = static_cast<uint16_t>(
      grpc::decode_message(head.grpc_message, x->answer->grpc_text, sizeof x->answer->grpc_text));
}

uint8_t grpc_status_of(const StreamCall& x) {
  if (!x.head.is_grpc() || x.finished.outcome != RpcOutcome::kAnswered) return kNoGrpcStatus;
  if (x.has_grpc_status) return x.grpc_status;
  // Without a status of gRPC it follows from the HTTP status; 200 tells nothing.
  return static_cast<uint8_t>(x.status == 200 ? grpc::Code::kUnknown
                                              : grpc::code_of_http_status(x.status));
}

void begin_client_call(Http2Connection& h, StreamCall* x, const MessageHead& head,
                       const http2::HeaderBlock& block, const Stream& stream) {
  Connection& c = *h.owner;
  TextRoom text(x->request);
  const RequestHead seen = request_head(head, block.end_stream);
  x->head = seen;
  x->head.method = text.keep(seen.method);
  x->head.filibuster = text.keep(seen.filibuster);
  x->head.host = text.keep(seen.host);
  x->head.target = text.keep(seen.target);
  x->head.told = text.keep(seen.told);
  x->list_size = head.list_size;
  x->head_request = seen.method == "HEAD";
  x->finished.outcome = RpcOutcome::kGarbled;
  x->released = false;
  h.block(h.end_block - 1).call = x;
  find_target_of(c);
  if ((c.target.flags & (kTargetNever | kTargetIgnored)) == 0) {
    x->fields =
        begin_fields(own_service(), target_service(c.target, x->head, c.peer_name()), x->head);
  }
  // The head may only be held if the rest comes without any action of the peer.
  const int64_t window = h.view.window(Direction::kRequests, stream);
  const bool may_wait = !block.end_stream && !h.block_expects;
  RuntimeField::Body body;
  if (is_runtime_value(seen.filibuster, &body)) {
    x->in_pieces = body == RuntimeField::Body::kInPieces;
    x->body_follows = may_wait && window >= kLeastWindow && body == RuntimeField::Body::kFollows;
  }
  x->waits_for_body = x->body_follows ||
                      (may_wait && head.has_content_length &&
                       head.content_length <=
                           std::min<uint64_t>(lane_settings().max_held_body, kHoldCapacity / 2) &&
                       window >= static_cast<int64_t>(head.content_length));
}

void take_request_data(Http2Connection& h, StreamCall* x, const char* data, size_t size) {
  if (!h.client()) {
    if (x->request == nullptr || x->incoming == nullptr) return;
    incoming_body_piece(x->incoming, data, size);
    x->request->hash.update(data, size);
    x->body_size += size;
    return;
  }
  if (x->request == nullptr) return;
  if (x->fields != nullptr) request_piece(x->fields, data, size);
  x->request->hash.update(data, size);
  x->body_size += size;
  if (!x->sample_ended) add_sample(x->request->sample, &x->request->sample_size, data, size);
  if (x->decided) {
    tell_sample(x, false);
  } else if (x->body_size > lane_settings().max_held_body) {
    x->ready = true;
  }
}

void end_request(Http2Connection& h, StreamCall* x) {
  if (!h.client()) {
    if (x->request != nullptr && x->incoming != nullptr) {
      incoming_body_complete(x->incoming, x->request->hash.digest(), x->body_size);
    }
    drop_request_part(x);
    return;
  }
  x->body = x->request->hash.digest();
  if (x->fields != nullptr) x->body = request_whole(x->fields, x->body, x->body_size);
  x->request_ended = true;
  if (x->decided) {
    finish_request(x);
  } else if (!x->ready) {
    x->ready = true;
    x->body_complete = !x->in_pieces;
  }
  drop_request_part_if_sent(x);
}

void end_response(Http2Connection& h, StreamCall* x) {
  x->answered = true;
  if (!h.client()) {
    incoming_end(x->incoming, x->status, x->grpc_status);
    x->incoming = nullptr;
    return;
  }
  x->finished.outcome = RpcOutcome::kAnswered;
  x->finished.status = x->status;
  const Hash128 plain = x->answer != nullptr ? x->answer->hash.digest() : Hash128{};
  x->finished.body =
      x->fields != nullptr ? response_whole(x->fields, plain, x->response_size) : plain;
  x->finished.body_size = x->response_size;
}

// Sends RpcFinished for a client's call, if it was decided.
void report_end(StreamCall* x) {
  if (!x->call.active) return;
  tell_sample(x, true);
  RpcFinished& f = x->finished;
  f.rpc = x->call.rpc;
  f.injected = x->ordered ? 1 : 0;
  f.grpc_status = grpc_status_of(*x);
  if (x->answer != nullptr) {
    f.grpc_message = {x->answer->grpc_text, x->answer->grpc_text_size};
    f.body_sample = {x->answer->sample, x->answer->sample_size};
    const bool failed = f.grpc_status != kNoGrpcStatus && f.grpc_status != 0;
    if (failed && !x->answer->grpc_words.is_zero()) f.body = combine(f.body, x->answer->grpc_words);
  }
  if (x->fields != nullptr && x->answered)
    report_response_fields(x->call.rpc, x->call.generation, x->call.execution, *x->fields);
  outgoing_end(&x->call, f);
}

void free_if_done(StreamCall* x) {
  if (!x->ended || !x->released) return;
  end_fields(x->fields);
  drop_origin(x->origin);
  drop_request_part(x);
  if (x->answer != nullptr) g_answer_parts.give(x->answer);
  g_stream_calls.give(x);
}

}  // namespace

void finish_request(StreamCall* x) {
  if (!x->call.active) return;
  tell_sample(x, true);
  if (!x->body_complete) outgoing_body_complete(&x->call, x->body);
  if (x->fields != nullptr)
    report_request_fields(x->call.rpc, x->call.generation, x->call.execution, *x->fields);
}

void end_stream_call(Http2Connection& h, StreamCall* x) {
  if (x->ended) return;
  x->ended = true;
  if (!h.client()) {
    if (x->incoming != nullptr) incoming_end(x->incoming, 0);
    x->incoming = nullptr;
  } else if (x->decided) {
    report_end(x);
  }
  free_if_done(x);
}

std::string_view request_sample(const StreamCall& x) {
  return {x.request->sample, std::min<size_t>(x.request->sample_size, first_message_end(x))};
}

void end_request_samples(Http2Connection& h) {
  h.view.for_each_stream([](Stream& stream) {
    StreamCall* x = call_of(stream);
    if (x == nullptr) return;
    if (x->decided) tell_sample(x, true);
    x->sample_ended = true;
  });
}

void after_decision(StreamCall* x) {
  x->decided = true;
  x->request->sample_told = static_cast<uint16_t>(request_sample(*x).size());
  tell_sample(x, false);
  if (x->request_ended) finish_request(x);
  if (x->ended) report_end(x);
}

void Http2Connection::drop_front() {
  StreamCall* x = front()->call;
  ++first_block;
  if (x == nullptr) return;
  x->released = true;
  drop_request_part_if_sent(x);
  free_if_done(x);
}

void Http2Connection::drop_blocks() {
  while (front() != nullptr) drop_front();
}

// --- what is kept of the requests ----------------------------------------------------------------

void Http2Connection::on_block(Direction direction, const http2::HeaderBlock&) {
  if (direction != Direction::kRequests || !client()) return;
  if (first_block == end_block) literals_used = 0;
  block_literals = literals_used;
  block_whole = true;
  block_expects = false;
}

void Http2Connection::on_field(Direction direction, const http2::Field& field) {
  if (direction != Direction::kRequests || !client()) return;
  if (field.name == "expect") block_expects = true;
  if (!block_whole) return;
  // The helper's field is for this library only, so it is not kept.
  RuntimeField::Body body;
  if (field.name == kHeaderName && is_runtime_value(field.value, &body)) return;
  http2::Output out(literals + literals_used, sizeof literals - literals_used);
  http2::write_literal(field, out);
  block_whole = out.ok();
  if (block_whole) literals_used += out.size();
}

void Http2Connection::on_block_end(Direction direction, const http2::HeaderBlock& header_block) {
  if (direction != Direction::kRequests || !client()) return;
  if (end_block - first_block == kMaxKeptBlocks) {
    view.give_up(http2::Error::kHeaderMemory);
    return;
  }
  KeptBlock* kept = new (&block(end_block++)) KeptBlock;
  kept->block = header_block;
  for (uint64_t* position :
       {&kept->block.start, &kept->block.end, &kept->block.last_start, &kept->block.fragment_end}) {
    *position += origin;
  }
  kept->literals = static_cast<uint32_t>(block_literals);
  kept->literals_size = static_cast<uint32_t>(literals_used - block_literals);
  kept->whole = block_whole;
}

// --- streams -------------------------------------------------------------------------------------

void Http2Connection::on_request(Stream& stream, const MessageHead& head,
                                 const http2::HeaderBlock& header_block) {
  StreamCall* memory = g_stream_calls.take();
  if (memory == nullptr) return on_untracked(stream.id);
  auto* x = new (memory) StreamCall;
  stream.user = x;
  x->stream = stream.id;
  if (client()) {
    x->request = make_request_part();
    if (x->request == nullptr) {
      stream.user = nullptr;
      g_stream_calls.give(x);
      return on_untracked(stream.id);
    }
    begin_client_call(*this, x, head, header_block, stream);
    return;
  }
  // Requests of several callers come in one read, and any thread may answer them.
  const RequestHead seen = request_head(head, header_block.end_stream);
  x->incoming = incoming_begin({&seen, true});
  if (taping() != 0) place_rpc(*owner, x->incoming, stream.id);
  end_kept_before_refusal(x->incoming);
  if (!incoming_needs_body(x->incoming)) return;
  x->request = make_request_part();
  // Without memory for its body, its index stays preliminary.
  if (x->request == nullptr) on_untracked(stream.id);
}

void Http2Connection::on_untracked(uint32_t) {
  report_not_interposed(NotInterposedReason::kTableFull, client(), owner->peer_name(),
                        owner->target.name());
}

void Http2Connection::on_response(Stream& stream, const MessageHead& head,
                                  const http2::HeaderBlock&) {
  StreamCall* x = call_of(stream);
  if (x == nullptr) return;
  x->status = head.status;
  if (client() && x->answer == nullptr) {
    x->answer = make_part<AnswerPart>(&g_answer_parts);
    if (x->answer == nullptr) report_note("there was no memory to read an answer over HTTP/2");
  }
  take_grpc_status(x, head);
}

void Http2Connection::on_data(Stream& stream, Direction direction, const char* data, size_t size) {
  StreamCall* x = call_of(stream);
  if (x == nullptr) return;
  if (direction == Direction::kRequests) return take_request_data(*this, x, data, size);
  if (!client()) return;
  if (x->fields != nullptr) response_piece(x->fields, data, size);
  x->response_size += size;
  if (x->answer == nullptr) return;
  x->answer->hash.update(data, size);
  add_sample(x->answer->sample, &x->answer->sample_size, data, size);
}

void Http2Connection::on_trailers(Stream& stream, Direction direction, const MessageHead& head,
                                  const http2::HeaderBlock&) {
  StreamCall* x = call_of(stream);
  if (x != nullptr && direction == Direction::kResponses) take_grpc_status(x, head);
}

void Http2Connection::on_end(Stream& stream, Direction direction) {
  StreamCall* x = call_of(stream);
  if (x == nullptr) return;
  if (direction == Direction::kRequests) {
    end_request(*this, x);
  } else {
    end_response(*this, x);
  }
}

void Http2Connection::on_reset(Stream& stream, Direction by, uint32_t error_code) {
  StreamCall* x = call_of(stream);
  if (x == nullptr || x->answered) return;
  if (by == Direction::kResponses) {
    x->finished.outcome = RpcOutcome::kReset;
    x->finished.stream_error = error_code;
  } else {
    x->finished.outcome = RpcOutcome::kTimedOut;  // the caller has given up
  }
  x->finished.begun = x->status;
}

void Http2Connection::on_closed(Stream& stream) {
  StreamCall* x = call_of(stream);
  stream.user = nullptr;
  if (x != nullptr) end_stream_call(*this, x);
}

void Http2Connection::on_settings(Direction by, const http2::Settings&) {
  if (by == Direction::kResponses) server_settings_seen = true;
}

// Streams above `last_stream` were not processed, and will not be (RFC 9113 §6.8).
void Http2Connection::on_goaway(Direction by, uint32_t last_stream, uint32_t error_code) {
  if (by != Direction::kResponses || !client()) return;
  view.for_each_stream([&](Stream& stream) {
    StreamCall* x = call_of(stream);
    if (x == nullptr || x->answered || stream.id <= last_stream) return;
    x->finished.outcome = RpcOutcome::kReset;
    x->finished.stream_error = error_code;
    stream.user = nullptr;
    end_stream_call(*this, x);
  });
}

void adopt_exchange(Http2Connection& h, Stream& stream, Exchange* exchange) {
  StreamCall* memory = g_stream_calls.take();
  if (memory == nullptr) return h.on_untracked(stream.id);
  auto* x = new (memory) StreamCall;
  stream.user = x;
  x->stream = stream.id;
  x->decided = x->ready = x->body_complete = x->request_ended = true;
  x->head_request = exchange->head_request;
  x->finished.outcome = RpcOutcome::kGarbled;
  x->call = exchange->call;
  x->fields = exchange->fields;
  x->incoming = exchange->incoming;
  exchange->call.active = false;
  exchange->fields = nullptr;
  exchange->incoming = nullptr;
}

uint32_t Http2Connection::open_incoming(const Incoming** one) {
  *one = nullptr;
  // Not known is not one.
  if (client() || !lock.acquire()) return 0;
  uint32_t open = 0;
  view.for_each_stream([&](Stream& stream) {
    const StreamCall* x = call_of(stream);
    if (x == nullptr || x->answered) return;
    ++open;
    *one = x->incoming;
  });
  lock.release();
  if (open != 1) *one = nullptr;
  return open;
}

const Incoming* Http2Connection::incoming_of_stream(uint32_t stream) {
  const Incoming* found = nullptr;
  if (client() || !lock.acquire()) return found;
  view.for_each_stream([&](Stream& open) {
    const StreamCall* x = call_of(open);
    if (open.id == stream && x != nullptr && !x->answered) found = x->incoming;
  });
  lock.release();
  return found;
}

// --- ends ----------------------------------------------------------------------------------------

void Http2Connection::end_unanswered(Connection& c) {
  if (!lock.acquire()) return;
  const RpcFinished how = unanswered(c);
  view.for_each_stream([&](Stream& stream) {
    StreamCall* x = call_of(stream);
    stream.user = nullptr;
    if (x == nullptr) return;
    if (!x->answered) {
      x->finished = how;
      x->finished.begun = x->status;
    }
    end_stream_call(*this, x);
  });
  lock.release();
}

void drop_http2_blocks(Http2Connection& h) {
  if (!h.lock.acquire()) return;
  h.drop_blocks();
  h.lock.release();
}

void Http2Connection::settle(Connection& c) {
  end_unanswered(c);
  if (c.closing.load() || !rewriting) drop_http2_blocks(*this);
}

void Http2Connection::adopt_in_child(Connection& c) {
  receives.forget();
  // If a thread of the parent held the lock, the view may be half changed, and is not touched.
  if (!lock.is_held()) {
    view.for_each_stream([&](Stream& stream) {
      StreamCall* x = call_of(stream);
      stream.user = nullptr;
      if (x == nullptr) return;
      x->call.active = false;
      end_stream_call(*this, x);
    });
    drop_blocks();
  }
  // Once two processes use the connection, neither knows all that is on the wire.
  give_up(c, NotInterposedReason::kHttp2);
}

}  // namespace filibuster::preload
