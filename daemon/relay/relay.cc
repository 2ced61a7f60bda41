#include "daemon/relay/relay.h"

#include <algorithm>

namespace filibuster {

namespace {

constexpr size_t kMostFaulted = 4096;  // streams with an order that are open at once

}  // namespace

Relay::Relay(const RelayState& state, std::string_view table, std::string_view half_read,
             RelayHost* host)
    : host_(host),
      requests_(this),
      responses_(this),
      open_(state.last_request, state.open_requests),
      last_seen_(state.last_request),
      client_window_(state.client_window),
      client_initial_window_(state.client_initial_window) {
  requests_.begin_with(state);
  ok_ = responses_.begin_with(state, table, half_read);
}

// --- what comes --------------------------------------------------------------------------------

void Relay::from_client(std::string_view bytes, uint64_t now_ns) {
  now_ns_ = now_ns;
  requests_.feed(bytes);
  pump();
}

void Relay::from_server(std::string_view bytes, uint64_t now_ns) {
  now_ns_ = now_ns;
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
  if (retiring_) {
    // The stream is dropped: its client tries again elsewhere. Where the session ends, no execution
    // is left that it could harm.
    host_->note("a fault was ordered on an HTTP/2 connection that is being closed", true);
    return;
  }
  if (id % 2 == 0 || id <= last_seen_ || faulted_.contains(id)) {
    host_->note("an agent ordered a fault for an HTTP/2 stream that cannot have one", true);
    return;
  }
  if (responses_.opaque()) {
    host_->note("a fault was ordered on an HTTP/2 connection that is not followed any more", true);
    return;
  }
  if (id > goaway_last_) {
    host_->note("a fault was ordered on an HTTP/2 connection that its server had closed", true);
  }
  ordered_ = true;
  const FaultSpec* fault = host_->fault_of(order);
  if (fault != nullptr && fault->kind == FaultKind::kGoaway) {
    leave();
    return;
  }
  Stream& stream = faulted_[id];
  stream.order = order;
  if (fault != nullptr && faulted_.size() > kMostFaulted) {
    host_->note("more faulted HTTP/2 streams are open at once than are followed", true);
    fault = nullptr;
  }
  if (fault != nullptr) stream.fault = *fault;
  stream.cancelled = fault == nullptr;
  const bool changed = fault != nullptr && changes_answer(*fault);
  if (changed) stream.changed = std::make_unique<ChangedAnswer>(*fault);
  stream.spares_errors = stream.holding =
      fault != nullptr && fault->after_effect && host_->spares_errors(order);
  if (stream.holding) stream.changed = std::make_unique<ChangedAnswer>(FaultSpec{});
  stream.forwarded = changed || (fault != nullptr && fault->after_effect);
  stream.answer_ended = !stream.forwarded;
  stream.limit_ns = host_->hang_limit_ns();
  stream.deadline_ns = now_ns_ + stream.limit_ns + host_->patience_ns() +
                       stream.fault.latency_ms * uint64_t{1'000'000};
  if (stream.forwarded && id > server_last_) {
    stream.forwarded = false;
    stream.answer_ended = true;
    not_taken(&stream);
  }
}

void Relay::not_taken(Stream* stream) {
  host_->note("the server did not take a request whose fault was to follow its effect", true);
  stream->server_reset = true;
  stream->cancel_code = http2::ErrorCode::kRefusedStream;
  cancel(stream);
}

// --- the streams -------------------------------------------------------------------------------

Relay::Stream* Relay::find(uint32_t id) {
  const auto place = faulted_.find(id);
  return place != faulted_.end() ? &place->second : nullptr;
}

ChangedAnswer* Relay::changed_answer(uint32_t id) {
  Stream* stream = find(id);
  return stream != nullptr && stream->phase == Phase::kPassing ? stream->changed.get() : nullptr;
}

bool Relay::dead(uint32_t id) const {
  return dead_.contains(id) || (retiring_ && id % 2 != 0 && id > last_taken_);
}

void Relay::advance(Stream* stream, bool quiet) {
  if (stream->holding && stream->answer_ended && stream->phase == Phase::kPassing) {
    stream->holding = false;
    client_due_ = true;
    if (stream->changed->is_error()) return host_->spared(stream->order);
    stream->changed.reset();
    stream->phase = Phase::kWaiting;
  }
  if (stream->phase != Phase::kWaiting) return;
  if (stream->cancelled) {
    stream->phase = Phase::kDue;
  } else if (!stream->answer_ended) {
    return;
  } else if (stream->fault.kind == FaultKind::kTimeout) {
    stream->phase = Phase::kSilent;
  } else if (quiet || (stream->request_ended && stream->fault.kind != FaultKind::kReset)) {
    // A reset asks whether other streams are open, so all that the client has sent is read before.
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
  if (place->second.changed != nullptr && !place->second.spares_errors) {
    const std::string why = place->second.changed->unmet();
    if (!why.empty()) host_->unmet(place->second.order, why);
  }
  open_.close(id);
  dead_.insert(id);
  return faulted_.erase(place);
}

uint64_t Relay::next_deadline_ns() const {
  uint64_t next = 0;
  for (const auto& [id, stream] : faulted_) {
    // A part that is due already waits for a window or a boundary, not for the time.
    const uint64_t due = stream.part_due_ns() > now_ns_ ? stream.part_due_ns() : 0;
    for (const uint64_t deadline : {stream.deadline_ns, stream.alone_ns, due}) {
      if (deadline != 0 && (next == 0 || deadline < next)) next = deadline;
    }
  }
  return next;
}

void Relay::expire(uint64_t now_ns) {
  now_ns_ = now_ns;
  bool any = false;
  for (auto& [id, stream] : faulted_) {
    any = any || (stream.alone_ns != 0 && stream.alone_ns <= now_ns);
    any = any || (stream.part_due_ns() != 0 && stream.part_due_ns() <= now_ns);
    if (stream.deadline_ns == 0 || stream.deadline_ns > now_ns) continue;
    any = true;
    if (!stream.cancelled && stream.phase != Phase::kOrdered) {
      using Reached = HangLimit::Reached;
      const Reached reached = !stream.answer_ended             ? Reached::kByAnswer
                              : stream.phase == Phase::kSilent ? Reached::kBySilence
                                                               : Reached::kByReader;
      host_->report(stream.order.execution, stream.order.rpc, {reached, stream.limit_ns});
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

void Relay::leave() {
  retiring_ = goaway_due_ = client_due_ = true;
  // RFC 9113 §6.8: the number never grows.
  last_taken_ = std::min(last_seen_, goaway_last_);
}

void Relay::retire() {
  if (retiring_) return;
  retiring_ = goaway_due_ = true;
  // RFC 9113 §6.8, as in leave().
  last_taken_ = std::min(last_seen_, goaway_last_);
  for (auto& [id, stream] : faulted_) cancel(&stream);
  pump();
}

bool Relay::finished() const {
  return retiring_ && !goaway_due_ && !open_.any() && waiting_.empty();
}

bool Relay::answering() const {
  if (reset_ || !responses_.settings_seen || !responses_.at_boundary()) return false;
  if (!waiting_.empty()) return true;
  // If only faulted streams are open, nobody else waits to learn that the server is gone.
  const bool alone = !open_.more_than(faulted_.size());
  return std::any_of(faulted_.begin(), faulted_.end(), [alone](const auto& row) {
    const Phase phase = row.second.phase;
    if (phase == Phase::kPassing)
      return !row.second.holding && !row.second.changed->parts().empty();
    return phase == Phase::kDue || phase == Phase::kBody || (phase == Phase::kSilent && alone) ||
           (phase == Phase::kWaiting && row.second.answer_ended);
  });
}

}  // namespace filibuster
