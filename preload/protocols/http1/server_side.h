// The server's side of a connection: requests are incoming RPCs, its responses end them.
#pragma once

#include <sys/uio.h>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// Called by RequestEvents for a server.
void server_request_head(Connection& connection, const http1::MessageHead& head);
void server_request_body(Connection& connection, const char* data, size_t size);
void server_request_complete(Connection& connection, Hash128 body, uint64_t size);

// Both flows owned: the request in progress will not be completed.
void end_open_request(Connection& connection);

// The first bytes of a transfer of `size` bytes, in one piece: where the first piece has `capacity`
// of them, it itself; else a copy in `buffer`.
struct FirstBytes {
  FirstBytes(const iovec* pieces, size_t count, size_t size, char* buffer, size_t capacity);
  const char* data;
  size_t size;
};

// First bytes of the request direction. False: given up and reported (TLS, HTTP/2, another
// protocol).
bool looks_like_requests(Connection& connection, const iovec* pieces, size_t count, size_t size);

// Joins in the middle: do these first bytes, sent or received, tell the role? Sets it if so.
void try_to_join(Connection& connection, bool sent, const iovec* pieces, size_t count, size_t size);

// Event loops (agent.h, note_multiplexing_thread): the epoll set this thread waited on last, or -1.
extern constinit thread_local int t_waited_set __attribute__((tls_model("initial-exec")));

}  // namespace filibuster::preload
