// The steps of sending a request (request_writer.h), each in a file of its own. Called by the owner
// of the request flow only.
#pragma once

#include "preload/stream/connection.h"

namespace filibuster::preload {

// request_decision.cc: the request's head is complete. Forms the RPC (outgoing_begin), enters its
// exchange, and plans the edits that mark it.
void decide(Connection& connection, bool body_complete, Hash128 body);
// It is to be held, undecided: who makes it is known now. False: no room, decide it.
bool note_maker(Connection& connection);
// What is kept of a request that is not decided, and will not be.
void drop_fields(Connection& connection);

// request_faults.cc. Before anything of the message is sent. True: fired; the application's bytes
// count as sent.
bool try_fault_before(Connection& connection, int fd);
// Once the whole request is on the wire.
void try_fault_after(Connection& connection, int fd);

// request_writer.cc: after anything that changes what is held or half inserted.
void update_debt(Connection& connection);

}  // namespace filibuster::preload
