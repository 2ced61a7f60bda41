// How the outcome of a fault is delivered to whoever waits for an answer on a connection. The caller owns the
// request flow. Before the request's effect no byte of it was sent, and after it all bytes were.
#pragma once

#include <string_view>

#include "preload/stream/connection.h"

namespace filibuster::preload {

// The fault ends the connection: from now on its descriptor is an end of a pair (inject/inject.h). The caller
// owns both flows. False: the reason was reported, and nothing has changed.
bool end_with_fault(Connection& connection, int fd, OutgoingCall* call, bool after,
                    bool head_request);

// The connection goes on after the fault: `answer` is read next, and the real connection stands aside until it
// was read. nullptr: done. Else why not.
const char* answer_aside(Connection& connection, int fd, std::string_view answer);
// Called after a receive, and when another thread has left. Once our answer was read, the real connection takes
// its place again, and whatever waited for that goes on.
void go_on(Connection& connection, int fd);

}  // namespace filibuster::preload
