// HTTP/2 on a connection: what preload/stream, the other protocols and the hooks call. How it works is told in
// http2_connection.h (state), client.cc and server.cc (streams), sender.cc (the client's wire),
// conversion.cc (faults).
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include "core/http2/frame.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// --- recognition: only connections that were seen from their start
// ---------------------------------

// Both set c.protocol as soon as it is known; until then nothing is parsed.
//
// The first bytes of the requests, in any split: the preface (RFC 9113 §3.4), or not: then HTTP/1
// is fed what was kept back of it. Bytes [offset, size) of the pieces are new.
void recognize_requests(Connection& c, const iovec* pieces, size_t count, size_t offset,
                        size_t size);
// The first bytes of the other direction before any request: a server may send its SETTINGS before
// it has read the preface (RFC 9113 §3.4), and no server of HTTP/1 speaks first.
void recognize_responses(Connection& c, const iovec* pieces, size_t count, size_t size);

// A request that asks for HTTP/2 (Upgrade: h2c), at its head, or one that does not.
void note_upgrade(Connection& c, const http1::MessageHead& head);
// Owner of the response flow: it was answered with 101. True: the exchange, out of the queue, goes
// on as stream 1, and what follows is HTTP/2. False: as any other upgrade.
bool upgrade_to_http2(Connection& c, Exchange* exchange);

// --- observation: bytes that went by unchanged, in the flow's turn
// ----------------------------------

// `size` bytes from byte `offset` of the pieces.
void observe_http2(Connection& c, http2::Direction direction, const iovec* pieces, size_t count,
                   size_t offset, size_t size);
void observe_http2_unseen(Connection& c, http2::Direction direction, size_t size);

// --- a client's sending, by the owner of the request flow
// ------------------------------------------

// request_writer.h send_requests and flush.
ssize_t send_http2(Connection& c, int fd, const iovec* pieces, size_t count, size_t offered,
                   int flags, int* error);
// kAll: parts of frames, too. kUnfaulted: up to the first request whose fault is still to be placed.
enum class Http2Flush : uint8_t { kWholeFrames, kAll, kUnfaulted };
// 0 or the errno that stopped it.
int flush_http2(Connection& c, int fd, Http2Flush how);
void skip_http2_body(Connection& c, size_t size);
// Has every block to be written anew, so that the connection cannot be left alone?
bool must_be_rewritten(const Connection& c);

// A receive of a client: between the two no fault takes the descriptor away under it.
void begin_receive(Connection& c);
void end_receive(Connection& c);

// --- ends ---------------------------------------------------------------------------------------

// No answer comes any more, or nobody follows them: every open call ends.
void end_http2_calls(Connection& c);
// Owner of the request flow, given up: what is kept of blocks.
void drop_http2_blocks(Connection& c);
// In a forked child: the calls are the parent's.
void forget_http2_calls(Connection& c);
// With the connection itself.
void free_http2(Connection& c);

}  // namespace filibuster::preload
