/* libtorture.so: a second preload *under* libfilibuster.so (listed after it in LD_PRELOAD, so that the
 * originals that filibuster calls are these). It makes stream sockets behave as badly as POSIX allows:
 * short writes, short and 1-byte reads, EAGAIN on non-blocking descriptors, and EINTR.
 *
 *   TORTURE_SEED=n      the choices (default 1): a function of the seed, the descriptor and how many
 *                       calls it has seen, hence the same in every run of a sequential program
 *   TORTURE_EINTR=1     blocking calls are interrupted too (a program without retry then fails by right)
 *   TORTURE_ONLY=reads|writes
 *   TORTURE_SPARE=1     a write that begins with the preface of HTTP/2 goes out whole
 *
 * Programs under it must loop over short counts and, with edge-triggered epoll, read until EAGAIN.
 * An EAGAIN that is ours re-arms the epoll registration: an edge-triggered program is woken again.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kDescriptors = 4096, kMaxPieces = 64 };

static uint64_t g_seed = 1;
static int g_interrupt, g_reads = 1, g_writes = 1, g_spare;
static _Atomic uint32_t g_calls[kDescriptors];
static _Atomic uint8_t g_refused_last[kDescriptors]; /* EAGAIN or EINTR: not twice in a row */

/* The last epoll registration of each descriptor. */
static struct { int set; struct epoll_event event; } g_watch[kDescriptors];

#define ORIGINAL(name)                        \
  static __typeof__(&name) original;          \
  if (original == NULL) original = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *seed = getenv("TORTURE_SEED"), *only = getenv("TORTURE_ONLY");
  const char *interrupt = getenv("TORTURE_EINTR");
  if (seed != NULL) g_seed = strtoull(seed, NULL, 10);
  g_interrupt = interrupt != NULL && interrupt[0] == '1';
  g_spare = getenv("TORTURE_SPARE") != NULL;
  if (only != NULL) {
    g_reads = strcmp(only, "reads") == 0;
    g_writes = strcmp(only, "writes") == 0;
  }
}

static int is_stream_socket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  const int saved = errno;
  const int result = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
  errno = saved;
  return result == 0 && type == SOCK_STREAM;
}

