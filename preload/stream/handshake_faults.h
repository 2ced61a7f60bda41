// Faults of a TLS handshake (core/fault TlsFault). The RPC that opens the connection was begun at its connect,
// from the plan (rpc/connects.h), and its request is never sent.
//
//   kHandshakeTimeout, kClosedWithoutNotify   happen in the place of the ClientHello
//   kCertificateExpired, kUnknownCa           the library checks the server's own certificate with
//                                             another clock, or with no authority that it trusts
//
// Whether a client heeds what its library finds is seen by what it does: the fault happened if the connection
// ends without a request.
#pragma once

#include "core/fault/fault.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// Connections whose server's certificate is to be refused, ever. Hooks of TLS libraries look closer then.
extern std::atomic<bool> g_certificate_faults;

// What a thread of the application makes now: a handshake of this library.
struct HandshakeAtWork {
  const void* library = nullptr;
  void* session = nullptr;
  // Has the library's check fail as the plan says.
  void (*set_fault)(const void* library, void* session, Connection& c) = nullptr;
};
extern constinit thread_local HandshakeAtWork* t_handshake
    __attribute__((tls_model("initial-exec")));

// The fault of the connection's handshake; kNone: it has none.
TlsFault handshake_fault(const Connection& c);

// The ClientHello is about to leave. True: a fault happens in its place, and no byte leaves. The caller owns
// the flow of the requests.
bool fail_handshake(Connection& c, int fd);

// A TLS library has been told what its check is to find.
void certificate_fault_is_set(Connection& c);
// The connection gets its first plain bytes: there was a handshake, and the client took it.
void handshake_was_taken(Connection& c);
// The connection ends, or is given up. The caller owns both flows.
void handshake_ends(Connection& c);
// The application gave up on the silence.
void end_handshake_silence(Connection& c);

}  // namespace filibuster::preload
