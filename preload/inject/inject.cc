// One fault on one connection: prepare everything that can fail, then replace, then report.
#include "preload/inject/inject.h"

#include "core/fault/fault.h"
#include "preload/inject/raw.h"
#include "preload/inject/replaced.h"
#include "preload/inject/replacement.h"
#include "preload/session/agent_thread.h"

namespace filibuster::preload {
namespace {

const char* why_no_plain_end() {
  return agent_thread_was_refused()
             ? "the encrypted connection could not be read for the daemon, since this process may start no thread "
               "(ulimit -u; HAProxy that is not root sets it, unless its configuration says insecure-fork-wanted)"
             : "the encrypted connection could not be read for the daemon";
}
constexpr size_t kBodySample = 256;  // bytes of a synthetic body copied into its event

bool not_injected(const OutgoingCall& call, const char* why) {
  report_fault(call, FaultHow::kNotInjected, why);
  return false;
}

// A server of TLS speaks unasked, too (session tickets), and what it says belongs to nobody's answer.
bool is_sealed(const OutgoingCall& call) {
  return (call.flags & kRpcSealed) != 0;
}

// No answer can come any more. (A receive would tell, too, and take the error away.)
bool has_ended(int fd) {
  pollfd now = {fd, POLLRDHUP, 0};
  const timespec none = {0, 0};
  return raw::call(SYS_ppoll, raw::address_of(&now), 1, raw::address_of(&none)) > 0 &&
         (now.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// The planned answer, copied out of lane memory into pages of our own.
class Answer {
 public:
  Answer(const PlanEntry& entry, bool head_request) : capacity_(entry.blob_size + 1) {
    data_ = static_cast<char*>(raw::map_pages(capacity_));
    if (data_ != nullptr) size_ = plan_blob(entry, head_request, data_, capacity_);
  }
  ~Answer() {
    if (data_ != nullptr) raw::unmap_pages(data_, capacity_);
  }
  Answer(const Answer&) = delete;
  std::string_view bytes() const { return {data_, size_}; }
  std::string_view body() const {
    const size_t end = bytes().find("\r\n\r\n");
    return end == std::string_view::npos ? std::string_view() : bytes().substr(end + 4);
  }

 private:
  char* data_ = nullptr;
  size_t capacity_;
  size_t size_ = 0;
};

void finish_with_answer(OutgoingCall* call, const Answer& answer, std::string_view detail) {
  report_fault(*call, FaultHow::kInjected, detail);
  RpcFinished finished;
  finished.rpc = call->rpc;
  finished.outcome = RpcOutcome::kAnswered;
  finished.injected = 1;
  finished.status = call->plan.status;
  finished.body = hash_bytes(answer.body().data(), answer.body().size());
  finished.body_size = answer.body().size();
  finished.body_sample = answer.body().substr(0, kBodySample);
  outgoing_end(call, finished);
}

void finish_with_reset(OutgoingCall* call, FaultHow how, std::string_view detail) {
  report_fault(*call, how, detail);
  RpcFinished finished;
  finished.rpc = call->rpc;
  finished.outcome = RpcOutcome::kReset;
  finished.injected = 1;
  finished.error = ECONNRESET;
  outgoing_end(call, finished);
}

// Gives up the real connection: threads that wait on it wake up, and the server sees its end.
void close_original(Replacement* plan) {
  raw::shutdown(plan->original, SHUT_RD);
  release_descriptor(plan->original);
  plan->original = -1;
}

bool answer_before(Replacement* plan, Encryption* encryption, OutgoingCall* call,
                   bool head_request) {
  const Answer answer(call->plan, head_request);
  const bool written = !answer.bytes().empty() && write_on_held(plan->pair, answer.bytes());
  if (!written) {
    abandon(plan);
    return not_injected(*call, answer.bytes().empty() ? "the plan holds no answer for it"
                                                      : "the answer does not fit a socket buffer");
  }
  raw::shutdown(plan->pair.held, SHUT_WR);
  // The held end stays open: a client that is still sending (through stdio, say) must not meet a reset.
  replace(plan, encryption, kEntrySwallows, keep_held_end(plan->pair.held, true), 0);
  close_original(plan);
  finish_with_answer(call, answer, "answered before it was sent");
  return true;
}

bool reset_before(Replacement* plan, Encryption* encryption, OutgoingCall* call) {
  reset_app_end(&plan->pair);
  replace(plan, encryption, 0, 0, 0);
  close_original(plan);
  const bool refused = static_cast<FaultKind>(call->plan.kind) == FaultKind::kRefused;
  if (refused) outgoing_refused_as_reset(*call);
  finish_with_reset(
      call, refused ? FaultHow::kResetInsteadOfRefused : FaultHow::kInjected,
      refused ? "the connection was open: reset before it was sent" : "reset before it was sent");
  return true;
}

// The connection ends in an orderly way.
bool end_before(Replacement* plan, Encryption* encryption, OutgoingCall* call) {
  raw::shutdown(plan->pair.held, SHUT_WR);
  replace(plan, encryption, kEntrySwallows, keep_held_end(plan->pair.held, true), 0);
  close_original(plan);
  report_fault(*call, FaultHow::kInjected, "ended in its handshake");
  RpcFinished finished;
  finished.rpc = call->rpc;
  finished.outcome = RpcOutcome::kClosed;
  finished.injected = 1;
  outgoing_end(call, finished);
  return true;
}

bool silence_before(int fd, Replacement* plan, Encryption* encryption, OutgoingCall* call,
                    bool head_request) {
  let_close_reset(plan->pair);  // for the reset at the hang limit
  if (!hand_off(*call, HandOffKind::kSilence, head_request, plan->pair.held, -1)) {
    abandon(plan);
    return not_injected(*call, "no daemon to keep the silence");
  }
  replace(plan, encryption, kEntrySwallows | kEntrySilent, 0, 0);
  begin_silence(fd, *call);
  close_original(plan);
  report_fault(*call, FaultHow::kInjected, "silent before it was sent");
  return true;
}

}  // namespace

bool inject_before_effect(int fd, Encryption* encryption, OutgoingCall* call, bool head_request) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return not_injected(*call, why);
  if (!is_sealed(*call) && has_unread(plan, encryption)) {
    abandon(&plan);
    return not_injected(*call, "bytes of an earlier answer are unread");
  }
  switch (static_cast<FaultKind>(call->plan.kind)) {
    case FaultKind::kStatus:
      return answer_before(&plan, encryption, call, head_request);
    case FaultKind::kReset:
    case FaultKind::kRefused:
      return reset_before(&plan, encryption, call);
    case FaultKind::kTimeout:
      return silence_before(fd, &plan, encryption, call, head_request);
    case FaultKind::kTls:
      if (static_cast<TlsFault>(call->plan.tls) == TlsFault::kHandshakeTimeout)
        return silence_before(fd, &plan, encryption, call, head_request);
      if (static_cast<TlsFault>(call->plan.tls) == TlsFault::kClosedWithoutNotify)
        return end_before(&plan, encryption, call);
      break;
    case FaultKind::kGrpc:
      abandon(&plan);
      return not_injected(*call, "a gRPC status needs a call over HTTP/2");
    case FaultKind::kContentLength:
    case FaultKind::kSlowBody:
    case FaultKind::kStreamReset:
    case FaultKind::kGoaway:
    case FaultKind::kLatency:
    case FaultKind::kPartialMessage:
    case FaultKind::kEmptyMessage:
    case FaultKind::kCorruptMessage:
    case FaultKind::kNoTrailers:
      abandon(&plan);
      return not_injected(*call, "it does not fit this protocol");
    case FaultKind::kRedis:
    case FaultKind::kAttempts:  // its items are what is injected
    case FaultKind::kNone:
      break;
  }
  abandon(&plan);
  return not_injected(*call, "unknown kind of fault");
}

bool inject_after_effect(int fd, Encryption* encryption, OutgoingCall* call, bool head_request) {
  HandOffKind kind;
  uint32_t flags = 0;
  switch (static_cast<FaultKind>(call->plan.kind)) {
    case FaultKind::kStatus:
      kind = HandOffKind::kDrainThenAnswer;
      flags = kEntrySwallows;
      break;
    case FaultKind::kReset:
    case FaultKind::kRefused:
      kind = HandOffKind::kDrainThenReset;
      break;
    case FaultKind::kTimeout:
      kind = HandOffKind::kDrainThenSilence;
      flags = kEntrySwallows | kEntrySilent;
      break;
    default:
      return not_injected(*call, "unknown kind of fault");
  }
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return not_injected(*call, why);
  if (!decrypt(&plan, encryption)) {
    abandon(&plan);
    return not_injected(*call, why_no_plain_end());
  }
  // A wait on a silence after effect is over only when the effect has come (elapse_wait).
  int effect = -1;
  if (kind == HandOffKind::kDrainThenSilence) {
    effect = raw::fcntl(plan.original, F_DUPFD_CLOEXEC, 0);
    if (effect >= 0) effect = adopt_descriptor(effect);
  }
  if (kind != HandOffKind::kDrainThenAnswer) let_close_reset(plan.pair);
  // From here on the real connection is the daemon's. It is not shut down, because the daemon reads it.
  if (!hand_off(*call, kind, head_request, plan.pair.held, plan.original)) {
    abandon(&plan);
    if (effect >= 0) release_descriptor(effect);
    return not_injected(*call, "no daemon to read the real answer away");
  }
  replace(&plan, encryption, flags, 0, effect >= 0 ? keep_held_end(effect, false) : 0);
  if (kind == HandOffKind::kDrainThenAnswer) {
    finish_with_answer(call, Answer(call->plan, head_request), "answered after its effect");
  } else if (kind == HandOffKind::kDrainThenReset) {
    finish_with_reset(call, FaultHow::kInjected, "reset after its effect");
  } else {
    begin_silence(fd, *call);
    report_fault(*call, FaultHow::kInjected, "silent after its effect");
  }
  return true;
}

const char* change_answer(int fd, Encryption* encryption, const OutgoingCall& call,
                          bool head_request) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return why;
  if (!is_sealed(call) && has_unread(plan, encryption)) {
    abandon(&plan);
    return "bytes of an earlier answer are unread";
  }
  if (has_ended(plan.original)) {
    abandon(&plan);
    return kConnectionEndedFirst;
  }
  if (!decrypt(&plan, encryption)) {
    abandon(&plan);
    return why_no_plain_end();
  }
  if (!hand_off(call, HandOffKind::kChange, head_request, plan.pair.held, plan.original)) {
    abandon(&plan);
    return "no daemon to change the answer";
  }
  // Of HTTP/1.1 the answer ends the connection, and what was decrypted is not encrypted again.
  const bool goes_on = is_sealed(call) || ((call.flags & kRpcRedis) != 0 && encryption == nullptr);
  replace(&plan, encryption, goes_on ? uint32_t{kEntryCarried} : 0u, 0, 0);
  return nullptr;
}

const char* convert_to_relay(int fd, Encryption* encryption, const OutgoingCall& call,
                             const RelayState& state, const char* tail) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return why;
  if (!decrypt(&plan, encryption)) {
    abandon(&plan);
    return why_no_plain_end();
  }
  if (!hand_off_relay(call, state, tail, plan.pair.held, plan.original)) {
    abandon(&plan);
    return "no daemon to relay the connection";
  }
  replace(&plan, encryption, 0, 0, 0);
  return nullptr;
}

}  // namespace filibuster::preload