/* splitmix64 */
static uint64_t choice(int fd) {
  uint64_t z = g_seed + ((uint64_t)fd << 32) + atomic_fetch_add(&g_calls[fd], 1);
  z = (z + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* How many of `size` bytes this call may move; -1: it fails with errno. */
static ssize_t allowed(int fd, size_t size, int flags, int enabled) {
  if (!enabled || fd < 0 || fd >= kDescriptors || size == 0 || !is_stream_socket(fd)) {
    return (ssize_t)size;
  }
  /* A look does not take, and a caller of MSG_WAITALL was promised everything. */
  if ((flags & (MSG_PEEK | MSG_WAITALL | MSG_TRUNC | MSG_OOB | MSG_ERRQUEUE)) != 0) {
    return (ssize_t)size;
  }
  const uint64_t c = choice(fd);
  const int non_blocking = (flags & MSG_DONTWAIT) != 0 || (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
  if (c % 8 == 0 && (non_blocking || g_interrupt) && !atomic_exchange(&g_refused_last[fd], 1)) {
    if (non_blocking && g_watch[fd].set > 0 && (g_watch[fd].event.events & EPOLLONESHOT) == 0) {
      epoll_ctl(g_watch[fd].set, EPOLL_CTL_MOD, fd, &g_watch[fd].event);
    }
    errno = non_blocking ? EAGAIN : EINTR;
    return -1;
  }
  atomic_store(&g_refused_last[fd], 0);
  size_t limit = size;
  if (c % 8 <= 3) limit = 1;
  else if (c % 8 <= 6) limit = 2 + (c >> 8) % 40;
  return (ssize_t)(limit < size ? limit : size);
}

/* The same of a write whose first bytes these are. */
static ssize_t allowed_write(int fd, size_t size, int flags, const void *first, size_t first_size) {
  if (g_spare && first_size >= 8 && memcmp(first, "PRI * HT", 8) == 0) return (ssize_t)size;
  return allowed(fd, size, flags, g_writes);
}

/* 0 (then nothing is shortened) for what the kernel will refuse. */
static size_t total(const struct iovec *pieces, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count && count <= 1024; ++i) size += pieces[i].iov_len;
  return size;
}
/* Copies the pieces that hold the first `limit` bytes; returns their number. */
static size_t shorten(const struct iovec *pieces, size_t count, size_t limit, struct iovec *out) {
  size_t n = 0;
  for (; n < count && n < kMaxPieces && limit > 0; ++n) {
    out[n] = pieces[n];
    if (out[n].iov_len > limit) out[n].iov_len = limit;
    limit -= out[n].iov_len;
  }
  return n;
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
  ORIGINAL(epoll_ctl);
  const int result = original(set, operation, fd, event);
  if (result == 0 && fd >= 0 && fd < kDescriptors) {
    g_watch[fd].set = operation == EPOLL_CTL_DEL ? 0 : set;
    if (operation != EPOLL_CTL_DEL) g_watch[fd].event = *event;
  }
  return result;
}
int close(int fd) {
  ORIGINAL(close);
  if (fd >= 0 && fd < kDescriptors) g_watch[fd].set = 0;
  return original(fd);
}

#define LIMIT(fd, size, flags, enabled)                       \
  const ssize_t limit = allowed(fd, size, flags, enabled);    \
  if (limit < 0) return -1

#define LIMIT_WRITE(fd, size, flags, first, first_size)                       \
  const ssize_t limit = allowed_write(fd, size, flags, first, first_size);    \
  if (limit < 0) return -1

ssize_t read(int fd, void *data, size_t size) {
  ORIGINAL(read);
  LIMIT(fd, size, 0, g_reads);
  return original(fd, data, (size_t)limit);
}
ssize_t recv(int fd, void *data, size_t size, int flags) {
  ORIGINAL(recv);
  LIMIT(fd, size, flags, g_reads);
  return original(fd, data, (size_t)limit, flags);
}
ssize_t recvfrom(int fd, void *restrict data, size_t size, int flags,
                 struct sockaddr *restrict address, socklen_t *restrict address_size) {
  ORIGINAL(recvfrom);
  LIMIT(fd, size, flags, g_reads);
  return original(fd, data, (size_t)limit, flags, address, address_size);
}
ssize_t readv(int fd, const struct iovec *pieces, int count) {
  ORIGINAL(readv);
  const size_t whole = total(pieces, (size_t)count);
  LIMIT(fd, whole, 0, g_reads);
  if ((size_t)limit == whole) return original(fd, pieces, count);
  struct iovec few[kMaxPieces];
  return original(fd, few, (int)shorten(pieces, (size_t)count, (size_t)limit, few));
}
ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  ORIGINAL(recvmsg);
  const size_t whole = total(message->msg_iov, message->msg_iovlen);
  LIMIT(fd, whole, flags, g_reads);
  if ((size_t)limit == whole) return original(fd, message, flags);
  struct iovec few[kMaxPieces], *const all = message->msg_iov;
  const size_t count = message->msg_iovlen;
  message->msg_iovlen = shorten(all, count, (size_t)limit, few);
  message->msg_iov = few;
  const ssize_t result = original(fd, message, flags);
  message->msg_iov = all;
  message->msg_iovlen = count;
  return result;
}
ssize_t write(int fd, const void *data, size_t size) {
  ORIGINAL(write);
  LIMIT_WRITE(fd, size, 0, data, size);
  return original(fd, data, (size_t)limit);
}
ssize_t send(int fd, const void *data, size_t size, int flags) {
  ORIGINAL(send);
  LIMIT_WRITE(fd, size, flags, data, size);
  return original(fd, data, (size_t)limit, flags);
}
ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t address_size) {
  ORIGINAL(sendto);
  LIMIT_WRITE(fd, size, flags, data, size);
  return original(fd, data, (size_t)limit, flags, address, address_size);
}
ssize_t writev(int fd, const struct iovec *pieces, int count) {
  ORIGINAL(writev);
  const size_t whole = total(pieces, (size_t)count);
  LIMIT_WRITE(fd, whole, 0, whole == 0 ? NULL : pieces[0].iov_base,
              whole == 0 ? 0 : pieces[0].iov_len);
  if ((size_t)limit == whole) return original(fd, pieces, count);
  struct iovec few[kMaxPieces];
  return original(fd, few, (int)shorten(pieces, (size_t)count, (size_t)limit, few));
}
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  ORIGINAL(sendmsg);
  const size_t whole = total(message->msg_iov, message->msg_iovlen);
  LIMIT_WRITE(fd, whole, flags, whole == 0 ? NULL : message->msg_iov[0].iov_base,
              whole == 0 ? 0 : message->msg_iov[0].iov_len);
  if ((size_t)limit == whole) return original(fd, message, flags);
  struct iovec few[kMaxPieces];
  struct msghdr less = *message;
  less.msg_iovlen = shorten(message->msg_iov, message->msg_iovlen, (size_t)limit, few);
  less.msg_iov = few;
  return original(fd, &less, flags);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
  ORIGINAL(sendfile);
  LIMIT(to, size, 0, g_writes);
  return original(to, from, offset, (size_t)limit);
}

/* Fortified callers. */
ssize_t __read_chk(int fd, void *data, size_t size, size_t room) {
  return read(fd, data, size < room ? size : room);
}
ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags) {
  return recv(fd, data, size < room ? size : room, flags);
}
ssize_t __recvfrom_chk(int fd, void *restrict data, size_t size, size_t room, int flags,
                       struct sockaddr *restrict address, socklen_t *restrict address_size) {
  return recvfrom(fd, data, size < room ? size : room, flags, address, address_size);
}
