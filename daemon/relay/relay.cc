#include "daemon/relay/relay.h"

#include <algorithm>

#include "core/http2/frame_writer.h"
#include "daemon/agents/execution_record.h"
#include "daemon/agents/hang_limit.h"
#include "daemon/relay/answer.h"

namespace filibuster {

using http2::ErrorCode;
using http2::Output;

namespace {

constexpr size_t kMostFaulted = 4096;  // streams with an order that are open at once
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

Relay::Relay(const RelayState& state, std::string_view table, RelayHost* host)
    : host_(host),
      requests_(this),
      responses_(this),
      open_(state.last_request, state.open_requests),
      last_seen_(state.last_request),
      client_window_(state.client_window),
      client_initial_window_(state.client_initial_window) {
  requests_.begin_with(state);
  ok_ = responses_.begin_with(state, table);
}

// --- what comes ----------------------------------------------------------------------------------

void Relay::from_client(std::string_view bytes, uint64_t now_ns) {
  now_ns_ = now_ns;
  requests_.feed(bytes);
  pump();
}

void Relay::from_server(std::string_view bytes) {
  responses_.feed(bytes);
  pump();
}

void Relay::client_quiet() {
  for (auto& [id, stream] : faulted_) advance(&stream, true);
  pump();
}

void Relay::server_ended() {
  for (auto& [id, stream] : faulted_) {
    stream.answer_ended = stream.server_reset = true;
    advance(&stream, false);
  }
  pump();
}

bool Relay::lost(const char* who, http2::Error error) {
  const std::string text = who + std::string(http2::describe(error));
  if (ordered_ || retiring_) {
    fail(text);
    return false;
  }
  host_->note("a relayed HTTP/2 connection is not followed any more: " + text, false);
  return true;
}

void Relay::fail(const std::string& why) {
  if (reset_) return;
  reset_ = true;
  host_->note("a relayed HTTP/2 connection was reset: " + why, true);
}

void Relay::take_order(uint32_t id, const StreamOrder& order) {
  if (retiring_) return;  // no plan is left; the stream is dropped
  if (id % 2 == 0 || id <= last_seen_ || faulted_.contains(id)) {
    host_->note("an agent ordered a fault for an HTTP/2 stream that cannot have one", true);
    return;
  }
  if (responses_.opaque()) {
    host_->note("a fault was ordered on an HTTP/2 connection that is not followed any more", true);
    return;
  }
  ordered_ = true;
  Stream& stream = faulted_[id];
  stream.order = order;
  const FaultSpec* fault = host_->fault_of(order);
  if (fault != nullptr && faulted_.size() > kMostFaulted) {
    host_->note("more faulted HTTP/2 streams are open at once than are followed", true);
    fault = nullptr;
  }
  if (fault != nullptr) stream.fault = *fault;
  stream.cancelled = fault == nullptr;
  stream.forwarded = fault != nullptr && fault->after_effect;
  stream.answer_ended = !stream.forwarded;
  stream.limit_ns = host_->hang_limit_ns();
  stream.deadline_ns = now_ns_ + stream.limit_ns;
}

// --- the streams
// -----------------------------------------------------------------------------------

Relay::Stream* Relay::find(uint32_t id) {
  const auto place = faulted_.find(id);
  return place != faulted_.end() ? &place->second : nullptr;
}

bool Relay::dead(uint32_t id) const {
  return dead_.contains(id) || (retiring_ && id % 2 != 0 && id > last_taken_);
}

void Relay::advance(Stream* stream, bool quiet) {
  if (stream->phase != Phase::kWaiting) return;
  if (stream->cancelled) {
    stream->phase = Phase::kDue;
  } else if (!stream->answer_ended) {
    return;
  } else if (stream->fault.kind == FaultKind::kTimeout) {
    stream->phase = Phase::kSilent;
  } else if (quiet || (stream->request_ended && stream->fault.kind != FaultKind::kReset)) {
    // A reset asks whether other streams are open: after all that the client has sent was read.
    stream->phase = Phase::kDue;
  }
  client_due_ = true;
}

void Relay::cancel(Stream* stream) {
  stream->cancelled = true;
  stream->deadline_ns = 0;
  if (stream->phase != Phase::kOrdered) stream->phase = Phase::kDue;
  client_due_ = true;
}

std::map<uint32_t, Relay::Stream>::iterator Relay::finish(
    std::map<uint32_t, Stream>::iterator place) {
  const uint32_t id = place->first;
  if (!place->second.closed_at_server()) {
    resets_to_server_.push_back(id);
    server_due_ = true;
  }
  open_.close(id);
  dead_.insert(id);
  return faulted_.erase(place);
}

uint64_t Relay::next_deadline_ns() const {
  uint64_t next = 0;
  for (const auto& [id, stream] : faulted_) {
    const uint64_t deadline = stream.deadline_ns;
    if (deadline != 0 && (next == 0 || deadline < next)) next = deadline;
  }
  return next;
}

void Relay::expire(uint64_t now_ns) {
  bool any = false;
  for (auto& [id, stream] : faulted_) {
    if (stream.deadline_ns == 0 || stream.deadline_ns > now_ns) continue;
    any = true;
    if (!stream.cancelled && stream.phase != Phase::kOrdered) {
      const std::string text = !stream.answer_ended ? "the server's own answer did not end"
                               : stream.phase == Phase::kSilent
                                   ? std::string(kCallerHasNoTimeout)
                                   : "the caller does not read the answer";
      host_->report(stream.order.execution, stream.order.rpc,
                    text + " " + hang_limit_text(stream.limit_ns));
    }
    cancel(&stream);
  }
  if (any) pump();
}

void Relay::end_execution(uint32_t execution) {
  for (auto& [id, stream] : faulted_) {
    if (stream.order.execution == execution) cancel(&stream);
  }
  pump();
}

void Relay::retire() {
  if (retiring_) return;
  retiring_ = goaway_due_ = true;
  last_taken_ = last_seen_;
  for (auto& [id, stream] : faulted_) cancel(&stream);
  pump();
}

bool Relay::finished() const {
  return retiring_ && !goaway_due_ && !open_.any() && waiting_.empty();
}

bool Relay::answering() const {
  if (reset_ || !responses_.settings_seen || !responses_.at_boundary()) return false;
  return !waiting_.empty() || std::any_of(faulted_.begin(), faulted_.end(), [](const auto& row) {
    const Phase phase = row.second.phase;
    return phase == Phase::kDue || phase == Phase::kBody ||
           (phase == Phase::kWaiting && row.second.answer_ended);
  });
}

// --- frames of ours
// ----------------------------------------------------------------------------------

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
    place = open ? std::next(place) : finish(place);
  }
}

