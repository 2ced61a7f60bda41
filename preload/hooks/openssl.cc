// The functions of OpenSSL by which applications move bytes. (OpenSSL that is hidden in a library is not reached;
// one that is linked into the program is in openssl_inside.cc.)
#include "preload/hooks/openssl.h"

#include "preload/runtimes/native/library_originals.h"

#define FILIBUSTER_OPENSSL(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params
#define LIBRARY [caller] { return api_for(caller); }

using namespace filibuster::preload;
using namespace filibuster::preload::openssl;

FILIBUSTER_OPENSSL(int, SSL_write, (Ssl * ssl, const void* data, int size)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, const void*, int)>(Function::kWrite, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size < 0) return real().result;
  return write_through(LIBRARY, ssl, data, static_cast<size_t>(size), real).result;
}

FILIBUSTER_OPENSSL(int, SSL_write_ex, (Ssl * ssl, const void* data, size_t size, size_t* written)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, const void*, size_t, size_t*)>(Function::kWriteEx, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size, written);
    return {result, result > 0 ? *written : 0};
  };
  const Moved moved = write_through(LIBRARY, ssl, data, size, real);
  if (moved.result <= 0) return 0;
  *written = moved.size;
  return 1;
}

FILIBUSTER_OPENSSL(int, SSL_read, (Ssl * ssl, void* data, int size)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original = openssl::original<int (*)(Ssl*, void*, int)>(Function::kRead, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size <= 0) return real().result;
  return read_through(LIBRARY, ssl, data, static_cast<size_t>(size), false, real).result;
}

FILIBUSTER_OPENSSL(int, SSL_peek, (Ssl * ssl, void* data, int size)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original = openssl::original<int (*)(Ssl*, void*, int)>(Function::kPeek, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size <= 0) return real().result;
  return read_through(LIBRARY, ssl, data, static_cast<size_t>(size), true, real).result;
}

FILIBUSTER_OPENSSL(int, SSL_read_ex, (Ssl * ssl, void* data, size_t size, size_t* got)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, void*, size_t, size_t*)>(Function::kReadEx, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size, got);
    return {result, result > 0 ? *got : 0};
  };
  const Moved moved = read_through(LIBRARY, ssl, data, size, false, real);
  if (moved.result <= 0) return 0;
  *got = moved.size;
  return 1;
}

FILIBUSTER_OPENSSL(int, SSL_peek_ex, (Ssl * ssl, void* data, size_t size, size_t* got)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, void*, size_t, size_t*)>(Function::kPeekEx, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size, got);
    return {result, result > 0 ? *got : 0};
  };
  const Moved moved = read_through(LIBRARY, ssl, data, size, true, real);
  if (moved.result <= 0) return 0;
  *got = moved.size;
  return 1;
}

FILIBUSTER_OPENSSL(int, SSL_pending, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(LIBRARY, ssl))
    return static_cast<int>(session->pending_diverted());
  return openssl::original<int (*)(const Ssl*)>(Function::kPending, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_has_pending, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(LIBRARY, ssl))
    return session->pending_diverted() != 0 ? 1 : 0;
  return openssl::original<int (*)(const Ssl*)>(Function::kHasPending, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_shutdown, (Ssl * ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (shut_down(LIBRARY, ssl)) return 1;
  return openssl::original<int (*)(Ssl*)>(Function::kShutdown, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_get_error, (const Ssl* ssl, int result)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const int error = own_error(LIBRARY, ssl, result); error != kErrorNone) return error;
  return openssl::original<int (*)(const Ssl*, int)>(Function::kGetError, caller)(ssl, result);
}

FILIBUSTER_OPENSSL(int, SSL_get_shutdown, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(LIBRARY, ssl))
    return (session->ended ? kReceivedShutdown : 0) | (session->closed ? kSentShutdown : 0);
  return openssl::original<int (*)(const Ssl*)>(Function::kGetShutdown, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_want, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (!tls_is_idle()) {
    const Session* session = known_session(api_for(caller), ssl);
    if (session != nullptr && session->own_error == kErrorWantRead) return kReading;
    if (session != nullptr && session->own_error == kErrorWantWrite) return kWriting;
  }
  return openssl::original<int (*)(const Ssl*)>(Function::kWant, caller)(ssl);
}

#define FILIBUSTER_HANDSHAKE(name, function)                                              \
  FILIBUSTER_OPENSSL(int, name, (Ssl * ssl)) {                                            \
    const void* caller = FILIBUSTER_CALLER;                                               \
    const Handshaking handshaking(LIBRARY, ssl);                                          \
    const int result = openssl::original<int (*)(Ssl*)>(Function::function, caller)(ssl); \
    note_handshake(LIBRARY, ssl);                                                         \
    return result;                                                                        \
  }
FILIBUSTER_HANDSHAKE(SSL_do_handshake, kHandshake)
FILIBUSTER_HANDSHAKE(SSL_connect, kConnect)
FILIBUSTER_HANDSHAKE(SSL_accept, kAccept)
#undef FILIBUSTER_HANDSHAKE

// --- while a thread of the agent uses the SSL (pump.h) --------------------------------------------------

namespace {

Session* pumped_session(const void* caller, const Ssl* ssl) {
  if (g_replaced_ever.load(std::memory_order_relaxed) == 0) return nullptr;
  Session* session = known_session(api_for(caller), ssl);
  return session != nullptr && session->is_pumped() ? session : nullptr;
}

}  // namespace

FILIBUSTER_OPENSSL(void, SSL_free, (Ssl * ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (Session* session = pumped_session(caller, ssl)) session->released();
  openssl::original<void (*)(Ssl*)>(Function::kFree, caller)(ssl);
}

#define FILIBUSTER_OF_SESSION(type, name, function, ours)                            \
  FILIBUSTER_OPENSSL(type, name, (const Ssl* ssl)) {                                 \
    const void* caller = FILIBUSTER_CALLER;                                          \
    if (const Session* session = pumped_session(caller, ssl)) return session->ours;  \
    return openssl::original<type (*)(const Ssl*)>(Function::function, caller)(ssl); \
  }
FILIBUSTER_OF_SESSION(int, SSL_get_fd, kGetFd, descriptor())
FILIBUSTER_OF_SESSION(int, SSL_get_rfd, kGetReadFd, descriptor())
FILIBUSTER_OF_SESSION(int, SSL_get_wfd, kGetWriteFd, descriptor())
FILIBUSTER_OF_SESSION(Bio*, SSL_get_rbio, kGetReadBio, read_bio())
FILIBUSTER_OF_SESSION(Bio*, SSL_get_wbio, kGetWriteBio, write_bio())
#undef FILIBUSTER_OF_SESSION
