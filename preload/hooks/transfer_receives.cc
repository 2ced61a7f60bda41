// The part of transfer.h that receives.
#include <cerrno>
#include <utility>

#include "preload/hooks/openssl.h"
#include "preload/hooks/transfer.h"
#include "preload/inject/inject.h"
#include "preload/runtimes/runtimes.h"
#include "preload/stream/delivery.h"
#include "preload/stream/holds.h"
#include "preload/stream/recognition.h"
#include "preload/stream/registry.h"
#include "preload/stream/sender.h"

namespace filibuster::preload {

Receiving::Receiving(Connection* connection, Followed* protocol) : protocol_(protocol) {
  pin(connection);
  connection_ = Pinned(connection);
}
void Receiving::end() {
  if (connection_) protocol_->end_receive(*connection_);
  connection_.drop();
}

namespace {

bool ends_connection(int error) {
  switch (error) {
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT:
    case ECONNABORTED:
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

void begin_receive(Transfer& t, HookScope& scope, int fd, int flags) {
  Connection& c = *t.connection;
  if (c.role == Role::kClient) {
    // (A read that does not wait does not keep the rest of the request from coming.)
    if (c.debt.load() && (patience_ms() == 0 || !is_nonblocking(fd))) flush(c, fd);
    if (!c.awaits.load(std::memory_order_relaxed)) {
      note_wait(c);
      t.begins_wait = c.awaits.load(std::memory_order_relaxed);
    }
    const int error = c.deferred_error.exchange(0);
    if (error != 0) {
      observe_end(c, error);
      scope.set_errno(error);
      t.handled = true;
      t.result = -1;
    } else if (is_replaced(fd) && elapse_receive(fd)) {
      c.elapsed.store(true, std::memory_order_relaxed);
      scope.set_errno(EAGAIN);
      t.handled = true;
      t.result = -1;
    }
    if (!t.handled && is_replaced(fd) && (flags & MSG_DONTWAIT) == 0 && !waits_may_be_cut_short())
      receive_without_limit(fd);
    Followed* protocol = c.protocol();
    if (!t.handled && protocol != nullptr) {
      const Followed::Receive begun = protocol->begin_receive(c);
      if (begun != Followed::Receive::kNot) t.receiving = Receiving(&c, protocol);
      if (begun == Followed::Receive::kKeptOut) t.may_be_replaced = false;
    }
  }
  if (c.state.is_replaced() || (c.state.is_faulted() && is_replaced(fd))) t.may_be_replaced = false;
  t.replacements = replacements();
  t.note_sequences();
}

// A client reads where it has asked for nothing: an accept past the hooks may have got the number.
bool is_another(const Connection& c, int fd) {
  if (c.role != Role::kClient || c.transport.load(std::memory_order_acquire) != nullptr)
    return false;
  const Followed* protocol = c.protocol();
  return (c.state.is_replaced() || protocol == nullptr || protocol->is_idle(c)) &&
         given_anew(c, fd);
}

}  // namespace

Transfer before_receive(int fd, int flags) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) return t;
  t.connection = follow(fd);
  if (t.connection && is_another(*t.connection, fd)) {
    t.connection.drop();
    forget(fd);
    t.connection = follow(fd);
  }
  flush_holds_before_read(fd);
  if (!t.connection) return t;
  const Transport* transport = t.connection->transport.load(std::memory_order_acquire);
  if (transport == nullptr) {
    begin_receive(t, scope, fd, flags);
  } else if (transport->watches_descriptor()) {
    t.carries = true;
    t.may_be_replaced = false;
    t.carrying = Carrying(&*t.connection, fd);
  } else {
    t.connection.drop();
  }
  return t;
}

Transfer before_receive_over(Pinned connection, int fd) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) return t;
  t.connection = std::move(connection);
  flush_holds_before_read(fd);
  begin_receive(t, scope, fd, 0);
  return t;
}

