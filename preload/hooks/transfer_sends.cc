// The part of transfer.h that sends.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "preload/hooks/openssl.h"
#include "preload/hooks/transfer.h"
#include "preload/inject/inject.h"
#include "preload/os/raw_syscall.h"
#include "preload/stream/recognition.h"
#include "preload/stream/registry.h"
#include "preload/stream/sender.h"

FILIBUSTER_REAL(ssize_t, sendmsg, (int, const msghdr*, int))

namespace filibuster::preload {

Carrying::Carrying(Connection* connection, int fd) {
  pin(connection);
  connection_ = Pinned(connection);
  counted_ = connection->transport.load()->begin_carrying(fd);
}
void Carrying::end(Pieces pieces, size_t received) {
  if (connection_) connection_->transport.load()->end_carrying(counted_, pieces, received);
  connection_.drop();
}

namespace {

void note_connected_datagram(int fd) {
  sockaddr_storage peer;
  socklen_t size = sizeof peer;
  if (!own_process() || raw_syscall(SYS_getpeername, fd, &peer, &size) != 0) return;
  set_mark(fd, Mark::kDatagram);
  report_datagram(reinterpret_cast<const sockaddr*>(&peer), size);
}

// Asked only where a message may begin; of a server, where it says something that nobody has asked for.
bool is_another(const Connection& c, int fd, Pieces pieces) {
  const Followed* protocol = c.protocol();
  if (protocol != nullptr && protocol->passes() && stand_in_cookie(fd) == 0) return false;
  if (c.role == Role::kServer && protocol != nullptr && protocol->open_requests() != 0)
    return false;
  if (protocol != nullptr && !protocol->may_begin_with(pieces)) return false;
  return given_anew(c, fd);
}

// Would the application's call wait now, where ours did not?
bool would_wait(int fd, int flags, IoResult sent, size_t offered) {
  const bool stopped = sent.size < 0 ? sent.size == -1 && sent.error == EAGAIN
                                     : static_cast<size_t>(sent.size) < offered;
  return stopped && (flags & MSG_DONTWAIT) == 0 && !is_nonblocking(fd);
}

// The pieces without their first `taken` bytes, as many as there is room for.
size_t skip(Pieces pieces, size_t taken, iovec (&rest)[kVectors]) {
  size_t used = 0;
  pieces.each(taken, SIZE_MAX, [&](const char* part, size_t size) {
    rest[used++] = {const_cast<char*>(part), size};
    return used < kVectors;
  });
  return used;
}

// The part of before_send() that is the same whatever carries the bytes.
void begin_send(Transfer& t, HookScope& scope, int fd, Pieces pieces, int flags, bool plain) {
  Connection* c = &*t.connection;
  if (Followed* protocol = c->protocol(); protocol != nullptr && protocol->passes()) {
    const IoResult sent = protocol->pass_send(*c, fd, pieces, flags, plain);
    t.result = sent.size;
    t.handled = t.result != kNotHandled;
    if (t.handled && t.result < 0) scope.set_errno(sent.error);
    t.carries = protocol->is_carrier();
    if (!t.carries) t.connection.drop();
    return;
  }
  if (c->role == Role::kJoining && c->state.is_followed()) {
    try_to_join(*c, fd, true, pieces, pieces.size());
    if (c->role == Role::kJoining) settle(*c);
  }
  if (c->role == Role::kServer) {
    t.note_sequences();
    return;
  }
  if (c->role == Role::kClient) {
    if (!plain || (flags & (MSG_OOB | MSG_ZEROCOPY)) != 0) {
      if (!c->state.is_replaced()) give_up(*c, NotInterposedReason::kUnknownProtocol);
      flush(*c, fd);
      settle(*c);
    } else {
      const IoResult sent = send_offered(*c, fd, pieces, flags);
      openssl::reach_openssl_inside(*c);
      t.result = sent.size;
      t.handled = t.result != kNotHandled;
      if (c->transport.load() == nullptr && would_wait(fd, flags, sent, pieces.size())) {
        t.waits = true;
        t.result = std::max<ssize_t>(t.result, 0);
      }
      if (t.handled && t.result < 0) scope.set_errno(sent.error);
    }
  }
  t.connection.drop();
}

// The bytes that a transport has made of others. While a pair stands in the place of the connection, they go to
// the real one behind it.
void begin_carried_send(Transfer& t, HookScope& scope, int fd, Pieces pieces, int flags) {
  t.carries = true;
  Transport& transport = *t.connection->transport.load();
  if (t_carrying != &*t.connection) {
    if (transport.watches_descriptor()) t.carrying = Carrying(&*t.connection, fd);
    if (const size_t gone = transport.obsolete(fd, pieces.size()); gone != 0) {
      t.connection->carried += gone;
      t.result = static_cast<ssize_t>(gone);
      t.handled = true;
      t.connection.drop();
      return;
    }
  }
  const int aside = t.connection->aside.load();
  if (aside < 0) return;
  const msghdr message{nullptr, 0, const_cast<iovec*>(pieces.data), pieces.count, nullptr, 0, 0};
  t.result = REAL(sendmsg)(aside, &message, flags);
  scope.keep_errno();
  t.handled = true;
  if (t.result > 0) t.connection->carried += static_cast<uint64_t>(t.result);
  t.connection.drop();
}

}  // namespace

Transfer before_send(int fd, Pieces pieces, int flags, bool plain) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) {
    if (t_carrying == nullptr || !pin(t_carrying)) return t;
    t.connection = Pinned(t_carrying);
    begin_carried_send(t, scope, fd, pieces, flags);
    return t;
  }
  t.connection = follow(fd);
  if (t.connection && t.connection->transport.load(std::memory_order_acquire) == nullptr &&
      is_another(*t.connection, fd, pieces)) {
    t.connection.drop();
    forget(fd);
    t.connection = follow(fd);
  }
  if (!t.connection) {
    if (mark_of(fd) == Mark::kConnectedDatagram) note_connected_datagram(fd);
  } else if (t.connection->transport.load(std::memory_order_acquire) != nullptr) {
    begin_carried_send(t, scope, fd, pieces, flags);
  } else {
    begin_send(t, scope, fd, pieces, flags, plain);
  }
  return t;
}

