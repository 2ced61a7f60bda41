// The functions of OpenSSL by which applications move bytes. (OpenSSL that is linked into a program, or hidden
// in a library, is not reached.)
#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "preload/hooks/transfer.h"
#include "preload/inject/inject.h"
#include "preload/runtimes/native/library_originals.h"
#include "preload/stream/delivery.h"
#include "preload/stream/sender.h"
#include "preload/tls/openssl/api.h"
#include "preload/tls/openssl/session.h"

#define FILIBUSTER_OPENSSL(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params

namespace filibuster::preload::openssl {
namespace {

// Without a session, an answer of ours may still be unread.
bool is_idle() {
  return nothing_to_do() && g_replaced_now.load(std::memory_order_relaxed) == 0;
}

// The session of an SSL and the connection below it. Empty: they are not followed.
struct Followed {
  Session* session = nullptr;
  Pinned connection;
  int fd = -1;
  explicit operator bool() const { return static_cast<bool>(connection); }
};

Followed follow_session(const Api* api, Ssl* ssl) {
  Followed out;
  const HookScope scope;
  if (api == nullptr || ssl == nullptr || scope.pass_through() || !own_process()) return out;
  out.session = Session::find(*api, ssl);
  if (out.session == nullptr) out.session = Session::make(*api, ssl);
  if (out.session == nullptr) return out;
  out.connection = out.session->connection(&out.fd);
  return out;
}

Session* known_session(const Api* api, const Ssl* ssl) {
  return api == nullptr || ssl == nullptr || t_hook_depth > 0 ? nullptr : Session::find(*api, ssl);
}

// `real()` calls the application's function on all of its bytes.
template <typename Real>
Moved write_through(const void* caller, Ssl* ssl, const void* data, size_t size, const Real& real) {
  if (is_idle() || size == 0) return real();
  const Api* api = api_for(caller);
  Followed f = follow_session(api, ssl);
  if (!f) return real();
  Session& s = *f.session;
  const Session::Use use(&s);
  const size_t before = s.partial < size ? s.partial : 0;
  const iovec piece{static_cast<char*>(const_cast<void*>(data)) + before, size - before};
  s.own_error = kErrorNone;
  s.wrote = false;
  const Transfer transfer = before_send_over(std::move(f.connection), f.fd, piece);
  if (!transfer.handled) {
    const Moved moved = s.writes_diverted() ? s.write_diverted(data, size) : real();
    if (transfer.connection && moved.result > 0) after_send(transfer, f.fd, piece, moved.size);
    return moved;
  }
  const bool refused = s.wrote && s.write_result <= 0;  // by OpenSSL, which tells why
  if (!refused) s.own_error = errno == EAGAIN ? kErrorWantWrite : kErrorSyscall;
  const Moved nothing{refused ? s.write_result : -1, 0};
  if (transfer.result < 0) return nothing;
  const size_t sent = before + static_cast<size_t>(transfer.result);
  if (sent == size || s.writes_in_part()) {
    s.partial = 0;
    s.own_error = kErrorNone;
    return {static_cast<int>(sent), sent};
  }
  s.partial = sent;
  return nothing;
}

template <typename Real>
Moved read_through(const void* caller, Ssl* ssl, void* data, size_t size, bool peek,
                   const Real& real) {
  if (is_idle()) return real();
  const Api* api = api_for(caller);
  Followed f = follow_session(api, ssl);
  const iovec piece{data, size};
  const int flags = peek ? MSG_PEEK : 0;
  if (!f) {
    const Moved moved = real();
    if (moved.result <= 0) return moved;
    // The call may have made the handshake, too.
    f = follow_session(api, ssl);
    if (!f) return moved;
    Transfer late = before_receive_over(std::move(f.connection), f.fd);
    if (late.connection)
      after_receive(late, f.fd, piece, flags, static_cast<ssize_t>(moved.size), size);
    return moved;
  }
  Session& s = *f.session;
  const Session::Use use(&s);
  s.own_error = kErrorNone;
  Transfer transfer = before_receive_over(std::move(f.connection), f.fd);
  if (transfer.handled) {
    s.own_error = errno == EAGAIN ? kErrorWantRead : kErrorSyscall;
    return {-1, 0};
  }
  Moved moved;
  do {
    if (s.reads_diverted()) {
      api->ERR_clear_error();
      moved = s.read_diverted(data, size, peek);
    } else {
      errno = 0;
      moved = real();
    }
  } while (transfer.connection && must_repeat(transfer, f.fd));
  if (!transfer.connection) return moved;
  const int error = errno;
  ssize_t got = static_cast<ssize_t>(moved.size);
  if (moved.result <= 0) {
    const int means = s.own_error == kErrorNone         ? s.error_of(moved.result)
                      : s.own_error == kErrorZeroReturn ? 0
                                                        : error;
    errno = means;
    got = means == 0 ? 0 : -1;
  }
  after_receive(transfer, f.fd, piece, flags, got, size);
  errno = error;
  return moved;
}

}  // namespace
}  // namespace filibuster::preload::openssl

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
  return write_through(caller, ssl, data, static_cast<size_t>(size), real).result;
}

