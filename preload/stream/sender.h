// How the bytes of a client reach the wire. The protocol reads them; they are held, within bounds, while the
// protocol does not know enough of them; then they are edited and sent, or kept from the server by a fault.
// The application is told of its own bytes only.
//
//   send_offered -> Followed::offered -> Followed::release -> the wire (wire.h)
//
// Bytes that do not leave are held. They go out with the rest of the request, by flush() before the
// application waits, or by send_held() on a thread of the agent.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "core/pieces.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

inline constexpr ssize_t kNotHandled = -2;

// Sends for the application, as far as the socket takes it now; returns what a call that does not wait
// returns, with *error for -1. kNotHandled: the caller sends by the original.
IoResult send_offered(Connection& connection, int fd, Pieces pieces, int flags);

// For a call that may wait, after send_offered() returned EAGAIN for the same `pieces`. begin_waiting_send()
// fills `out` with what the caller then sends by one call that waits; the caller owns the request flow
// meanwhile, and no scope. kBusy: another thread owns the flow. kNothing: another thread has sent meanwhile, so
// that all bytes are to be offered again. end_waiting_send() takes what the call returned, and returns how many
// of the bytes that left are the application's.
enum class WaitingSend : uint8_t { kReady, kBusy, kNothing };
WaitingSend begin_waiting_send(Connection& connection, Pieces pieces, OnTheWire* out);
size_t end_waiting_send(Connection& connection, int fd, Pieces pieces, const OnTheWire& out,
                        IoResult sent);

// Makes the caller the owner of the request flow. False: another thread owns it. A thread that waited in the
// kernel and did not come back (a jump out of a signal handler, a cancelled thread) counts as no owner; then
// the connection is given up, since nobody knows what that thread has sent.
bool enter_requests(Connection& connection);

// Sends what is held. Called before anything that may wait for the peer. True: nothing is owed.
// `closing`: nothing comes after it.
bool flush(Connection& connection, int fd, bool closing = false);

// Sends what is held. Called by a thread of the agent: it never waits, and takes no descriptor away. A fault
// that keeps the request from its server is left to the application's thread. True: nothing is left to do.
bool send_held(Connection& connection, int fd);

// `size` bytes of a request's body are sent, or were sent, in another way (sendfile).
void skip_sent(Connection& connection, uint64_t size);

// Called by the owner of the request flow, or by the last user of the connection, after anything that changes
// what is held or half inserted.
void update_debt(Connection& connection);
// What is held will not be sent. Called by the thread that closes the last descriptor, and in the child of a
// fork, whose parent sends it.
void forget_holds(Connection& connection);

}  // namespace filibuster::preload
