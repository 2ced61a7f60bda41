// What every hook that moves bytes does: before the original, instead of it, after it.
//
// `original()` is called with no scope and no lock held; its errno is the caller's.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include "core/pieces.h"
#include "preload/inject/records.h"
#include "preload/interpose.h"
#include "preload/protocols/http2/preface.h"
#include "preload/stream/connection.h"

namespace filibuster::preload {

// A thread is inside a receive of a client connection whose protocol wants to know that, so that no fault
// takes the descriptor away meanwhile.
class Receiving {
 public:
  Receiving() = default;
  Receiving(Connection* connection, Followed* protocol);
  Receiving(Receiving&& other) noexcept = default;
  Receiving& operator=(Receiving&& other) noexcept = default;
  ~Receiving() { end(); }
  void end();

 private:
  Pinned connection_;
  Followed* protocol_ = nullptr;
};

// Encrypted bytes move over the descriptor of a transport that wants to know it.
class Carrying {
 public:
  Carrying() = default;
  Carrying(Connection* connection, int fd);
  Carrying(Carrying&& other) noexcept = default;
  Carrying& operator=(Carrying&& other) noexcept = default;
  ~Carrying() { end({}, 0); }
  explicit operator bool() const { return static_cast<bool>(connection_); }
  void end(Pieces pieces, size_t received);

 private:
  Pinned connection_;
  bool counted_ = false;
};

struct Transfer {
  Pinned connection;  // empty: nothing to do after the original
  uint32_t request_sequence = 0;
  uint32_t response_sequence = 0;
  uint32_t replacements = 0;
  bool may_be_replaced = true;  // by a fault, while the original waits
  bool waits = false;  // the original would wait for the socket to take more than `result` bytes
  bool begins_wait = false;  // for the rest of an answer (note_wait)
  bool carries = false;      // the bytes are those of a transport (stream/transport.h)
  Receiving receiving;
  Carrying carrying;
  bool handled = false;  // the original must not be called; `result` and errno are the call's
  ssize_t result = 0;

  // So that it shows afterwards whether another thread has moved bytes meanwhile.
  void note_sequences() {
    request_sequence = connection->request_flow.sequence();
    response_sequence = connection->response_flow.sequence();
  }
};

// `plain`: neither an address nor control data goes with the bytes.
Transfer before_send(int fd, Pieces pieces, int flags, bool plain);
// The same for bytes that go through the transport of `connection`, which `fd` carries.
Transfer before_send_over(Pinned connection, int fd, Pieces pieces);
// Sends all but the first `taken` bytes where the application's call waits (Transfer::waits).
ssize_t send_waiting(int fd, Pieces pieces, int flags, size_t taken);
void after_send(const Transfer& transfer, int fd, Pieces pieces, size_t size);
// For bytes that will go by unseen (sendfile, splice).
Transfer before_unseen_send(int fd);
void after_unseen_send(const Transfer& transfer, size_t size);

Transfer before_receive(int fd, int flags);
Transfer before_receive_over(Pinned connection, int fd);
// Called after the original if a session began while it waited.
Transfer late_receive(int fd);
// Did a fault replace the descriptor while the original waited? Then what the original returned came from
// the old connection. It is dropped, and the original is called again.
bool must_repeat(Transfer& transfer, int fd);
// `size` as returned (-1: errno tells); `asked` = room that was offered.
void after_receive(Transfer& transfer, int fd, Pieces pieces, int flags, ssize_t size,
                   size_t asked);
void after_unseen_receive(const Transfer& transfer, ssize_t size);

// Reports the address that a datagram was sent to.
void note_datagram(int fd, const void* address, socklen_t size);

inline Pieces pieces_of(const msghdr& message) {
  return {message.msg_iov, message.msg_iovlen};
}

template <typename Original>
ssize_t send_through(int fd, Pieces pieces, int flags, bool plain, const Original& original) {
  if (nothing_to_do()) {
    const ssize_t size = original();
    if (may_be_preface(pieces, size)) {
      note_preface(fd, pieces, static_cast<size_t>(size));
    }
    return size;
  }
  const Transfer transfer = before_send(fd, pieces, flags, plain);
  if (transfer.waits) return send_waiting(fd, pieces, flags, static_cast<size_t>(transfer.result));
  if (transfer.handled) return transfer.result;
  const ssize_t size = original();
  if (transfer.connection && size > 0) {
    after_send(transfer, fd, pieces, static_cast<size_t>(size));
  } else if (may_be_preface(pieces, size)) {
    note_preface(fd, pieces, static_cast<size_t>(size));
  }
  return size;
}

// The original, or what an application finds that looks for records in the place of its connection. (Nothing takes that
// place while encrypted bytes are read: see Carrying.)
template <typename Original>
ssize_t receive_once(int fd, Pieces pieces, int flags, const Original& original) {
  constexpr int kOthers = MSG_OOB | MSG_ERRQUEUE;
  if ((flags & kOthers) != 0 || !gives_records(fd)) return original();
  const ssize_t got = receive_records(fd, pieces, flags);
  return got == kNoRecords ? original() : got;
}

template <typename Original>
ssize_t receive_through(int fd, Pieces pieces, int flags, size_t asked, const Original& original) {
  if (nothing_to_do()) {
    const ssize_t got = receive_once(fd, pieces, flags, original);
    if (nothing_to_do() || got <= 0) return got;
    Transfer late = late_receive(fd);
    if (late.connection) after_receive(late, fd, pieces, flags, got, asked);
    return got;
  }
  Transfer transfer = before_receive(fd, flags);
  if (transfer.handled) return transfer.result;
  ssize_t size;
  do {
    size = receive_once(fd, pieces, flags, original);
  } while (transfer.connection && must_repeat(transfer, fd));
  if (transfer.connection) after_receive(transfer, fd, pieces, flags, size, asked);
  return size;
}

}  // namespace filibuster::preload
