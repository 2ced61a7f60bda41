// Every libc entry that sends bytes.
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/hooks/hosts.h"
#include "preload/hooks/transfer.h"
#include "preload/stream/ready_made.h"
#include "preload/stream/registry.h"

using filibuster::preload::LedAddress;
using filibuster::preload::may_be_preface;
using filibuster::preload::note_datagram;
using filibuster::preload::note_preface;
using filibuster::preload::nothing_to_do;
using filibuster::preload::pieces_of;
using filibuster::preload::send_through;
using filibuster::preload::Transfer;

namespace {

// Does the message pass descriptors (unix(7), SCM_RIGHTS)?
void note_passing(int fd, const msghdr* message) {
  filibuster::preload::HookScope scope;
  if (scope.pass_through() || message->msg_control == nullptr) return;
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(message), c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      filibuster::preload::carries_descriptors(fd);
  }
}

}  // namespace

FILIBUSTER_HOOK(ssize_t, write, (int fd, const void* data, size_t size)) {
  const iovec piece{const_cast<void*>(data), size};
  return send_through(fd, piece, 0, true, [&] { return REAL(write)(fd, data, size); });
}

FILIBUSTER_HOOK(ssize_t, writev, (int fd, const iovec* pieces, int count)) {
  if (count < 0 || count > 1024) return REAL(writev)(fd, pieces, count);  // IOV_MAX: EINVAL
  return send_through(fd, {pieces, static_cast<size_t>(count)}, 0, true,
                      [&] { return REAL(writev)(fd, pieces, count); });
}

FILIBUSTER_HOOK(ssize_t, send, (int fd, const void* data, size_t size, int flags)) {
  const iovec piece{const_cast<void*>(data), size};
  return send_through(fd, piece, flags, true, [&] { return REAL(send)(fd, data, size, flags); });
}

FILIBUSTER_HOOK(ssize_t, sendto,
                (int fd, const void* data, size_t size, int flags, const sockaddr* address,
                 socklen_t address_size)) {
  const iovec piece{const_cast<void*>(data), size};
  if (address != nullptr && !nothing_to_do()) {  // MSG_FASTOPEN
    const LedAddress to(fd, address, address_size);
    if (to.is_led()) return ::sendto(fd, data, size, flags, to.get(), address_size);
  }
  const ssize_t sent = send_through(fd, piece, flags, address == nullptr, [&] {
    return REAL(sendto)(fd, data, size, flags, address, address_size);
  });
  if (address != nullptr && !nothing_to_do()) note_datagram(fd, address, address_size);
  return sent;
}

FILIBUSTER_HOOK(ssize_t, sendmsg, (int fd, const msghdr* message, int flags)) {
  if (nothing_to_do() || message == nullptr) {
    const ssize_t sent = REAL(sendmsg)(fd, message, flags);
    if (sent > 0 && may_be_preface(pieces_of(*message), sent))
      note_preface(fd, pieces_of(*message), static_cast<size_t>(sent));
    return sent;
  }
  if (message->msg_iovlen > 1024) return REAL(sendmsg)(fd, message, flags);
  if (message->msg_name != nullptr) {
    const LedAddress to(fd, message->msg_name, message->msg_namelen);
    if (to.is_led()) {
      msghdr led = *message;
      led.msg_name = const_cast<sockaddr*>(to.get());
      return ::sendmsg(fd, &led, flags);
    }
  }
  if (message->msg_controllen != 0) note_passing(fd, message);
  const bool plain = message->msg_name == nullptr && message->msg_controllen == 0;
  const ssize_t sent = send_through(fd, pieces_of(*message), flags, plain,
                                    [&] { return REAL(sendmsg)(fd, message, flags); });
  note_datagram(fd, message->msg_name, message->msg_namelen);
  return sent;
}

FILIBUSTER_HOOK(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags)) {
  using namespace filibuster::preload;
  if (nothing_to_do() || messages == nullptr || count == 0 || count > 1024) {
    return REAL(sendmmsg)(fd, messages, count, flags);
  }
  bool followed = false;
  {
    HookScope scope;
    followed = !scope.pass_through() && static_cast<bool>(follow(fd));
  }
  if (!followed) {
    const int sent = REAL(sendmmsg)(fd, messages, count, flags);
    for (unsigned i = 0; i < count; ++i) {
      note_datagram(fd, messages[i].msg_hdr.msg_name, messages[i].msg_hdr.msg_namelen);
    }
    return sent;
  }
  // On a stream, the kernel sends one message after the other, too.
  unsigned done = 0;
  while (done < count) {
    const ssize_t sent = ::sendmsg(fd, &messages[done].msg_hdr, flags);
    if (sent < 0) return done == 0 ? -1 : static_cast<int>(done);
    messages[done].msg_len = static_cast<unsigned>(sent);
    const size_t offered = pieces_of(messages[done].msg_hdr).size();
    ++done;
    if (static_cast<size_t>(sent) < offered) break;
  }
  return static_cast<int>(done);
}

namespace {

template <typename Original>
ssize_t sendfile_through(int out, const Original& original) {
  if (nothing_to_do()) return original();
  const Transfer transfer = filibuster::preload::before_unseen_send(out);
  const ssize_t size = original();
  if (transfer.connection && size > 0) {
    filibuster::preload::after_unseen_send(transfer, static_cast<size_t>(size));
  }
  return size;
}

}  // namespace

FILIBUSTER_HOOK(ssize_t, sendfile, (int out, int in, off_t* offset, size_t size)) {
  return sendfile_through(out, [&] { return REAL(sendfile)(out, in, offset, size); });
}

FILIBUSTER_HOOK(ssize_t, sendfile64, (int out, int in, off64_t* offset, size_t size)) {
  return sendfile_through(out, [&] { return REAL(sendfile64)(out, in, offset, size); });
}

FILIBUSTER_HOOK(ssize_t, splice,
                (int in, off64_t* in_offset, int out, off64_t* out_offset, size_t size,
                 unsigned flags)) {
  using namespace filibuster::preload;
  if (nothing_to_do()) return REAL(splice)(in, in_offset, out, out_offset, size, flags);
  const Transfer from = before_receive(in, 0);
  if (from.handled) return from.result;
  const ssize_t moved = sendfile_through(
      out, [&] { return REAL(splice)(in, in_offset, out, out_offset, size, flags); });
  if (from.connection && size != 0) after_unseen_receive(from, moved);
  return moved;
}
