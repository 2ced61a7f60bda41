// Fault injection in the process: a synthetic answer, a reset, a silence on one connection; a refused
// connect. The descriptor of a faulted connection is replaced by one end of a loopback TCP pair (or
// AF_UNIX pair for AF_UNIX), in epoll sets too, so that every reader wakes; the other end is held
// here for as long as it takes to write the answer, or handed to the daemon.
//
// What the hooks owe to a connection on which a fault fired:
//   - bytes sent on it while swallows_writes(fd) go nowhere: report them as sent (a client may still
//     be sending its body; nobody reads the held end, a blocking send could hang);
//   - a receive or a wait that blocked in the original while another thread replaced the descriptor
//     ran on the old connection. Take `replacements()` before a blocking original; if it has changed
//     after it and is_replaced(fd), drop what the original returned (for a receive: whatever it was,
//     before effect it is an EOF made by us, after effect a piece of the real answer) and call the
//     original again;
//   - after dup, dup2 or fcntl(F_DUPFD) of a replaced descriptor, call duplicate_replaced.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "preload/inject/plain_end.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {

// The request on `fd` is complete and gets call.plan's fault *before effect*: nothing of it was or
// will be sent; the caller reports its bytes as sent. After this the descriptor is a pair's end:
//   kStatus  the response is readable, then EOF (it says Connection: close)
//   kReset, kRefused  reading gives ECONNRESET
//   kTimeout  nothing is readable; the held end is with the daemon (hang_limit)
//   kTls  as kTimeout, or EOF (for TlsFault::kHandshakeTimeout and kClosedWithoutNotify)
// The real connection is closed; other descriptors of the same socket (dup) are replaced with it.
// Emits FaultFired, and for kStatus, kReset, kRefused RpcFinished with injected = 1, which closes the
// call. A kTimeout leaves the call active: the RPC is open until the caller gives up, and the
// connection layer ends it (kTimedOut, injected = 1) when the descriptor is closed, shut down for
// reading or reset by the hang limit. False: not injected (reported as kNotInjected); the caller
// sends the request as usual. No answer to an earlier request may be outstanding on `fd`.
//
// Here and below, `encryption` is that of the connection; nullptr: it has none.
bool inject_before_effect(int fd, Encryption* encryption, OutgoingCall* call, bool head_request);

// 'After effect': the request has been sent whole on the real connection. Replaces the descriptor and
// hands the real connection to the daemon, which reads the real answer away, then resets, answers or
// stays silent. The result and the events are those of inject_before_effect.
bool inject_after_effect(int fd, Encryption* encryption, OutgoingCall* call, bool head_request);

// The answer to the request that is sent next is to pass changed: replaces the descriptor, and hands the
// real connection with the other end of the pair to the daemon, which passes the request on, reads the
// answer, and sends it as the fault says. The descriptor is used on as before; the answer ends the
// connection, but for one that is only late and is not of HTTP (daemon/agents/late_passages.h). nullptr: done.
// Else why not, and nothing has changed. Reports nothing.
const char* change_answer(int fd, Encryption* encryption, const OutgoingCall& call,
                          bool head_request);

// One stream of an HTTP/2 connection is to fail: replaces the descriptor and hands the other end of the
// pair with the real connection to the daemon's relay (core/protocol/relay.h). The descriptor is used
// on as before. `tail`: the bytes that follow the state (RelayState has their sizes). nullptr: done. Else
// why not, and nothing has changed. Reports nothing.
const char* convert_to_relay(int fd, Encryption* encryption, const OutgoingCall& call,
                             const RelayState& state, const char* tail);

// --- replaced descriptors ---------------------------------------------------------------------

// Descriptors that are replaced now, and replacements ever made in this process.
extern std::atomic<uint32_t> g_replaced_now;
extern std::atomic<uint32_t> g_replaced_ever;
inline uint32_t replacements() {
  return g_replaced_ever.load(std::memory_order_acquire);
}

bool is_replaced_slow(int fd);
bool swallows_writes_slow(int fd);
void forget_replaced_slow(int fd);

// True while `fd` is an end of one of our pairs. One relaxed load where nothing is.
inline bool is_replaced(int fd) {
  return g_replaced_now.load(std::memory_order_relaxed) != 0 && is_replaced_slow(fd);
}
uint64_t stand_in_cookie_slow(int fd);
// SO_COOKIE of the end of our pair that stands in the place of `fd`; 0: `fd` is not replaced.
inline uint64_t stand_in_cookie(int fd) {
  return g_replaced_now.load(std::memory_order_relaxed) != 0 ? stand_in_cookie_slow(fd) : 0;
}
// True for a replaced descriptor whose fault is an answer or a silence (not a reset: there the
// original gives ECONNRESET, then EPIPE).
inline bool swallows_writes(int fd) {
  return g_replaced_now.load(std::memory_order_relaxed) != 0 && swallows_writes_slow(fd);
}
// For a close of `fd`, a dup2 onto it, or a number that turns out to be used anew: forgets that it was replaced, and closes the held end.
inline void forget_replaced(int fd) {
  if (g_replaced_now.load(std::memory_order_relaxed) != 0) forget_replaced_slow(fd);
}
// After a successful dup of `from` to `to`: `to` is replaced too if `from` is.
void duplicate_replaced(int from, int to);
// getpeername / getsockname on a replaced descriptor answer with the original address, cut to
// *size as the kernel does. False: call the original (also after a refused connect: ENOTCONN).
bool original_peer(int fd, sockaddr* address, socklen_t* size);
bool original_local(int fd, sockaddr* address, socklen_t* size);

// --- refused connects -------------------------------------------------------------------------

// Performs the connect of `fd` against a bound, non-listening loopback port, so that the kernel gives
// ECONNREFUSED in blocking and non-blocking mode alike. Returns what connect returned, errno set.
// For AF_UNIX: -1 with ECONNREFUSED. Emits nothing (connect_begin did).
int connect_refused(int fd, const sockaddr* address, socklen_t size);

// --- fast timeouts ----------------------------------------------------------------------------

// With kOptionFastTimeouts, the first wait on a silence that a hook sees is over at once. True: the hook
// must not wait, but behave as if the time were over (poll returns 0, a recv with SO_RCVTIMEO gives
// EAGAIN). False: it really waits. That is so for later waits on the same silence, for a `timeout_ms`
// < 0 (infinite) or 0, and unless *every* descriptor is a silent one and is waited on for reading only.
// After effect it returns when the daemon has read the real answer away (and shut that connection down),
// or after `timeout_ms`.
bool elapse_wait(const pollfd* fds, nfds_t count, int timeout_ms);
// The same for a receive. It is over at once only if `fd` is silent, blocks, and has a SO_RCVTIMEO.
bool elapse_receive(int fd);

// Nothing comes of the answer to this call, or the application has read all that comes of it: from now on there is a silence on
// `fd`, as above.
void begin_silence(int fd, const OpenCall& call);
// A thread is about to wait until `fd` alone can be read, without a limit; or to receive from it. If that is such a silence, and
// nothing ends the wait but its end, the daemon is told. It ends the wait for the rest of an answer at once, and notes the other:
// a thread may wait without a limit for another one that has a limit.
void wait_without_limit(int fd);
void receive_without_limit(int fd);

}  // namespace filibuster::preload
