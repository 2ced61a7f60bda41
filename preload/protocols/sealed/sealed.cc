#include "preload/protocols/sealed/sealed.h"

#include <cerrno>
#include <new>

#include "core/fault/fault.h"
#include "preload/inject/inject.h"
#include "preload/os/address.h"
#include "preload/os/pool.h"
#include "preload/rpc/fields.h"
#include "preload/runtimes/attached/origin.h"
#include "preload/session/state.h"
#include "preload/stream/delivery.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/recognition.h"
#include "preload/tls/carrier.h"

namespace filibuster::preload {
namespace {

constexpr std::string_view kMethod = "TLS";
Pool<Sealed::ManyTold, 16, 4096> g_told;

Sealed& sealed_of(Connection& c) {
  return *reinterpret_cast<Sealed*>(c.room);
}

void end_call(Sealed& s, RpcFinished finished) {
  finished.injected = s.delayed && finished.outcome == RpcOutcome::kAnswered ? 1 : 0;
  s.delayed = false;
  outgoing_end(&s.call, finished);
}

void end_told(Sealed::Told* told, RpcFinished finished) {
  finished.injected = told->delayed && finished.outcome == RpcOutcome::kAnswered ? 1 : 0;
  outgoing_end(&told->call, finished);
  told->number = 0;
}

void end_all_told(Sealed& s, const RpcFinished& finished) {
  for (Sealed::Told& told : s.open_told()) {
    if (told.number != 0) end_told(&told, finished);
  }
}

// The end of the other requests of a connection that a fault has ended for one of them.
RpcFinished with_the_connection() {
  RpcFinished finished;
  finished.outcome = RpcOutcome::kReset;
  finished.error = ECONNRESET;
  return finished;
}

// Begins the RPC whose first byte is the next that leaves. `seen`: what others see of it; nullptr: nothing.
void begin_call(Connection& c, const AttachedCall* seen) {
  Sealed& s = sealed_of(c);
  // What is said anew ends what was said before, except where a connection has several requests at a time.
  end_call(s, {});
  if (seen != nullptr && !seen->http2) end_all_told(s, {});
  find_target_of(c);
  RequestHead head;
  head.method = kMethod;
  head.protocol = Protocol::kSealed;
  if (seen != nullptr) {
    head.method = seen->method;
    head.target = seen->target;
    head.target_truncated = seen->cut;
    head.host = seen->host.ends_with(']') ? seen->host : without_port(seen->host);
  }
  OutgoingInfo info;
  info.head = &head;
  info.target = c.target;
  info.peer = c.peer_name();
  info.body_complete = true;
  RequestFields* fields =
      begin_fields(own_service(), target_service(c.target, head, c.peer_name()), head);
  info.fields = fields;
  info.encrypted = true;
  info.opens_connection = c.is_opened_now();
  if (info.opens_connection) info.connect = c.connect.name;
  s.execution = current_execution();
  outgoing_begin(info, &s.call);
  end_fields(fields);
  ++c.requests;
}

// The RPC that was just begun is one of several from now on.
void keep_open(Sealed& s, const AttachedCall& seen) {
  if (!s.call.active) return;
  if (s.open_told().empty()) {
    Sealed::ManyTold* memory = g_told.take();
    if (memory == nullptr) return end_call(s, {});  // as if others had pushed it out
    s.open.store(new (memory) Sealed::ManyTold, std::memory_order_release);
  }
  const std::span<Sealed::Told> open = s.open_told();
  Sealed::Told& place = open[s.next_told++ % open.size()];
  if (place.number != 0) end_told(&place, {});
  place = {seen.number, s.call, seen.http2, s.delayed};
  s.call.active = s.delayed = false;
}

void not_injected(Sealed& s, const char* why) {
  report_fault(s.call, FaultHow::kNotInjected, why);
}

// The server's answer comes later: the daemon carries the connection from here on.
void delay(Connection& c, int fd) {
  Sealed& s = sealed_of(c);
  if (const char* why = change_answer(fd, nullptr, s.call, false)) return not_injected(s, why);
  c.cookie = socket_cookie(fd);
  s.delayed = true;
  g_faults_fired.store(true);
  report_fault(s.call, FaultHow::kInjected, "the server's answer passes later");
}

// True: the fault happened in the place of all that was to be sent.
bool fire(Connection& c, int fd) {
  Sealed& s = sealed_of(c);
  if (!c.response_flow.acquire()) {
    not_injected(s, "another thread was reading the connection");
    return false;
  }
  const auto kind = static_cast<FaultKind>(s.call.plan.kind);
  bool done = false;
  if (s.call.plan.after_effect != 0) {
    not_injected(s, "it is encrypted, so nobody sees where its request ends");
  } else if (kind == FaultKind::kLatency) {
    delay(c, fd);
  } else if (kind == FaultKind::kRefused || kind == FaultKind::kReset ||
             kind == FaultKind::kTimeout) {
    done = end_with_fault(c, fd, &s.call, false, false);
  } else {
    not_injected(s, "it is encrypted, so no answer can be made for it");
  }
  if (done && kind == FaultKind::kTimeout) {
    s.silenced = s.call;
    s.silenced_number = t_attached_call.number;
    s.silenced_http2 = t_attached_call.http2;
    s.call.active = false;
  }
  c.response_flow.release();
  return done;
}

}  // namespace

// --- what the client sends -----------------------------------------------------------------------

void Sealed::offered(Connection& c, const Offer& offer, uint64_t from) {
  uint64_t position = from;
  offer.pieces.each(
      static_cast<size_t>(from - offer.base), SIZE_MAX, [&](const char* part, size_t size) {
        std::string_view bytes(part, size);
        for (;;) {
          const size_t before = bytes.size();
          const auto stop = requests.feed(&bytes);
          position += before - bytes.size();
          if (stop == tls::RecordReader::Stop::kGarbled)
            give_up(c, NotInterposedReason::kUnknownProtocol);
          if (stop == tls::RecordReader::Stop::kGarbled || stop == tls::RecordReader::Stop::kEnd)
            return c.state.is_followed();
          if (stop != tls::RecordReader::Stop::kRecord) continue;
          record_at = position - tls::RecordReader::kHeader;
          if (turns.says_something(requests.record()) && begins_at == UINT64_MAX)
            begins_at = record_at;
        }
      });
  if (offer.base == 0 && from == 0) name_by_hello(c, offer.pieces, static_cast<size_t>(offer.end));
}

Released Sealed::release(Connection& c, int fd, const Offer& offer, Sending) {
  if (!c.state.is_followed()) return {offer.end, {}};
  if (!hello_is_out) {
    if (fail_handshake(c, fd)) return {offer.base, Released::Then::kSwallow};
    hello_is_out = true;
  }
  if (begins_at == UINT64_MAX) return {offer.end, {}};
  if (c.wire.edits.position() < begins_at) return {begins_at, Released::Then::kMore};
  begins_at = UINT64_MAX;
  const AttachedCall* seen = t_attached_call.is_request() ? &t_attached_call : nullptr;
  if (t_attached_call.number != 0) told = true;
  if (seen == nullptr && (told || (c.requests != 0 && current_execution() == execution)))
    return {offer.end, {}};
  if (c.requests == 0) {
    handshake_was_taken(c);
    report_given_up(c, NotInterposedReason::kSealed);  // what is not tested of it
  }
  begin_call(c, seen);
  const bool fired = call.active && call.faulted && fire(c, fd);
  if (seen != nullptr) keep_open(*this, *seen);
  return fired ? Released{offer.base, Released::Then::kSwallow} : Released{offer.end, {}};
}

// The application goes on to use the connection of a request that a fault has ended, as it may over HTTP/2.
void Sealed::swallowed(Connection& c) {
  if (!t_attached_call.is_request()) return;
  const AttachedCall seen = t_attached_call;
  begin_call(c, &seen);
  if (call.active && call.faulted) not_injected(*this, "a fault had ended its connection before");
  outgoing_end(&call, with_the_connection());
}

// --- what the server sends -----------------------------------------------------------------------

void Sealed::observed(Connection& c, int, Traffic traffic, Pieces pieces, size_t size) {
  if (traffic == Traffic::kRequests) return;
  pieces.each(0, size, [&](const char* part, size_t part_size) {
    std::string_view bytes(part, part_size);
    for (;;) {
      switch (answers.feed(&bytes)) {
        case tls::RecordReader::Stop::kEnd:
          return true;
        case tls::RecordReader::Stop::kGarbled:
          give_up(c, NotInterposedReason::kUnknownProtocol);
          return false;
        case tls::RecordReader::Stop::kBody: {
          tls::ServerChoice choice;
          if (!chosen && tls::read_server_hello(answers.body(), &choice)) turns.choose(choice);
          chosen = true;
          break;
        }
        case tls::RecordReader::Stop::kRecord:
          // Of TLS 1.3 this may be a session ticket, which comes without being asked for.
          if (answers.record().type == tls::ContentType::kApplicationData) end_call(*this, {});
          break;
      }
    }
  });
}

// --- ends ----------------------------------------------------------------------------------------

// What the server said before it has ended the stream may be an answer that its client has not read yet. The client closes
// the connection then.
void Sealed::end_unanswered(Connection& c) {
  end_call(*this, unanswered(c));
  if (c.last_error != 0 || !c.end_of_stream) end_all_told(*this, unanswered(c));
}

void Sealed::settle(Connection& c) {
  end_call(*this, unanswered(c));
  end_all_told(*this, c.state.is_replaced() ? with_the_connection() : unanswered(c));
}

void Sealed::end_silence(Connection& c) {
  end_handshake_silence(c);
  RpcFinished finished;
  finished.outcome = RpcOutcome::kTimedOut;
  finished.injected = c.elapsed.load(std::memory_order_relaxed) ? 2 : 1;
  outgoing_end(&silenced, finished);
}

// Over HTTP/1.1 the end of the connection follows an error, and says which.
bool Sealed::answered_elsewhere(Connection& c, uint64_t number, uint16_t status) {
  const bool failed = status == 0;
  if (silenced.active && silenced_number == number && failed && silenced_http2) {
    end_silence(c);
    return true;
  }
  for (Told& one : open_told()) {
    if (one.number != number || (failed && !one.http2)) continue;
    RpcFinished answered;
    answered.status = status;
    end_told(&one, failed ? unanswered(c) : answered);
  }
  return false;
}

// The next that is said may be a request that was not announced.
void Sealed::answers_elsewhere_lost(Connection&) {
  if (!told) return;
  end_all_told(*this, {});
  told = false;
  execution = 0;
}

void Sealed::adopt_in_child(Connection& c) {
  call.active = silenced.active = c.connect.handshake.active = false;
  for (Told& one : open_told()) one.number = 0;
}

void Sealed::free(Connection&) {
  if (ManyTold* many = open.load()) g_told.give(many);
}

void begin_tls(Connection& c, Pieces pieces, size_t size) {
  char gathered[1];
  const FirstBytes first(pieces, size, gathered, sizeof gathered);
  const KeptBytes& kept = c.first[static_cast<size_t>(Traffic::kRequests)];
  const char byte = kept.size != 0 ? kept.bytes[0] : first.size != 0 ? first.data[0] : '\0';
  const bool is_hello = byte == static_cast<char>(tls::ContentType::kHandshake);
  if (!identity().is_proxy || c.role != Role::kClient || !c.seen_from_start || !is_hello)
    return begin_carrier(c, pieces, size);
  void* room = take_room(c);
  if (room == nullptr) return;
  auto* sealed = new (room) Sealed;
  find_target_of(c);
  publish(c, sealed);
}

}  // namespace filibuster::preload