Transfer before_send_over(Pinned connection, int fd, Pieces pieces) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) return t;
  t.connection = std::move(connection);
  if (t.connection->role == Role::kClient && is_another(*t.connection, fd, pieces)) {
    t.connection.drop();
    forget(fd);
    return t;
  }
  begin_send(t, scope, fd, pieces, 0, true);
  return t;
}

ssize_t send_waiting(int fd, Pieces pieces, int flags, size_t taken) {
  constexpr int kMostTurns = 5;  // of about 1 s: a thread that owns the flow may be gone for good
  const size_t offered = pieces.size();
  int turns = 0;
  while (taken < offered) {
    iovec vectors[kVectors];
    const Pieces rest{vectors, skip(pieces, taken, vectors)};
    Pinned connection;
    OnTheWire out;
    IoResult sent{kNotHandled, 0};
    {
      HookScope scope;
      connection = follow(fd);
      if (connection && connection->role == Role::kClient)
        sent = send_offered(*connection, fd, rest, flags);
      if (sent.size == -1 && sent.error == EAGAIN) {
        switch (begin_waiting_send(*connection, rest, &out)) {
          case WaitingSend::kReady:
            sent.error = 0;
            break;
          case WaitingSend::kBusy:
            if (connection->sending.load() != 0) turns = 0;
            if (++turns > kMostTurns) break;
            wait_writable(fd, 10);
            continue;
          case WaitingSend::kNothing:
            wait_writable(fd, 10);
            continue;
        }
      }
    }
    if (sent.size > 0) {
      taken += static_cast<size_t>(sent.size);
      continue;
    }
    if (sent.size == -1 && sent.error != 0) {
      errno = sent.error;
      return taken != 0 ? static_cast<ssize_t>(taken) : -1;
    }
    const bool ours = sent.size == -1;
    const Pieces leaving = ours ? Pieces{out.vectors, out.count} : rest;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(leaving.data);
    message.msg_iovlen = leaving.count;
    const ssize_t waited = REAL(sendmsg)(fd, &message, flags);
    if (ours) {
      const int why = errno;
      HookScope scope;
      taken += end_waiting_send(*connection, fd, rest, out, {waited, why});
    } else if (waited > 0) {
      taken += static_cast<size_t>(waited);
    }
    if (waited < 0) return taken != 0 ? static_cast<ssize_t>(taken) : -1;
    // A signal or SO_SNDTIMEO ended the wait in the middle, and so ends the application's call.
    const bool cut_short = static_cast<size_t>(waited) < leaving.size();
    if (cut_short && taken != 0) return static_cast<ssize_t>(taken);
  }
  return static_cast<ssize_t>(taken);
}

void after_send(const Transfer& t, int fd, Pieces pieces, size_t size) {
  HookScope scope;
  if (t.carries) {
    t.connection->carried += size;
    return;
  }
  observe(*t.connection, fd, false, pieces, size, t.response_sequence);
}

Transfer before_unseen_send(int fd) {
  Transfer t;
  HookScope scope;
  if (scope.pass_through()) return t;
  t.connection = follow(fd);
  if (!t.connection) return t;
  if (t.connection->transport.load() != nullptr) {
    t.connection.drop();
    return t;
  }
  // What is held must go out first.
  if (t.connection->role == Role::kClient) flush(*t.connection, fd, true);
  t.note_sequences();
  return t;
}

void after_unseen_send(const Transfer& t, size_t size) {
  HookScope scope;
  Connection& c = *t.connection;
  if (Followed* protocol = c.protocol(); protocol != nullptr && protocol->passes()) {
    protocol->pass_unseen_send(c);
  } else if (c.role == Role::kServer) {
    observe_unseen(c, false, size, t.response_sequence);
  } else if (c.role == Role::kClient) {
    skip_sent(c, size);
  }
}

void note_datagram(int fd, const void* address, socklen_t size) {
  if (address == nullptr || size < sizeof(sa_family_t)) return;
  HookScope scope;
  if (scope.pass_through() || !own_process()) return;
  const Mark mark = mark_of(fd);
  if (mark != Mark::kDatagram && mark != Mark::kConnectedDatagram) return;
  report_datagram(static_cast<const sockaddr*>(address), size);
}

}  // namespace filibuster::preload
