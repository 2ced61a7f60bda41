// A refusal needs a connect. If the next RPC of a request is to be refused, the connections that this process
// keeps to its service are ended first, as a server ends an idle connection. A client that looks at a
// connection before it uses it again opens a new one, and that connect is refused. A client that does not look
// writes its request into the ended connection. That request is reset, and reported so.
#pragma once

#include "preload/stream/connection.h"

namespace filibuster::preload {

// Called when the request with this path was received, and when an RPC that it caused was answered.
void end_kept_before_refusal(Hash128 parent_path, uint32_t execution);
void end_kept_before_refusal(const Incoming* incoming);
// Called when a request was decided on `connection`. If the connection was ended for another request, that is
// reported: the execution is not what was planned, and connections of this client are not ended again.
void note_request_on_ended(Connection& connection, const OutgoingCall& call);

}  // namespace filibuster::preload
