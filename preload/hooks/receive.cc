// Every libc entry that receives bytes, also under the names of _FORTIFY_SOURCE.
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

#include "preload/hooks/draws.h"
#include "preload/hooks/transfer.h"
#include "preload/stream/ready_made.h"

using filibuster::Pieces;
using filibuster::preload::nothing_to_do;
using filibuster::preload::pieces_of;
using filibuster::preload::receive_through;

namespace {

// Descriptors that came in a message (unix(7), SCM_RIGHTS).
void note_given(int carrier, msghdr* message) {
  if (message->msg_controllen == 0 || message->msg_control == nullptr) return;
  filibuster::preload::HookScope scope;
  if (scope.pass_through()) return;
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    filibuster::preload::carries_descriptors(carrier);
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      filibuster::preload::given(fd);
    }
  }
}

}  // namespace

FILIBUSTER_HOOK(ssize_t, read, (int fd, void* data, size_t size)) {
  using namespace filibuster::preload;
  if (__builtin_expect(draws_matter(), 0) && size <= filibuster::kMaxDrawBytes &&
      is_random_device(fd))
    return drawn_bytes(filibuster::DrawSource::kDevice, data, size,
                       [&] { return REAL(read)(fd, data, size); });
  const iovec piece{data, size};
  return receive_through(fd, piece, 0, size, [&] { return REAL(read)(fd, data, size); });
}

FILIBUSTER_HOOK(ssize_t, __read_chk, (int fd, void* data, size_t size, size_t room)) {
  const iovec piece{data, size};
  return receive_through(fd, piece, 0, size,
                         [&] { return REAL(__read_chk)(fd, data, size, room); });
}

FILIBUSTER_HOOK(ssize_t, readv, (int fd, const iovec* pieces, int count)) {
  if (count < 0 || count > 1024) return REAL(readv)(fd, pieces, count);  // IOV_MAX: EINVAL
  const Pieces room{pieces, static_cast<size_t>(count)};
  return receive_through(fd, room, 0, room.size(), [&] { return REAL(readv)(fd, pieces, count); });
}

FILIBUSTER_HOOK(ssize_t, recv, (int fd, void* data, size_t size, int flags)) {
  const iovec piece{data, size};
  return receive_through(fd, piece, flags, size, [&] { return REAL(recv)(fd, data, size, flags); });
}

FILIBUSTER_HOOK(ssize_t, __recv_chk, (int fd, void* data, size_t size, size_t room, int flags)) {
  const iovec piece{data, size};
  return receive_through(fd, piece, flags, size,
                         [&] { return REAL(__recv_chk)(fd, data, size, room, flags); });
}

FILIBUSTER_HOOK(ssize_t, recvfrom,
                (int fd, void* data, size_t size, int flags, sockaddr* address,
                 socklen_t* address_size)) {
  const iovec piece{data, size};
  return receive_through(fd, piece, flags, size, [&] {
    return REAL(recvfrom)(fd, data, size, flags, address, address_size);
  });
}

FILIBUSTER_HOOK(ssize_t, __recvfrom_chk,
                (int fd, void* data, size_t size, size_t room, int flags, sockaddr* address,
                 socklen_t* address_size)) {
  const iovec piece{data, size};
  return receive_through(fd, piece, flags, size, [&] {
    return REAL(__recvfrom_chk)(fd, data, size, room, flags, address, address_size);
  });
}

FILIBUSTER_HOOK(ssize_t, recvmsg, (int fd, msghdr* message, int flags)) {
  if (message == nullptr || message->msg_iovlen > 1024) {
    return REAL(recvmsg)(fd, message, flags);
  }
  const Pieces room = pieces_of(*message);
  return receive_through(fd, room, flags, room.size(), [&] {
    const ssize_t size = REAL(recvmsg)(fd, message, flags);
    if (size >= 0) note_given(fd, message);
    return size;
  });
}

FILIBUSTER_HOOK(int, recvmmsg,
                (int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout)) {
  using namespace filibuster::preload;
  if (messages == nullptr || count > 1024) {
    return REAL(recvmmsg)(fd, messages, count, flags, timeout);
  }
  if (nothing_to_do()) {
    const int received = REAL(recvmmsg)(fd, messages, count, flags, timeout);
    for (int i = 0; i < received; ++i) note_given(fd, &messages[i].msg_hdr);
    return received;
  }
  Transfer transfer = before_receive(fd, flags);
  if (transfer.handled) return static_cast<int>(transfer.result);
  const int received = REAL(recvmmsg)(fd, messages, count, flags, timeout);
  for (int i = 0; i < received; ++i) {
    msghdr& m = messages[i].msg_hdr;
    note_given(fd, &m);
    if (transfer.connection) {
      after_receive(transfer, fd, pieces_of(m), flags, messages[i].msg_len, pieces_of(m).size());
      // The messages of one call take their turns one after the other.
      ++transfer.request_sequence;
      ++transfer.response_sequence;
    }
  }
  return received;
}