FILIBUSTER_OPENSSL(int, SSL_write_ex, (Ssl * ssl, const void* data, size_t size, size_t* written)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, const void*, size_t, size_t*)>(Function::kWriteEx, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size, written);
    return {result, result > 0 ? *written : 0};
  };
  const Moved moved = write_through(caller, ssl, data, size, real);
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
  return read_through(caller, ssl, data, static_cast<size_t>(size), false, real).result;
}

FILIBUSTER_OPENSSL(int, SSL_peek, (Ssl * ssl, void* data, int size)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original = openssl::original<int (*)(Ssl*, void*, int)>(Function::kPeek, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size);
    return {result, result > 0 ? static_cast<size_t>(result) : 0};
  };
  if (size <= 0) return real().result;
  return read_through(caller, ssl, data, static_cast<size_t>(size), true, real).result;
}

FILIBUSTER_OPENSSL(int, SSL_read_ex, (Ssl * ssl, void* data, size_t size, size_t* got)) {
  const void* caller = FILIBUSTER_CALLER;
  const auto original =
      openssl::original<int (*)(Ssl*, void*, size_t, size_t*)>(Function::kReadEx, caller);
  const auto real = [&]() -> Moved {
    const int result = original(ssl, data, size, got);
    return {result, result > 0 ? *got : 0};
  };
  const Moved moved = read_through(caller, ssl, data, size, false, real);
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
  const Moved moved = read_through(caller, ssl, data, size, true, real);
  if (moved.result <= 0) return 0;
  *got = moved.size;
  return 1;
}

namespace {

// The session, if a fault stands in the place of its connection.
Session* diverted_session(const void* caller, const Ssl* ssl) {
  if (g_replaced_now.load(std::memory_order_relaxed) == 0) return nullptr;
  Session* session = known_session(api_for(caller), ssl);
  return session != nullptr && session->reads_diverted() ? session : nullptr;
}

}  // namespace

FILIBUSTER_OPENSSL(int, SSL_pending, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(caller, ssl))
    return static_cast<int>(session->pending_diverted());
  return openssl::original<int (*)(const Ssl*)>(Function::kPending, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_has_pending, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(caller, ssl))
    return session->pending_diverted() != 0 ? 1 : 0;
  return openssl::original<int (*)(const Ssl*)>(Function::kHasPending, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_shutdown, (Ssl * ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (!is_idle()) {
    if (Session* session = diverted_session(caller, ssl)) {
      session->closed = true;
      return 1;
    }
    const HookScope scope;
    if (Session* session = known_session(api_for(caller), ssl); session != nullptr) {
      int fd = -1;
      if (Pinned c = session->connection(&fd)) flush(*c, fd, true);
    }
  }
  return openssl::original<int (*)(Ssl*)>(Function::kShutdown, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_get_error, (const Ssl* ssl, int result)) {
  const void* caller = FILIBUSTER_CALLER;
  if (result <= 0 && !is_idle()) {
    const Session* session = known_session(api_for(caller), ssl);
    if (session != nullptr && session->own_error != kErrorNone) return session->own_error;
  }
  return openssl::original<int (*)(const Ssl*, int)>(Function::kGetError, caller)(ssl, result);
}

FILIBUSTER_OPENSSL(int, SSL_get_shutdown, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session* session = diverted_session(caller, ssl))
    return (session->ended ? kReceivedShutdown : 0) | (session->closed ? kSentShutdown : 0);
  return openssl::original<int (*)(const Ssl*)>(Function::kGetShutdown, caller)(ssl);
}

FILIBUSTER_OPENSSL(int, SSL_want, (const Ssl* ssl)) {
  const void* caller = FILIBUSTER_CALLER;
  if (!is_idle()) {
    const Session* session = known_session(api_for(caller), ssl);
    if (session != nullptr && session->own_error == kErrorWantRead) return kReading;
    if (session != nullptr && session->own_error == kErrorWantWrite) return kWriting;
  }
  return openssl::original<int (*)(const Ssl*)>(Function::kWant, caller)(ssl);
}

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

FILIBUSTER_OPENSSL(void, SSL_CTX_sess_set_new_cb, (SslContext * context, NewSession callback)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Api* api = t_hook_depth == 0 ? api_for(caller) : nullptr)
    return set_new_session(*api, context, callback);
  openssl::original<void (*)(SslContext*, NewSession)>(Function::kSetNewSession, caller)(context,
                                                                                         callback);
}

FILIBUSTER_OPENSSL(NewSession, SSL_CTX_sess_get_new_cb, (SslContext * context)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Api* api = t_hook_depth == 0 ? api_for(caller) : nullptr)
    return get_new_session(*api, context);
  return openssl::original<NewSession (*)(SslContext*)>(Function::kGetNewSession, caller)(context);
}
