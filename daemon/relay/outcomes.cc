// What a relay places among the frames of the two ends: outcomes of faulted streams, increments for
// what was taken away, and the frames of the server that had to wait.
#include <algorithm>

#include "core/http2/frame_writer.h"
#include "daemon/relay/answer.h"
#include "daemon/relay/relay.h"

namespace filibuster {

using http2::ErrorCode;
using http2::Output;

namespace {

// For how long no other stream may be open before the connection is reset. Clients of many threads have
// moments without a stream again and again, and their next request would be hit.
constexpr uint64_t kAloneNs = 20'000'000;
constexpr size_t kMostWaiting = 4096;  // frames
constexpr size_t kMostWaitingBytes = 32u << 20;
constexpr size_t kControlFrame = 32;  // RST_STREAM, WINDOW_UPDATE, GOAWAY

template <typename Write>
void append_frame(ByteQueue* out, Write write) {
  char memory[kControlFrame];
  Output frame(memory, sizeof memory);
  write(frame);
  out->append(frame.view());
}

void append_reset(ByteQueue* out, uint32_t id, ErrorCode code) {
  append_frame(out, [&](Output& frame) { http2::write_reset(id, code, frame); });
}

// Clears `owed`. What is larger than one frame can say was never within a window.
void append_increment(ByteQueue* out, uint32_t id, uint64_t* owed) {
  if (*owed == 0) return;
  const auto increment = static_cast<uint32_t>(std::min<uint64_t>(*owed, http2::kLargestWindow));
  *owed = 0;
  append_frame(out, [&](Output& frame) { http2::write_window_update(id, increment, frame); });
}

}  // namespace

void Relay::pump() {
  client_due_ = server_due_ = true;
  pump_to_client();
  pump_to_server();
}

void Relay::pump_to_server() {
  if (!server_due_ || reset_ || !requests_.at_boundary()) return;
  server_due_ = false;
  append_increment(&to_server_, 0, &owed_to_server_);
  for (auto& [id, stream] : faulted_) {
    if (stream.server_reset || stream.answer_ended) stream.owed_to_server = 0;
    append_increment(&to_server_, id, &stream.owed_to_server);
  }
  for (const uint32_t id : resets_to_server_) append_reset(&to_server_, id, ErrorCode::kCancel);
  resets_to_server_.clear();
}

void Relay::pump_to_client() {
  if (!client_due_ || reset_ || !responses_.settings_seen || !responses_.at_boundary()) return;
  client_due_ = false;
  append_increment(&to_client_, 0, &owed_to_client_);
  release_waiting();
  for (const uint32_t id : refused_) append_reset(&to_client_, id, ErrorCode::kRefusedStream);
  refused_.clear();
  if (goaway_due_) {
    goaway_due_ = false;
    append_frame(&to_client_, [&](Output& frame) {
      http2::write_goaway(last_taken_, ErrorCode::kNoError, {}, frame);
    });
  }
  for (auto place = faulted_.begin(); place != faulted_.end() && !reset_;) {
    auto& [id, stream] = *place;
    if (stream.request_ended) stream.owed_to_client = 0;
    append_increment(&to_client_, id, &stream.owed_to_client);
    bool open = true;
    if (stream.phase == Phase::kDue) open = this->place(id, &stream);
    if (open && stream.phase == Phase::kBody) open = place_body(id, &stream);
    if (open && stream.phase == Phase::kPassing) open = place_changed(id, &stream);
    place = open ? std::next(place) : finish(place);
  }
}

std::optional<uint32_t> Relay::size_update() const {
  return responses_.rewriter.began() ? std::nullopt : std::optional<uint32_t>(0);
}

bool Relay::place(uint32_t id, Stream* stream) {
  if (stream->cancelled) {
    append_reset(&to_client_, id, stream->cancel_code);
    return false;
  }
  switch (stream->fault.kind) {
    case FaultKind::kStatus: {
      const bool head_request = (stream->order.flags & kOrderHead) != 0;
      const AnswerHead head = render_http2_head(stream->fault, id, head_request, size_update());
      responses_.rewriting = true;
      to_client_.append(head.frames);
      if (head.body_follows) {
        stream->phase = Phase::kBody;
        return true;
      }
      break;
    }
    case FaultKind::kGrpc:
      to_client_.append(render_grpc_status(stream->fault, id, true, size_update()));
      responses_.rewriting = true;
      break;
    case FaultKind::kRefused:
      append_reset(&to_client_, id, ErrorCode::kRefusedStream);
      return false;
    case FaultKind::kReset:
      if (open_.any_but(id)) {
        append_reset(&to_client_, id, ErrorCode::kInternalError);
        return false;
      }
      if (stream->alone_ns == 0) stream->alone_ns = now_ns_ + kAloneNs;
      reset_ = stream->alone_ns <= now_ns_;
      return !reset_;
    case FaultKind::kStreamReset:
      append_reset(&to_client_, id, stream->fault.error);
      return false;
    case FaultKind::kTimeout:
    case FaultKind::kGoaway:  // ends the connection (leave); those up to kNoTrailers: place_changed
    case FaultKind::kLatency:
    case FaultKind::kPartialMessage:
    case FaultKind::kEmptyMessage:
    case FaultKind::kCorruptMessage:
    case FaultKind::kNoTrailers:
    case FaultKind::kRedis:  // never on HTTP/2, as the next two
    case FaultKind::kContentLength:
    case FaultKind::kSlowBody:
    case FaultKind::kTls:       // before there is a request
    case FaultKind::kAttempts:  // its items are what is ordered
    case FaultKind::kNone:
      append_reset(&to_client_, id, ErrorCode::kCancel);
      return false;
  }
  // RFC 9113 §8.1: the answer is complete, the rest of the request is not wanted.
  if (!stream->request_ended) append_reset(&to_client_, id, ErrorCode::kNoError);
  return false;
}

size_t Relay::place_data(uint32_t id, Stream* stream, std::string_view bytes, bool end) {
  size_t placed = 0;
  while (placed < bytes.size() && to_client_.size() < kMostUnsent) {
    const int64_t window = std::min(client_window_, client_initial_window_ + stream->credit);
    if (window <= 0) break;
    const std::string_view piece = bytes.substr(
        placed, std::min<uint64_t>(static_cast<uint64_t>(window), http2::kDefaultMaxFrameSize));
    const auto size = static_cast<int64_t>(piece.size());
    placed += piece.size();
    stream->credit -= size;
    client_window_ -= size;
    unknown_to_server_ += piece.size();
    std::string frame(http2::kFrameHeaderSize + piece.size(), '\0');
    Output out(frame.data(), frame.size());
    http2::write_data(id, piece, end && placed == bytes.size(), http2::kDefaultMaxFrameSize, out);
    to_client_.append(out.view());
  }
  return placed;
}

bool Relay::place_body(uint32_t id, Stream* stream) {
  const std::string_view body = stream->fault.body;
  stream->body_sent += place_data(id, stream, body.substr(stream->body_sent), true);
  if (stream->body_sent < body.size()) return true;
  if (!stream->request_ended) append_reset(&to_client_, id, ErrorCode::kNoError);
  return false;
}

bool Relay::place_changed(uint32_t id, Stream* stream) {
  using Kind = AnswerPart::Kind;
  if (stream->holding) return true;
  auto& parts = stream->changed->parts();
  for (bool ended = false; !ended; parts.pop_front()) {
    if (parts.empty() || parts.front().due_ns > now_ns_ || to_client_.size() >= kMostUnsent) {
      return true;
    }
    AnswerPart& part = parts.front();
    ended = part.end;
    switch (part.kind) {
      case Kind::kBlock:
        to_client_.append(render_block(part.bytes, id, part.end, size_update()));
        break;
      case Kind::kData: {
        // Frames of other streams that wait for the same window would wait for ever otherwise.
        if (!part.bytes.empty() && !waiting_.empty()) return true;
        const size_t placed = place_data(id, stream, part.bytes, part.end);
        const bool all = placed == part.bytes.size();
        if (all && part.bytes.empty() && part.end) {
          append_frame(&to_client_, [&](Output& frame) {
            http2::write_data(id, {}, true, http2::kDefaultMaxFrameSize, frame);
          });
        }
        part.bytes.erase(0, placed);
        if (!all) return true;
        break;
      }
      case Kind::kReset:
        append_reset(&to_client_, id, part.error);
        return false;
      case Kind::kStatus:
        to_client_.append(render_grpc_status(stream->fault, id, false, size_update()));
        ended = true;
        break;
    }
  }
  // RFC 9113 §8.1, as after an answer of ours.
  if (!stream->request_ended) append_reset(&to_client_, id, ErrorCode::kNoError);
  return false;
}

void Relay::pass_goaway(uint32_t last, uint32_t error, std::string bytes) {
  if (!ordered_ || error != static_cast<uint32_t>(ErrorCode::kNoError)) {
    goaway_last_ = last;
    to_client_.append(bytes);
    return;
  }
  server_last_ = last;
  http2::write_u32(bytes.data() + http2::kFrameHeaderSize, http2::kLargestWindow);
  to_client_.append(bytes);
  for (const uint32_t id : open_.from(last + 1)) {
    Stream* stream = find(id);
    if (stream == nullptr) {
      open_.close(id);
      refuse(id);
    } else if (stream->forwarded) {
      not_taken(stream);
    }
  }
}

void Relay::refuse(uint32_t id) {
  dead_.insert(id);
  refused_.push_back(id);
  client_due_ = true;
}

// --- frames of the server that wait for the client's window ------------------------------------

bool Relay::waits(uint32_t id) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [id](const Waiting& frame) { return frame.stream == id; });
}

