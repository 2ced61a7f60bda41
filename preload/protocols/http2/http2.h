// HTTP/2 on a connection: what the table of protocols and HTTP/1 know of it. How it works is told in
// http2_connection.h (state), streams.cc (streams), sender.cc (the client's wire), conversion.cc (faults).
#pragma once

#include <sys/uio.h>

#include <string_view>

#include "core/http1/message_parser.h"
#include "core/pieces.h"
#include "preload/stream/protocol.h"

namespace filibuster::preload {

struct Exchange;
struct Http1;

// ProtocolRow: the preface (RFC 9113 §3.4); a server may send its SETTINGS before it has read that, and no
// server of HTTP/1 speaks first.
Recognised is_http2_of_client(std::string_view first);
Recognised is_http2_of_server(std::string_view first);
void begin_http2(Connection& c, Pieces pieces, size_t size);

// A request of HTTP/1 that asks for HTTP/2 (Upgrade: h2c), at its head, or one that does not.
void note_upgrade(Http1& h, const http1::MessageHead& head);
// Owner of the response flow: it was answered with 101. True: the exchange, out of the queue, goes
// on as stream 1, and what follows is HTTP/2. False: as any other upgrade.
bool upgrade_to_http2(Connection& c, Http1& h, Exchange* exchange);

}  // namespace filibuster::preload
