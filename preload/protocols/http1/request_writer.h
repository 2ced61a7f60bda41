// How a client's bytes reach the wire: parsed, held until the payload is known (bounded), marked
// with our field, faulted. The rules: design.md "Header insertion without buffering", "Payload
// before decision". What is reported to the application are its own bytes only.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "preload/stream/connection.h"
#include "preload/stream/transmit.h"

namespace filibuster::preload {

inline constexpr ssize_t kNotHandled = -2;

// Sends for the application, as far as the socket takes it now; returns what a call that does not wait
// returns, with *error for -1. kNotHandled: the caller sends by the original.
ssize_t send_requests(Connection& connection, int fd, const iovec* pieces, size_t count, int flags,
                      int* error);

// Where the application would wait: after the above said EAGAIN for the same `pieces`, gives what the
// caller sends by one call that waits, with no scope and nothing of ours held but the request flow. kBusy:
// another thread is inside; kNothing: one was, so that all is to be offered again. Then ended with what the
// call gave (`error`: its errno); returns how many of the application's bytes that were.
enum class WaitingSend : uint8_t { kReady, kBusy, kNothing };
WaitingSend begin_waiting_send(Connection& connection, const iovec* pieces, size_t count, OnTheWire* out);
size_t end_waiting_send(Connection& connection, int fd, const iovec* pieces, size_t count,
                        const OnTheWire& out, ssize_t sent, int error);

// Owner of the request flow from now on, unless another thread is inside. One that waited in the kernel
// and did not come back (a jump out of a signal handler, a cancelled thread) is not: what it was about to
// send is unknown, and the connection given up.
bool enter_requests(Connection& connection);

// Sends what is held. Called before anything that may wait for the peer. True: nothing is owed.
// `closing`: nothing comes after it. Otherwise a part of a frame of HTTP/2, of which the peer could
// make nothing, stays.
bool flush(Connection& connection, int fd, bool closing = false);

// Sends what is held, by a thread that is not the application's: never waits, and takes no descriptor
// away. A fault that keeps the request from its server waits for its own thread, which waits for a server
// that has not seen it. True: there is no more to be done.
bool send_held(Connection& connection, int fd);

// `size` bytes of the request's body are about to go, or went, by another way (sendfile).
void skip_request_body(Connection& connection, uint64_t size);

// The application gave up on an injected silence (close, shutdown, or the hang limit's reset).
void end_silence(Connection& connection);

// In a forked child: what the parent holds is the parent's to send.
void forget_holds(Connection& connection);

// Are the bytes that were parsed ahead of their sending the ones that are offered now? Else what
// was parsed never happened, and the connection is given up.
bool came_back(Connection& connection, const iovec* pieces, size_t count, size_t offered);

// Called by RequestEvents for a client.
void client_request_head(Connection& connection, const http1::MessageHead& head, size_t end);
void client_request_body(Connection& connection, const char* data, size_t size);
void client_request_complete(Connection& connection, size_t end, Hash128 body, uint64_t size);

}  // namespace filibuster::preload