bool Relay::must_wait(uint32_t id, uint32_t flow_controlled) const {
  const bool fits =
      unknown_to_server_ == 0 || flow_controlled <= std::max<int64_t>(client_window_, 0);
  return !fits || waits(id);
}

void Relay::wait(uint32_t id, uint32_t flow_controlled, std::string_view bytes) {
  waiting_bytes_ += bytes.size();
  waiting_.push_back({id, flow_controlled, std::string(bytes)});
  if (waiting_.size() > kMostWaiting || waiting_bytes_ > kMostWaitingBytes) {
    fail("the server sends more than the client's windows allow");
  }
}

void Relay::to_client_in_turn(uint32_t id, std::string_view bytes) {
  if (waits(id)) {
    wait(id, 0, bytes);
  } else {
    to_client_.append(bytes);
  }
}

void Relay::release_waiting() {
  while (!waiting_.empty() && to_client_.size() < kMostUnsent) {
    const Waiting& frame = waiting_.front();
    if (unknown_to_server_ > 0 && frame.flow_controlled > std::max<int64_t>(client_window_, 0)) {
      return;
    }
    client_window_ -= frame.flow_controlled;
    waiting_bytes_ -= frame.bytes.size();
    to_client_.append(frame.bytes);
    waiting_.pop_front();
  }
}

}  // namespace filibuster
