#include "preload/protocols/http2/retirement.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "preload/interpose.h"
#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/protocols/http2/plain_peers.h"
#include "preload/protocols/http2/preface.h"
#include "preload/stream/registry.h"
#include "preload/stream/sender.h"

FILIBUSTER_REAL(ssize_t, send, (int, const void*, size_t, int))
FILIBUSTER_REAL(ssize_t, sendmsg, (int, const msghdr*, int))

namespace filibuster::preload {
namespace {

// There may be as many as connections (following.cc); in practice there are few.
Pool<Retirement, 16, 4096> g_retirements;

// How long a boundary among the client's writes is looked for, the server's answer to the PING is awaited,
// and the client may go on after the GOAWAY. Beyond that it is taken as a refusal.
constexpr uint64_t kPatienceNs = 5'000'000'000;
// How long a read waits for the rest of the answer, if it ended within the answer. The rest is on its way:
// it takes a millisecond, or a retransmission (tcp(7): at least 200 ms).
constexpr uint64_t kRestNs = 1'000'000'000;
constexpr long kLookAgainNs = 100'000;

constexpr size_t kMostPieces = 64;

using State = Retirement::State;

// If the kernel has no random number, the number is made of the connection and the time.
uint64_t random_number(const Connection& c) {
  uint64_t number = 0;
  if (raw_syscall(SYS_getrandom, &number, sizeof number, GRND_NONBLOCK) == sizeof number) {
    return number;
  }
  const uint64_t seed[] = {c.cookie, c.serial, now_ns()};
  return hash_bytes(reinterpret_cast<const char*>(seed), sizeof seed).lo;
}

// Lists the connection among what was not tested.
void list(Connection& c, Retirement& r, std::string_view why) {
  r.given_up = true;
  report_note(
      {"HTTP/2 to ", c.peer_name(), " was open before the session and is not retired: ", why});
  give_up(c, NotInterposedReason::kHttp2Before);
}

bool waited_long(Retirement& r) {
  const uint64_t now = now_ns();
  if (r.since_ns == 0) r.since_ns = now;
  return now - r.since_ns > kPatienceNs;
}

// --- a client's writes ---------------------------------------------------------------------------

void count_requests(Connection& c, Retirement& r, uint64_t requests) {
  if (r.given_up || requests == 0) return;
  report_unseen_requests(requests, c.peer_name(), c.target.name());
  if (!waited_long(r)) return;
  switch (r.state.load()) {
    case State::kOpen:
      return list(c, r, "no gap between two frames of its client was found");
    case State::kPinged:
      return list(c, r, "its server does not answer a PING");
    case State::kRetired:
      return list(c, r, "its client goes on in spite of a GOAWAY");
  }
}

// Looks at the bytes that the kernel has accepted.
void note_sent(Connection& c, Retirement& r, Pieces pieces, size_t accepted, size_t offered) {
  const bool was_found = r.search.found();
  const uint64_t requests = r.search.sent(pieces, accepted, offered);
  if (r.state.load() != State::kRetired || r.search.found()) return count_requests(c, r, requests);
  // The client has been told. What it writes where no boundary is known is hardly a request.
  if (was_found && !r.given_up) list(c, r, "its client sent what is no frame");
}

// Sends the rest of a PING by itself. False: it could not be sent, and nothing else may be sent before it.
bool send_rest(Retirement& r, int fd, int flags, int* error) {
  while (r.ping_left != 0) {
    const char* rest = r.swap.ping() + (http2::kPingSize - r.ping_left);
    const ssize_t sent = REAL(send)(fd, rest, r.ping_left, flags & (MSG_DONTWAIT | MSG_NOSIGNAL));
    *error = errno;
    if (sent < 0) return false;
    r.ping_left = static_cast<uint8_t>(r.ping_left - sent);
  }
  return true;
}

IoResult send_owned(Connection& c, Retirement& r, int fd, Pieces pieces, int flags, bool plain) {
  const size_t offered = pieces.size();
  int error = 0;
  const bool as_it_is = !plain || (flags & (MSG_OOB | MSG_ZEROCOPY)) != 0;
  if (r.ping_left != 0 && (as_it_is || pieces.count > kMostPieces) &&
      !send_rest(r, fd, flags, &error)) {
    return {-1, error};
  }
  if (as_it_is || (!c.state.is_followed() && r.ping_left == 0)) {
    r.search.forget();
    return {kNotHandled, 0};
  }
  bool placed = false;
  if (r.state.load() == State::kOpen && !r.given_up) {
    placed = r.search.opens_request(pieces, offered) && pieces.count <= kMostPieces;
  }
  if (placed) {
    r.ping_left = http2::kPingSize;
    r.since_ns = now_ns();
    r.state.store(State::kPinged, std::memory_order_release);
    update_debt(c);
  }
  // Repeats until a byte of the application has left, or until the kernel says that none can. Only then
  // does the kernel tell the application when there is room again.
  for (;;) {
    iovec all[kMostPieces + 1];
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data);
    message.msg_iovlen = pieces.count;
    if (r.ping_left != 0) {
      all[0] = {const_cast<char*>(r.swap.ping()) + (http2::kPingSize - r.ping_left), r.ping_left};
      std::copy(pieces.begin(), pieces.end(), all + 1);
      message.msg_iov = all;
      message.msg_iovlen = pieces.count + 1;
    }
    const ssize_t sent = REAL(sendmsg)(fd, &message, flags);
    if (sent < 0) {
      error = errno;
      if (placed && r.ping_left == http2::kPingSize) {  // no byte of the PING has left
        r.ping_left = 0;
        r.state.store(State::kOpen);
        update_debt(c);
      }
      return {-1, error};
    }
    const size_t ours = std::min<size_t>(static_cast<size_t>(sent), r.ping_left);
    r.ping_left = static_cast<uint8_t>(r.ping_left - ours);
    const size_t theirs = static_cast<size_t>(sent) - ours;
    note_sent(c, r, pieces, theirs, offered);
    if (theirs != 0) return {static_cast<ssize_t>(theirs), 0};
  }
}

bool acquire_requests(Connection& c) {
  const uint64_t deadline = now_ns() + kFlushWaitNs;
  while (!c.request_flow.acquire()) {
    if (now_ns() > deadline) return false;
    raw_syscall(SYS_sched_yield);
  }
  return true;
}

// --- what it reads -------------------------------------------------------------------------------

size_t look_ahead(int fd, char* out, size_t size) {
  const long got =
      raw_syscall(SYS_recvfrom, fd, out, size, MSG_PEEK | MSG_DONTWAIT, nullptr, nullptr);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void pass_responses(Connection& c, Retirement& r, int fd, Pieces pieces, size_t size) {
  using Seen = http2::PingToGoaway::Seen;
  char ahead[http2::kPingSize];
  size_t known = 0;
  uint64_t deadline = 0;
  for (;;) {
    const bool last = deadline != 0 && now_ns() > deadline;
    const Seen seen = r.swap.pass(pieces, size, {ahead, known}, last);
    if (seen == Seen::kNothing) return;
    if (seen != Seen::kUndecided) {
      State next = State::kRetired;
      if (seen == Seen::kIgnored) {
        r.swap = http2::PingToGoaway(random_number(c));
        next = State::kOpen;
      }
      r.state.store(next, std::memory_order_release);
      update_debt(c);
      return;
    }
    if (deadline == 0) {
      deadline = now_ns() + kRestNs;
    } else if (const timespec soon{0, kLookAgainNs}; true) {
      raw_syscall(SYS_nanosleep, &soon, nullptr);
    }
    known = look_ahead(fd, ahead, sizeof ahead);
  }
}

}  // namespace

// --- recognition ---------------------------------------------------------------------------------

Http2Client sniff_http2_client(Pieces pieces, size_t size) {
  constexpr size_t kPreface = http2::kClientPreface.size();
  // Room for the settings that any client sends.
  char first[kPreface + 256];
  const size_t have = std::min(size, sizeof first);
  pieces.copy(0, first, have);
  const std::string_view bytes(first, have);
  if (!bytes.starts_with(http2::kClientPreface)) return Http2Client::kNone;
  return http2::fails_on_goaway(bytes.substr(kPreface)) ? Http2Client::kAbrupt
                                                        : Http2Client::kGraceful;
}

void note_preface(int fd, Pieces pieces, size_t size) {
  HookScope scope;
  if (scope.pass_through() || !own_process() || mark_of(fd) != Mark::kUnknown || find(fd)) return;
  const Http2Client client = sniff_http2_client(pieces, size);
  if (client == Http2Client::kNone || socket_cookie(fd) == 0) return;
  set_mark(fd, mark_for(note_of(client)));
  sockaddr_storage peer;
  socklen_t length = sizeof peer;
  if (raw_syscall(SYS_getpeername, fd, &peer, &length) == 0)
    note_plain_peer(reinterpret_cast<sockaddr*>(&peer), length);
}

void begin_retirement(Connection& c, Noted noted) {
  c.role = Role::kClient;
  c.noted = noted;
  if (!c.state.is_followed()) return;
  const bool graceful = noted == note_of(Http2Client::kGraceful);
  if (Retirement* memory = graceful ? g_retirements.take() : nullptr) {
    publish(c, new (memory) Retirement(random_number(c)));
    return;
  }
  if (graceful) {
    give_up(c, NotInterposedReason::kTableFull);
  } else {
    report_note(
        "a connection of HTTP/2 that was open before the session is not retired: its client is of a "
        "kind that fails the requests in flight at a GOAWAY");
    give_up(c, NotInterposedReason::kHttp2Before);
  }
  ::filibuster::preload::settle(c);
}

IoResult Retirement::pass_send(Connection& c, int fd, Pieces pieces, int flags, bool plain) {
  if (pieces.size() == 0) return {kNotHandled, 0};
  if (!acquire_requests(c)) {
    give_up(c, NotInterposedReason::kMidStream);
    return {ping_left != 0 ? -1 : kNotHandled, EAGAIN};
  }
  IoResult result{kNotHandled, 0};
  if (state.load() == State::kOpen && socket_cookie(fd) != c.cookie) {
    give_up_silently(c);  // the descriptor was closed unseen, and its number used anew
  } else {
    result = send_owned(c, *this, fd, pieces, flags, plain);
  }
  c.request_flow.release();
  ::filibuster::preload::settle(c);
  return result;
}

void Retirement::pass_received(Connection& c, int fd, Pieces pieces, int flags, size_t size) {
  if (!owes() || (flags & (MSG_OOB | MSG_ERRQUEUE)) != 0) return;
  if (!c.response_flow.acquire()) return;
  if ((flags & MSG_PEEK) != 0) {
    swap.peek(pieces, size);
  } else if ((flags & MSG_TRUNC) == 0) {
    pass_responses(c, *this, fd, pieces, size);
  }
  c.response_flow.release();
}

void Retirement::pass_unseen_send(Connection& c) {
  if (!acquire_requests(c)) return;
  search.forget();
  c.request_flow.release();
  ::filibuster::preload::settle(c);
}

void Retirement::adopt_in_child(Connection& c) {
  ping_left = 0;
  state.store(State::kRetired);
  give_up_silently(c);
}

void Retirement::free(Connection&) {
  g_retirements.give(this);
}

}  // namespace filibuster::preload
