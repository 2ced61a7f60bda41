// Which descriptor a session of a TLS library is used on. A library that gets its bytes from the application
// (a memory BIO of OpenSSL) does not know. But the random of the ClientHello is seen in the bytes of the
// descriptor, and the library tells it.
#pragma once

#include <cstdint>

#include "core/tls/client_hello.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// The bytes of `fd` began with this random. The caller owns the flow of the requests.
void note_hello(const tls::ClientRandom& random, int fd, const Connection& c);

struct Claim {
  int fd = -1;
  uint64_t serial = 0;  // of the connection
};
// False: no descriptor on that side of a connection has begun with it lately.
bool find_hello(const tls::ClientRandom& random, bool server, Claim* claim);

// From now on the bytes of the connection are those that go through `transport`. False: the connection is not
// followed, or is in use in another way.
bool claim(Connection& c, Transport* transport, bool server);

}  // namespace filibuster::preload
