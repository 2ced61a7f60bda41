// HTTP/2 on a connection: the part that the table of protocols and HTTP/1 use. The rest is in
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

// ProtocolRow. A client begins with the preface (RFC 9113 §3.4). A server may send its SETTINGS before it has
// read the preface; no server of HTTP/1 speaks first.
Recognised is_http2_of_client(std::string_view first);
Recognised is_http2_of_server(std::string_view first);
void begin_http2(Connection& c, Pieces pieces, size_t size);

// Called at the head of each HTTP/1 request: notes whether it asks for HTTP/2 (Upgrade: h2c).
void note_upgrade(Http1& h, const http1::MessageHead& head);
// Called by the owner of the response flow when the request was answered with 101. `exchange` has left the
// queue. True: it goes on as stream 1, and what follows is HTTP/2. False: it is treated as any other upgrade.
bool upgrade_to_http2(Connection& c, Http1& h, Exchange* exchange);

}  // namespace filibuster::preload
