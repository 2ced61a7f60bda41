#include "preload/stream/wire.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "preload/interpose.h"
#include "preload/os/pool.h"
#include "preload/os/raw_syscall.h"
#include "preload/session/state.h"

FILIBUSTER_REAL(ssize_t, send, (int, const void*, size_t, int))
FILIBUSTER_REAL(ssize_t, sendmsg, (int, const msghdr*, int))

namespace filibuster::preload {

namespace {
Pool<HoldBuffer, 4, 4096> g_hold_buffers;
}  // namespace

void give_back(HoldBuffer* buffer) {
  if (buffer != nullptr) g_hold_buffers.give(buffer);
}

void release_hold(Wire& w) {
  give_back(w.held);
  w.held = nullptr;
  w.held_size = 0;
}

void wait_writable(int fd, int timeout_ms) {
  pollfd p{fd, POLLOUT, 0};
  timespec t{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  raw_syscall(SYS_ppoll, &p, 1, &t, nullptr, 0L);
}

bool is_nonblocking(int fd) {
  return (raw_syscall(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) != 0;
}

size_t total(const iovec* pieces, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += pieces[i].iov_len;
  return size;
}

// Copies `size` bytes from byte `offset` of the pieces.
void gather(const iovec* pieces, size_t count, size_t offset, char* out, size_t size) {
  for (size_t i = 0; i < count && size != 0; ++i) {
    if (offset >= pieces[i].iov_len) {
      offset -= pieces[i].iov_len;
      continue;
    }
    const size_t take = std::min(size, pieces[i].iov_len - offset);
    std::memcpy(out, static_cast<const char*>(pieces[i].iov_base) + offset, take);
    out += take;
    size -= take;
    offset = 0;
  }
}

namespace {

void drop_sent_hold(Wire& w) {
  if (w.held != nullptr && w.edits.position() >= w.held_base + w.held_size) release_hold(w);
}

// One send of a copy costs the kernel 90 ns less than one of three pieces; a page would not.
constexpr size_t kGathered = 1024;

ssize_t send_pieces(int fd, iovec* pieces, size_t count, size_t bytes, int flags) {
  if (bytes <= kGathered) {
    char gathered[kGathered];
    gather(pieces, count, 0, gathered, bytes);
    return REAL(send)(fd, gathered, bytes, flags);
  }
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = count;
  return REAL(sendmsg)(fd, &message, flags);
}

}  // namespace

void lay_out(const Wire& w, const iovec* pieces, size_t count, uint64_t base, uint64_t limit,
             OnTheWire* out) {
  uint64_t from = w.edits.position();
  if (w.held != nullptr) {
    const iovec held{w.held->bytes, w.held_size};
    const uint64_t end = std::min(limit, w.held_base + w.held_size);
    out->count =
        w.edits.layout(w.held_base, &held, 1, from, end, out->vectors, kVectors, &out->bytes);
    from = end;
  }
  if (from < limit && from >= base) {
    size_t more = 0;
    out->count += w.edits.layout(base, pieces, count, from, limit, out->vectors + out->count,
                                kVectors - out->count, &more);
    out->bytes += more;
  }
}

void note_sent(Wire& w, size_t bytes) {
  w.edits.advance(bytes);
  drop_sent_hold(w);
}

int transmit(Wire& w, int fd, const iovec* pieces, size_t count, uint64_t base,
             uint64_t limit, int flags) {
  w.stopped_at = limit;
  w.stopped_by = thread_id();
  while (w.edits.position() < limit) {
    OnTheWire out;
    lay_out(w, pieces, count, base, limit, &out);
    if (out.bytes == 0) return 0;
    const ssize_t sent = send_pieces(fd, out.vectors, out.count, out.bytes, flags | MSG_DONTWAIT);
    if (sent < 0) return errno;
    note_sent(w, static_cast<size_t>(sent));
    if (static_cast<size_t>(sent) < out.bytes && w.edits.position() > base) return 0;
  }
  return 0;
}

bool hold(Wire& w, const iovec* pieces, size_t count, uint64_t base, uint64_t from,
          uint64_t end) {
  const size_t size = static_cast<size_t>(end - from);
  if (w.held == nullptr) {
    if (size > kHoldCapacity) return false;
    w.held = g_hold_buffers.take();
    if (w.held == nullptr) return false;
    w.held_base = from;
    w.held_size = 0;
  }
  if (w.held_size + size > kHoldCapacity) return false;
  gather(pieces, count, static_cast<size_t>(from - base), w.held->bytes + w.held_size, size);
  w.held_size += size;
  return true;
}

}  // namespace filibuster::preload