bool must_repeat(Transfer& t, int fd) {
  const uint32_t now = replacements();
  if (now == t.replacements || !t.may_be_replaced || !is_replaced(fd)) return false;
  t.may_be_replaced = false;
  t.replacements = now;
  return true;
}

Transfer late_receive(int fd) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) return t;
  t.connection = follow(fd);
  if (t.connection && t.connection->transport.load() != nullptr) t.connection.drop();
  if (t.connection) t.note_sequences();
  t.replacements = replacements();
  return t;
}

namespace {

void note_received(Transfer& t, int fd, Pieces pieces, int flags, IoResult received, size_t asked) {
  const ssize_t size = received.size;
  const int error = received.error;
  if (t.connection->generation != session_generation() && !t.connection->state.is_replaced()) {
    if (t.connection->transport.load() != nullptr) return;
    // A session began while the original waited: the bytes are the first that are seen in it.
    t.connection = follow(fd);
    if (!t.connection) return;
    t.note_sequences();
  }
  Connection& c = *t.connection;
  if (size > 0 && t.may_be_replaced && c.role == Role::kClient && c.state.is_faulted())
    report_read_before_fault();
  if (c.state.is_replaced()) {
    // The hang limit ends a silence with a reset.
    if ((size < 0 && ends_connection(error)) || (size == 0 && asked != 0)) end_silence(c);
    return;
  }
  if (size < 0) {
    // One that only looks does not wait.
    if (t.begins_wait && error == EAGAIN && ((flags & MSG_DONTWAIT) != 0 || is_nonblocking(fd)))
      c.awaits.store(false, std::memory_order_relaxed);
    if (ends_connection(error)) observe_end(c, error);
    return;
  }
  if (Followed* protocol = c.protocol(); protocol != nullptr && protocol->passes()) {
    if (size > 0) protocol->pass_received(c, fd, pieces, flags, static_cast<size_t>(size));
    return;
  }
  if ((flags & (MSG_PEEK | MSG_OOB | MSG_ERRQUEUE)) != 0) return;
  if (size == 0) {
    if (asked != 0) observe_end(c, 0);
    return;
  }
  if (c.role == Role::kJoining && c.state.is_followed()) {
    try_to_join(c, fd, false, pieces, static_cast<size_t>(size));
    settle(c);
  }
  if (c.role == Role::kJoining) return;
  const bool requests = c.role == Role::kServer;
  const uint32_t sequence = requests ? t.request_sequence : t.response_sequence;
  if ((flags & MSG_TRUNC) != 0) {
    // tcp(7): the bytes are discarded, not copied.
    observe_unseen(c, requests, static_cast<size_t>(size), sequence);
  } else {
    observe(c, fd, requests, pieces, static_cast<size_t>(size), sequence);
    openssl::reach_openssl_inside(c);
  }
}

}  // namespace

void after_receive(Transfer& t, int fd, Pieces pieces, int flags, ssize_t size, size_t asked) {
  const int error = errno;
  HookScope scope;
  if (t.carries) {
    t.carrying.end(pieces, size > 0 && (flags & MSG_PEEK) == 0 ? static_cast<size_t>(size) : 0);
    return;
  }
  note_received(t, fd, pieces, flags, {size, error}, asked);
  t.receiving.end();
  if (size > 0 && t.connection && t.connection->role == Role::kClient) go_on(*t.connection, fd);
}

void after_unseen_receive(const Transfer& t, ssize_t size) {
  if (t.carries) return;
  const int error = errno;
  HookScope scope;
  Connection& c = *t.connection;
  const Followed* protocol = c.protocol();
  if (c.state.is_replaced() || (protocol != nullptr && protocol->passes())) return;
  if (size < 0) {
    if (ends_connection(error)) observe_end(c, error);
  } else if (size == 0) {
    observe_end(c, 0);
  } else if (c.role != Role::kJoining) {
    const bool requests = c.role == Role::kServer;
    observe_unseen(c, requests, static_cast<size_t>(size),
                   requests ? t.request_sequence : t.response_sequence);
  }
}

}  // namespace filibuster::preload
