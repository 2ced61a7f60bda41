// Fault injection in the process: a synthetic answer, a reset, a silence on one connection; a refused
// connect. The descriptor of a faulted connection is replaced by one end of a loopback TCP pair (or
// AF_UNIX pair for AF_UNIX), in epoll sets too, so that every reader wakes; the other end is held
// here for as long as it takes to write the answer, or handed to the daemon.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>

#include "preload/agent/agent.h"

namespace filibuster::preload {

// The request on `fd` is complete and gets call.plan's fault *before effect*: nothing of it was or
// will be sent; the caller reports its bytes as sent. After this the descriptor is a pair's end:
//   kStatus  the response is readable, then EOF (it says Connection: close)
//   kReset, kRefused  reading gives ECONNRESET
//   kTimeout  nothing is readable; the held end is with the daemon (hang_limit)
// The real connection is closed. Emits FaultFired (and RpcFinished with injected = 1) and closes the
// call. False: not injected (reported as kNotInjected); the caller sends the request as usual.
bool inject_before_effect(int fd, OutgoingCall* call, bool head_request);

// 'After effect': the request has been sent whole on the real connection. Replaces the descriptor and
// hands the real connection to the daemon, which reads the real answer away. Same result.
bool inject_after_effect(int fd, OutgoingCall* call, bool head_request);

// --- replaced descriptors ---------------------------------------------------------------------

// True while `fd` is an end of one of our pairs.
bool is_replaced(int fd);
// close/dup2 onto it: forget it.
void forget_replaced(int fd);
// getpeername / getsockname on a replaced descriptor, or one whose connect was redirected, answer
// with the original address. False: call the original.
bool original_peer(int fd, sockaddr* address, socklen_t* size);
bool original_local(int fd, sockaddr* address, socklen_t* size);

// --- refused connects -------------------------------------------------------------------------

// Performs the connect of `fd` against a bound, non-listening loopback port, so that the kernel gives
// ECONNREFUSED in blocking and non-blocking mode alike. Returns what connect returned, errno set.
// For AF_UNIX: -1 with ECONNREFUSED.
int connect_refused(int fd, const sockaddr* address, socklen_t size);

// --- fast timeouts ----------------------------------------------------------------------------

// A wait for `fd` (replaced, silent) that is visible in a hook may be elapsed at once: the first wait
// on a silence returns true ("elapse it": poll returns 0, a recv with SO_RCVTIMEO gives EAGAIN),
// later ones false (really wait), and all are false without kOptionFastTimeouts. `timeout_ms` < 0
// (infinite) is never elapsed. Only for waits whose *every* descriptor is a silent one.
bool elapse_wait(const pollfd* fds, nfds_t count, int timeout_ms);
bool elapse_receive(int fd);

}  // namespace filibuster::preload
