// How a client's bytes reach the wire: read by their protocol, held while that does not know enough of
// them (bounded), edited, or kept from their server by a fault. What is reported to the application are
// its own bytes only.
//
//   send_offered -> Followed::offered -> Followed::release -> the wire (wire.h)
//
// What stays is held, and goes out with the rest, or by flush() before the application waits, or by
// send_held() of a thread of ours.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "core/pieces.h"
#include "preload/stream/connection.h"
#include "preload/stream/wire.h"

namespace filibuster::preload {

inline constexpr ssize_t kNotHandled = -2;

// Sends for the application, as far as the socket takes it now; returns what a call that does not wait
// returns, with *error for -1. kNotHandled: the caller sends by the original.
IoResult send_offered(Connection& connection, int fd, Pieces pieces, int flags);

// Where the application would wait: after the above said EAGAIN for the same `pieces`, gives what the
// caller sends by one call that waits, with no scope and nothing of ours held but the request flow. kBusy:
// another thread is inside; kNothing: one was, so that all is to be offered again. Then ended with what the
// call gave (`error`: its errno); returns how many of the application's bytes that were.
enum class WaitingSend : uint8_t { kReady, kBusy, kNothing };
WaitingSend begin_waiting_send(Connection& connection, Pieces pieces, OnTheWire* out);
size_t end_waiting_send(Connection& connection, int fd, Pieces pieces, const OnTheWire& out,
                        IoResult sent);

// Owner of the request flow from now on, unless another thread is inside. One that waited in the kernel
// and did not come back (a jump out of a signal handler, a cancelled thread) is not: what it was about to
// send is unknown, and the connection given up.
bool enter_requests(Connection& connection);

// Sends what is held. Called before anything that may wait for the peer. True: nothing is owed.
// `closing`: nothing comes after it.
bool flush(Connection& connection, int fd, bool closing = false);

// Sends what is held, by a thread that is not the application's: never waits, and takes no descriptor
// away. A fault that keeps the request from its server waits for its own thread, which waits for a server
// that has not seen it. True: there is no more to be done.
bool send_held(Connection& connection, int fd);

// `size` bytes of a request's body are about to go, or went, by another way (sendfile).
void skip_sent(Connection& connection, uint64_t size);

// Owner of the request flow, or the only one left: after anything that changes what is held or half
// inserted.
void update_debt(Connection& connection);
// Nothing of what is held will be sent: by the last one to close it, or by the child of a fork, whose
// parent sends it.
void forget_holds(Connection& connection);

}  // namespace filibuster::preload