std::optional<uint32_t> Relay::size_update() const {
  return responses_.rewriter.began() ? std::nullopt : std::optional<uint32_t>(0);
}

bool Relay::place(uint32_t id, Stream* stream) {
  if (stream->cancelled) {
    append_reset(&to_client_, id, ErrorCode::kCancel);
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
      to_client_.append(render_grpc_status(stream->fault, id, size_update()));
      responses_.rewriting = true;
      break;
    case FaultKind::kRefused:
      append_reset(&to_client_, id, ErrorCode::kRefusedStream);
      return false;
    case FaultKind::kReset:
      if (open_.any_but(id)) {
        append_reset(&to_client_, id, ErrorCode::kInternalError);
      } else {
        reset_ = true;
      }
      return false;
    case FaultKind::kTimeout:
    case FaultKind::kNone:
      append_reset(&to_client_, id, ErrorCode::kCancel);
      return false;
  }
  // RFC 9113 §8.1: the answer is complete, the rest of the request is not wanted.
  if (!stream->request_ended) append_reset(&to_client_, id, ErrorCode::kNoError);
  return false;
}

bool Relay::place_body(uint32_t id, Stream* stream) {
  const std::string_view body = stream->fault.body;
  while (stream->body_sent < body.size() && to_client_.size() < kMostUnsent) {
    const int64_t window = std::min(client_window_, client_initial_window_ + stream->credit);
    if (window <= 0) return true;
    const std::string_view piece =
        body.substr(stream->body_sent,
                    std::min<uint64_t>(static_cast<uint64_t>(window), http2::kDefaultMaxFrameSize));
    const auto size = static_cast<int64_t>(piece.size());
    stream->body_sent += piece.size();
    stream->credit -= size;
    client_window_ -= size;
    unknown_to_server_ += piece.size();
    std::string frame(http2::kFrameHeaderSize + piece.size(), '\0');
    Output out(frame.data(), frame.size());
    http2::write_data(id, piece, stream->body_sent == body.size(), http2::kDefaultMaxFrameSize,
                      out);
    to_client_.append(out.view());
  }
  if (stream->body_sent < body.size()) return true;
  if (!stream->request_ended) append_reset(&to_client_, id, ErrorCode::kNoError);
  return false;
}

// --- frames of the server that wait for the client's window
// ------------------------------------------

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
