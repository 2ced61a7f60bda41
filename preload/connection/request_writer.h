// How a client's bytes reach the wire: parsed, held until the payload is known (bounded), marked
// with our field, faulted. The rules: design.md "Header insertion without buffering", "Payload
// before decision". What is reported to the application are its own bytes only.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "preload/connection/connection.h"

namespace filibuster::preload {

inline constexpr ssize_t kNotHandled = -2;

// Sends for the application; returns what its call returns, with *error for -1. kNotHandled: the
// caller sends by the original.
ssize_t send_requests(Connection& connection, int fd, const iovec* pieces, size_t count, int flags,
                      int* error);

// Sends what is held. Called before anything that may wait for the peer. True: nothing is owed.
// `closing`: nothing comes after it. Otherwise a part of a frame of HTTP/2, of which the peer could
// make nothing, stays.
bool flush(Connection& connection, int fd, bool closing = false);

// What this thread holds, before it waits. `but`: a descriptor that it waits for only to send more
// on (CPython polls for POLLOUT before every send of a socket with a timeout).
void flush_holds_of_thread(int but = -1);
extern constinit thread_local uint32_t t_holds __attribute__((tls_model("initial-exec")));

// What this thread holds waits for bytes that another thread will have it write, and stays while it
// waits for that: for a moment (20 ms), unless it waits for one descriptor only.
void hold_patiently();
// What is left of that moment, in milliseconds.
int patience_ms();

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
