// What each function of OpenSSL that moves bytes does: before the original, instead of it, after it. `real()`
// calls the original on all of the application's bytes.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "preload/hooks/tls.h"
#include "preload/stream/handshake_faults.h"
#include "preload/stream/sender.h"
#include "preload/tls/openssl/api.h"
#include "preload/tls/openssl/session.h"

namespace filibuster::preload::openssl {
inline FollowedSession<Session> follow_session(const Api* api, Ssl* ssl) {
  const HookScope scope;
  if (api == nullptr || ssl == nullptr || scope.pass_through() || !own_process()) return {};
  Session* session = Session::find(*api, ssl);
  FollowedSession<Session> out(session != nullptr ? session : Session::make(*api, ssl));
  if (out.connection && g_certificate_faults.load(std::memory_order_relaxed))
    Session::set_certificate_fault(*api, ssl, *out.connection);
  return out;
}

// As long as a function makes a part of the handshake. All of the handshake may happen in its one call.
class Handshaking {
 public:
  template <typename Library>
  Handshaking(const Library& library, Ssl* ssl) {
    if (!g_certificate_faults.load(std::memory_order_relaxed)) return;
    const Api* api = library();
    if (api == nullptr || ssl == nullptr) return;
    work_ = {api, ssl, [](const void* by, void* of, Connection& c) {
               Session::set_certificate_fault(*static_cast<const Api*>(by), static_cast<Ssl*>(of),
                                              c);
             }};
    before_ = t_handshake;
    t_handshake = &work_;
    began_ = true;
    // The ClientHello may have left in an earlier call.
    follow_if_fed(api, ssl);
  }
  ~Handshaking() {
    if (began_) t_handshake = before_;
  }
  Handshaking(const Handshaking&) = delete;

 private:
  static void follow_if_fed(const Api* api, Ssl* ssl) {
    if (api->SSL_get_fd(ssl) < 0) follow_session(api, ssl);
  }
  HandshakeAtWork work_;
  HandshakeAtWork* before_ = nullptr;
  bool began_ = false;
};

inline Session* known_session(const Api* api, const Ssl* ssl) {
  return api == nullptr || ssl == nullptr || t_hook_depth > 0 ? nullptr : Session::find(*api, ssl);
}

// `library()`: the Api, which is looked up only if it is needed.
template <typename Library, typename Real>
Moved write_through(const Library& library, Ssl* ssl, const void* data, size_t size,
                    const Real& real) {
  if (tls_is_idle() || size == 0) return real();
  const Api* api = library();
  auto f = follow_session(api, ssl);
  if (!f) return real();
  Session& s = *f.session;
  const Session::Use use(&s);
  // SSL_write makes the handshake first, if there was none. What it then sends would not be seen. (While a thread of
  // the agent uses the SSL, there was one. A ticket that this thread reads lets it look unfinished for a moment.)
  if (!s.is_pumped() && api->SSL_is_init_finished(ssl) == 0) {
    s.own_error = kErrorNone;
    const int result = api->SSL_do_handshake(ssl);
    if (result <= 0) return {result < 0 ? result : -1, 0};
  }
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
  // (errno says nothing of a part that was taken: the application has to come back with the rest.)
  if (!refused)
    s.own_error = transfer.result >= 0 || errno == EAGAIN ? kErrorWantWrite : kErrorSyscall;
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

template <typename Library, typename Real>
Moved read_through(const Library& library, Ssl* ssl, void* data, size_t size, bool peek,
                   const Real& real) {
  if (tls_is_idle()) return real();
  const Api* api = library();
  auto f = follow_session(api, ssl);
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

// The session, if a fault stands in the place of its connection.
template <typename Library>
Session* diverted_session(const Library& library, const Ssl* ssl) {
  if (g_replaced_now.load(std::memory_order_relaxed) == 0) return nullptr;
  Session* session = known_session(library(), ssl);
  return session != nullptr && session->reads_diverted() ? session : nullptr;
}

// What a function does that makes a part of the handshake, at its end: claims the connection.
template <typename Library>
void note_handshake(const Library& library, Ssl* ssl) {
  if (tls_is_idle()) return;
  // What SSL_get_error says next is about the handshake.
  if (Session* session = follow_session(library(), ssl).session) session->own_error = kErrorNone;
}

// What SSL_shutdown does first. True: that was all.
template <typename Library>
bool shut_down(const Library& library, Ssl* ssl) {
  if (tls_is_idle()) return false;
  if (Session* session = diverted_session(library, ssl)) {
    session->closed = true;
    return true;
  }
  const Api* api = library();
  Session* session = known_session(api, ssl);
  const HookScope scope;
  int fd = -1;
  if (session != nullptr) {
    if (Pinned c = session->connection(&fd)) flush(*c, fd, true);
    session->own_error = kErrorNone;
  }
  return false;
}

// What SSL_get_error gives, if the last result was ours; else kErrorNone.
template <typename Library>
int own_error(const Library& library, const Ssl* ssl, int result) {
  if (result > 0 || tls_is_idle()) return kErrorNone;
  const Session* session = known_session(library(), ssl);
  return session != nullptr ? session->own_error : kErrorNone;
}

// Makes the functions of an OpenSSL that is linked into the program reach us (openssl_inside.cc). Called when
// the first bytes of a connection were seen; does something at the first that is encrypted.
void reach_openssl_inside(const Connection& c);

}  // namespace filibuster::preload::openssl
