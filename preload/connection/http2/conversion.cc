// A fault in a stream: its connection is converted, that is handed to a relay in the daemon
// (core/protocol/relay.h). Owner of the request flow.
#include "preload/connection/http2/http2.h"
#include "preload/connection/http2/http2_connection.h"

namespace filibuster::preload {

void begin_fault(Connection& c, Http2Connection& h, int fd) {
  (void)c;
  (void)fd;
  StreamCall* x = h.front()->call;
  report_fault(x->call, FaultHow::kNotInjected, "a stream of HTTP/2");
  x->call.faulted = false;
}

}  // namespace filibuster::preload
