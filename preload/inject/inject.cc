// One fault on one connection: prepare everything that can fail, then replace, then report.
#include "preload/inject/inject.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "core/fault/fault.h"
#include "preload/inject/pair.h"
#include "preload/inject/raw.h"
#include "preload/inject/registrations.h"
#include "preload/inject/replaced.h"

namespace filibuster::preload {
namespace {

constexpr size_t kBodySample = 256;  // bytes of a synthetic body copied into its event

// What an application sets on a socket and would notice the absence of.
struct CopiedOption {
  int level, name;
  socklen_t size;
  bool tcp_only;
};
constexpr CopiedOption kCopiedOptions[] = {
    {SOL_SOCKET, SO_RCVTIMEO, sizeof(timeval), false},
    {SOL_SOCKET, SO_SNDTIMEO, sizeof(timeval), false},
    {SOL_SOCKET, SO_RCVLOWAT, sizeof(int), false},
    {SOL_SOCKET, SO_KEEPALIVE, sizeof(int), false},
    {SOL_SOCKET, SO_LINGER, sizeof(linger), false},
    {IPPROTO_TCP, TCP_NODELAY, sizeof(int), true},
};

// The planned replacement of one socket of the application.
struct Replacement {
  int original = -1;  // a copy of the real connection: one of our descriptors
  Pair pair;
  RegistrationFreeze freeze;  // until it is replaced or abandoned
  Registrations registrations;
  sockaddr_storage peer, local;
  socklen_t peer_size = 0, local_size = 0;
};

void abandon(Replacement* plan) {
  discard_pair(&plan->pair);
  if (plan->original >= 0) release_descriptor(plan->original);
  plan->original = -1;
  plan->freeze.end();
}

const char* take_registrations(int fd, Replacement* plan) {
  if (!plan->freeze.begin()) return "a thread stays in epoll_ctl";
  if (const char* why = find_registrations(fd, &plan->registrations)) return why;
  for (int i = 0; i < plan->registrations.alias_count; ++i) {
    if (claim_replaced(plan->registrations.aliases[i]) == nullptr) return "no table entry for it";
  }
  return nullptr;
}

// nullptr, or why the descriptor cannot be replaced (then nothing has changed).
const char* prepare(int fd, Replacement* plan) {
  int family = 0, type = 0;
  socklen_t size = sizeof family;
  if (is_replaced(fd)) return "the connection was replaced by an earlier fault";
  if (raw::get_option(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) < 0) return "not a socket";
  size = sizeof type;
  raw::get_option(fd, SOL_SOCKET, SO_TYPE, &type, &size);
  if (type != SOCK_STREAM || (family != AF_INET && family != AF_INET6 && family != AF_UNIX)) {
    return "not a TCP or Unix stream socket";
  }
  plan->peer_size = plan->local_size = sizeof(sockaddr_storage);
  if (raw::peer_name(fd, reinterpret_cast<sockaddr*>(&plan->peer), &plan->peer_size) < 0) {
    plan->peer_size = 0;
  }
  if (raw::local_name(fd, reinterpret_cast<sockaddr*>(&plan->local), &plan->local_size) < 0) {
    plan->local_size = 0;
  }
  const int copy = raw::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return "no descriptor left";
  plan->original = adopt_descriptor(copy);
  if (plan->original < 0) {
    raw::close(copy);
    return "no descriptor left";
  }
  if (!make_pair(family, &plan->pair)) {
    abandon(plan);
    return "no loopback connection to replace it with";
  }
  for (const CopiedOption& option : kCopiedOptions) {
    if (option.tcp_only && family == AF_UNIX) continue;
    char value[16];
    socklen_t value_size = option.size;
    if (raw::get_option(fd, option.level, option.name, value, &value_size) == 0) {
      raw::set_option(plan->pair.app, option.level, option.name, value, value_size);
    }
  }
  const int flags = raw::fcntl(fd, F_GETFL);
  if (flags >= 0) raw::fcntl(plan->pair.app, F_SETFL, flags & (O_NONBLOCK | O_ASYNC));
  if (const char* why = take_registrations(fd, plan)) {
    abandon(plan);
    return why;
  }
  return nullptr;
}

// Puts the pair's end into the place of the socket, in epoll sets too. `held` and `effect`: slots
// of the table's entry, or 0. The epoll sets lose the old registration first: the kernel drops it
// by itself only with the last descriptor, and we hold one. A one-shot registration that has fired
// and is not armed again comes back armed for errors and hang-ups (epoll_ctl(2) always adds those):
// only a reset can show it, one event early.
void replace(Replacement* planned, uint32_t flags, uint32_t held, uint32_t effect) {
  const Replacement& plan = *planned;
  const Registrations& found = plan.registrations;
  if (found.alias_count > 1) flags |= kEntryShared;
  for (int i = 0; i < found.count; ++i) {
    raw::epoll_change(found.list[i].set, EPOLL_CTL_DEL, found.list[i].fd, &found.list[i].event);
  }
  for (int i = 0; i < found.alias_count; ++i) {
    const int number = found.aliases[i];
    const int descriptor_flags = raw::fcntl(number, F_GETFD);
    if (descriptor_flags < 0) continue;  // a duplicate, closed meanwhile by another thread
    int result;
    do {
      result = raw::dup3(plan.pair.app, number, (descriptor_flags & FD_CLOEXEC) ? O_CLOEXEC : 0);
    } while (result == -EBUSY || result == -EINTR);
    if (result < 0) {
      report_note("a descriptor of a faulted connection could not be replaced");
      continue;
    }
    ReplacedEntry* entry = claim_replaced(number);
    entry->peer = plan.peer;
    entry->local = plan.local;
    entry->peer_size = plan.peer_size;
    entry->local_size = plan.local_size;
    entry->held.store(i == 0 ? held : 0, std::memory_order_relaxed);
    entry->effect.store(effect, std::memory_order_relaxed);
    publish_replaced(entry, flags);
  }
  raw::close(plan.pair.app);
  for (int i = 0; i < found.count; ++i) {
    epoll_event event = found.list[i].event;
    const int result =
        raw::epoll_change(found.list[i].set, EPOLL_CTL_ADD, found.list[i].fd, &event);
    if (result < 0 && result != -EEXIST) report_note("an epoll registration was lost in a fault");
  }
  planned->freeze.end();
}

bool not_injected(const OutgoingCall& call, const char* why) {
  report_fault(call, FaultHow::kNotInjected, why);
  return false;
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

// Gives up the real connection: threads that wait in it wake up, the server sees its end.
void close_original(Replacement* plan) {
  raw::shutdown(plan->original, SHUT_RD);
  release_descriptor(plan->original);
  plan->original = -1;
}

bool answer_before(Replacement* plan, OutgoingCall* call, bool head_request) {
  const Answer answer(call->plan, head_request);
  const bool written = !answer.bytes().empty() && write_on_held(plan->pair, answer.bytes());
  if (!written) {
    abandon(plan);
    return not_injected(*call, answer.bytes().empty() ? "the plan holds no answer for it"
                                                      : "the answer does not fit a socket buffer");
  }
  raw::shutdown(plan->pair.held, SHUT_WR);
  // Kept readable: a client that is still sending (through stdio, say) must not meet a reset.
  replace(plan, kEntrySwallows, keep_held_end(plan->pair.held, true), 0);
  close_original(plan);
  finish_with_answer(call, answer, "answered before it was sent");
  return true;
}

bool reset_before(Replacement* plan, OutgoingCall* call) {
  reset_app_end(&plan->pair);
  replace(plan, 0, 0, 0);
  close_original(plan);
  const bool refused = static_cast<FaultKind>(call->plan.kind) == FaultKind::kRefused;
  if (refused) outgoing_refused_as_reset(*call);
  finish_with_reset(
      call, refused ? FaultHow::kResetInsteadOfRefused : FaultHow::kInjected,
      refused ? "the connection was open: reset before it was sent" : "reset before it was sent");
  return true;
}

bool silence_before(Replacement* plan, OutgoingCall* call, bool head_request) {
  let_close_reset(plan->pair);  // the hang limit's
  if (!hand_off(*call, HandOffKind::kSilence, head_request, plan->pair.held, -1)) {
    abandon(plan);
    return not_injected(*call, "no daemon to keep the silence");
  }
  replace(plan, kEntrySwallows | kEntrySilent, 0, 0);
  close_original(plan);
  report_fault(*call, FaultHow::kInjected, "silent before it was sent");
  return true;
}

}  // namespace

bool inject_before_effect(int fd, OutgoingCall* call, bool head_request) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return not_injected(*call, why);
  int unread = 0;
  if (raw::call(SYS_ioctl, plan.original, FIONREAD, raw::address_of(&unread)) == 0 && unread > 0) {
    abandon(&plan);
    return not_injected(*call, "bytes of an earlier answer are unread");
  }
  switch (static_cast<FaultKind>(call->plan.kind)) {
    case FaultKind::kStatus:
      return answer_before(&plan, call, head_request);
    case FaultKind::kReset:
    case FaultKind::kRefused:
      return reset_before(&plan, call);
    case FaultKind::kTimeout:
      return silence_before(&plan, call, head_request);
    case FaultKind::kGrpc:
      abandon(&plan);
      return not_injected(*call, "a gRPC status needs a call over HTTP/2");
    case FaultKind::kStreamReset:
    case FaultKind::kGoaway:
    case FaultKind::kLatency:
    case FaultKind::kPartialMessage:
    case FaultKind::kEmptyMessage:
    case FaultKind::kCorruptMessage:
    case FaultKind::kNoTrailers:
      abandon(&plan);
      return not_injected(*call, "it needs a stream of an HTTP/2 connection");
    case FaultKind::kNone:
      break;
  }
  abandon(&plan);
  return not_injected(*call, "unknown kind of fault");
}

bool inject_after_effect(int fd, OutgoingCall* call, bool head_request) {
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
  // A wait on a silence after effect is over only when the effect has come (elapse_wait).
  int effect = -1;
  if (kind == HandOffKind::kDrainThenSilence) {
    effect = raw::fcntl(plan.original, F_DUPFD_CLOEXEC, 0);
    if (effect >= 0) effect = adopt_descriptor(effect);
  }
  if (kind != HandOffKind::kDrainThenAnswer) let_close_reset(plan.pair);
  // From here on the real connection is the daemon's; it is not shut down, for it is still read.
  if (!hand_off(*call, kind, head_request, plan.pair.held, plan.original)) {
    abandon(&plan);
    if (effect >= 0) release_descriptor(effect);
    return not_injected(*call, "no daemon to read the real answer away");
  }
  replace(&plan, flags, 0, effect >= 0 ? keep_held_end(effect, false) : 0);
  if (kind == HandOffKind::kDrainThenAnswer) {
    finish_with_answer(call, Answer(call->plan, head_request), "answered after its effect");
  } else if (kind == HandOffKind::kDrainThenReset) {
    finish_with_reset(call, FaultHow::kInjected, "reset after its effect");
  } else {
    report_fault(*call, FaultHow::kInjected, "silent after its effect");
  }
  return true;
}

const char* convert_to_relay(int fd, const OutgoingCall& call, const RelayState& state,
                             const char* tail) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return why;
  if (!hand_off_relay(call, state, tail, plan.pair.held, plan.original)) {
    abandon(&plan);
    return "no daemon to relay the connection";
  }
  replace(&plan, 0, 0, 0);
  return nullptr;
}

}  // namespace filibuster::preload
