// The functions of GnuTLS by which applications move bytes.
#include <sys/types.h>

#include <cerrno>
#include <utility>

#include "preload/hooks/tls.h"
#include "preload/runtimes/native/library_originals.h"
#include "preload/stream/sender.h"
#include "preload/tls/gnutls/api.h"
#include "preload/tls/gnutls/session.h"

#define FILIBUSTER_GNUTLS(type, name, params) \
  extern "C" __attribute__((visibility("default"))) type name params

namespace filibuster::preload::gnutls {
namespace {

FollowedSession<Session> follow_session(SessionPtr session) {
  const HookScope scope;
  if (scope.pass_through() || !own_process()) return {};
  return FollowedSession<Session>(Session::find(session));
}

Session* diverted_session(SessionPtr session) {
  if (g_replaced_now.load(std::memory_order_relaxed) == 0 || t_hook_depth > 0) return nullptr;
  Session* known = Session::find(session);
  return known != nullptr && known->reads_diverted() ? known : nullptr;
}

// The pointers of the application, while another thread uses the session with its own.
const Session::Pointers* pumped(SessionPtr session) {
  if (g_replaced_ever.load(std::memory_order_relaxed) == 0 || t_hook_depth > 0) return nullptr;
  const Session* known = Session::find(session);
  return known != nullptr ? known->pumped() : nullptr;
}

int as_number(void* pointer) {
  return static_cast<int>(reinterpret_cast<intptr_t>(pointer));
}

int error_of(ssize_t result, int error) {
  if (result == kAgain || result == kInterrupted) return EAGAIN;
  return error != 0 ? error : ECONNABORTED;
}

}  // namespace
}  // namespace filibuster::preload::gnutls

using namespace filibuster::preload;
using namespace filibuster::preload::gnutls;

FILIBUSTER_GNUTLS(int, gnutls_init, (SessionPtr * session, unsigned flags)) {
  const void* caller = FILIBUSTER_CALLER;
  const int result =
      gnutls::original<int (*)(SessionPtr*, unsigned)>(Function::kInit, caller)(session, flags);
  if (result < 0 || !session_present() || t_hook_depth > 0) return result;
  const HookScope scope;
  if (const Api* api = api_for(caller)) Session::begin(*api, *session, (flags & kServer) != 0);
  return result;
}

FILIBUSTER_GNUTLS(void, gnutls_deinit, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  {
    const HookScope scope;
    if (session != nullptr) Session::end(session);
  }
  gnutls::original<void (*)(SessionPtr)>(Function::kDeinit, caller)(session);
}

FILIBUSTER_GNUTLS(int, gnutls_handshake, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  const int result = gnutls::original<int (*)(SessionPtr)>(Function::kHandshake, caller)(session);
  if (!tls_is_idle()) follow_session(session);  // claims the connection
  return result;
}

FILIBUSTER_GNUTLS(ssize_t, gnutls_record_send,
                  (SessionPtr session, const void* data, size_t size)) {
  const auto original = gnutls::original<ssize_t (*)(SessionPtr, const void*, size_t)>(
      Function::kSend, FILIBUSTER_CALLER);
  if (tls_is_idle() || size == 0) return original(session, data, size);
  auto f = follow_session(session);
  if (!f) return original(session, data, size);
  Session& s = *f.session;
  const Session::Use use(&s);
  const iovec piece{const_cast<void*>(data), size};
  s.sent = 0;
  s.own_direction = -1;
  const Transfer transfer = before_send_over(std::move(f.connection), f.fd, piece);
  if (!transfer.handled) {
    const ssize_t result =
        s.writes_diverted() ? s.write_diverted(data, size) : original(session, data, size);
    if (transfer.connection && result > 0)
      after_send(transfer, f.fd, piece, static_cast<size_t>(result));
    return result;
  }
  // The library takes a part of what is larger than a record, too.
  if (transfer.result >= 0) return transfer.result;
  if (s.sent < 0) return s.sent;
  s.own_direction = 1;
  return errno == EAGAIN ? kAgain : kPushError;
}

