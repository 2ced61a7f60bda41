// A thread of the agent that reads and writes a session of OpenSSL in the place of the application, and
// passes what is in it to another process in the clear. The keys stay here.
//
//   the server <- real -> memory BIOs <- SSL -> plain <- a pair -> the daemon
#pragma once

#include "preload/tls/openssl/api.h"

namespace filibuster::preload::openssl {

// What waits in the BIO that the SSL writes to.
struct Output {
  bool is_memory = false;  // else it cannot be taken out
  size_t sent = 0;         // so many of its first bytes were sent already
};

// From now on the SSL belongs to a thread of the agent. It takes `real` and `plain` over, which are
// descriptors of ours. What the SSL's BIOs hold goes first. The BIOs have to be kept by the caller; the SSL gets
// others. False: there is no thread or no memory, and nothing has changed.
bool start_pump(const Api& api, Ssl* ssl, Output output, int real, int plain);
// Is this such a thread? (A callback of the application must not run in it.)
bool is_pump();

}  // namespace filibuster::preload::openssl
