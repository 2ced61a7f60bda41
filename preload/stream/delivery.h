// How an outcome that a fault makes is delivered to whoever waits for an answer on a connection. The request
// flow is owned; of the request nothing was sent (before its effect), or all of it (after).
#pragma once

#include <string_view>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// The connection ends with it: from now on its descriptor is an end of a pair (inject/inject.h). Both flows are
// owned. False: reported, and as before.
bool end_with_fault(Connection& connection, int fd, OutgoingCall* call, bool after,
                    bool head_request);

// The connection goes on afterwards: `answer` is what is read next, and the real connection stands aside until
// it was read. nullptr: done. Else why not.
const char* answer_aside(Connection& connection, int fd, std::string_view answer);
// After a receive, or when another thread left: a connection whose answer of ours was read takes its place
// again, and what waited for the answers that were read goes on.
void go_on(Connection& connection, int fd);

}  // namespace filibuster::preload
