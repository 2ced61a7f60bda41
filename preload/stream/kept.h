// A refusal needs a connect. Where the next RPC of a request is to be refused, the connections that
// this process keeps to its service are ended before it, as a server ends an idle connection: a client
// that looks before it uses one again opens another, and that is refused. One that does not look
// writes the request to be refused into the ended connection, which is reset then, and reported so.
#pragma once

#include "preload/stream/connection.h"

namespace filibuster::preload {

// The request with this path was received, or what it caused was answered.
void end_kept_before_refusal(Hash128 parent_path, uint32_t execution);
void end_kept_before_refusal(const Incoming* incoming);
// A request was decided on `connection`. Where it was ended for another one, that is reported: the
// execution is not what was planned, and this client's connections are not ended again.
void note_request_on_ended(Connection& connection, const OutgoingCall& call);

}  // namespace filibuster::preload