FILIBUSTER_GNUTLS(ssize_t, gnutls_record_recv, (SessionPtr session, void* data, size_t size)) {
  const auto original = gnutls::original<ssize_t (*)(SessionPtr, void*, size_t)>(Function::kReceive,
                                                                                 FILIBUSTER_CALLER);
  if (tls_is_idle() || size == 0) return original(session, data, size);
  auto f = follow_session(session);
  if (!f) return original(session, data, size);
  Session& s = *f.session;
  const Session::Use use(&s);
  const iovec piece{data, size};
  s.own_direction = -1;
  Transfer transfer = before_receive_over(std::move(f.connection), f.fd);
  if (transfer.handled) {
    s.own_direction = 0;
    return errno == EAGAIN ? kAgain : kPullError;
  }
  ssize_t result;
  do {
    errno = 0;
    result = s.reads_diverted() ? s.read_diverted(data, size) : original(session, data, size);
  } while (transfer.connection && must_repeat(transfer, f.fd));
  if (!transfer.connection) return result;
  const int error = errno;
  errno = result < 0 ? error_of(result, error) : 0;
  after_receive(transfer, f.fd, piece, 0, result < 0 ? -1 : result, size);
  errno = error;
  return result;
}

FILIBUSTER_GNUTLS(size_t, gnutls_record_check_pending, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  if (diverted_session(session) != nullptr) return 0;
  return gnutls::original<size_t (*)(SessionPtr)>(Function::kPending, caller)(session);
}

FILIBUSTER_GNUTLS(int, gnutls_record_get_direction, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  if (!tls_is_idle() && t_hook_depth == 0) {
    const Session* known = Session::find(session);
    if (known != nullptr && known->own_direction >= 0) return known->own_direction;
  }
  return gnutls::original<int (*)(SessionPtr)>(Function::kDirection, caller)(session);
}

FILIBUSTER_GNUTLS(int, gnutls_bye, (SessionPtr session, int how)) {
  const void* caller = FILIBUSTER_CALLER;
  if (!tls_is_idle()) {
    if (diverted_session(session) != nullptr) return 0;
    auto f = follow_session(session);
    const HookScope scope;
    if (f) flush(*f.connection, f.fd, true);
  }
  return gnutls::original<int (*)(SessionPtr, int)>(Function::kBye, caller)(session, how);
}

FILIBUSTER_GNUTLS(void*, gnutls_transport_get_ptr, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session::Pointers* own = pumped(session)) return own->receive;
  return gnutls::original<void* (*)(SessionPtr)>(Function::kGetPointer, caller)(session);
}

FILIBUSTER_GNUTLS(void, gnutls_transport_get_ptr2,
                  (SessionPtr session, void** receive, void** send)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session::Pointers* own = pumped(session)) {
    *receive = own->receive;
    *send = own->send;
    return;
  }
  gnutls::original<void (*)(SessionPtr, void**, void**)>(Function::kGetPointers, caller)(
      session, receive, send);
}

FILIBUSTER_GNUTLS(int, gnutls_transport_get_int, (SessionPtr session)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session::Pointers* own = pumped(session)) return as_number(own->receive);
  return gnutls::original<int (*)(SessionPtr)>(Function::kGetNumber, caller)(session);
}

FILIBUSTER_GNUTLS(void, gnutls_transport_get_int2, (SessionPtr session, int* receive, int* send)) {
  const void* caller = FILIBUSTER_CALLER;
  if (const Session::Pointers* own = pumped(session)) {
    *receive = as_number(own->receive);
    *send = as_number(own->send);
    return;
  }
  gnutls::original<void (*)(SessionPtr, int*, int*)>(Function::kGetNumbers, caller)(session,
                                                                                    receive, send);
}
