// The raw system calls of the injection by name (preload/os/raw_syscall.h says why raw).
// Every function returns what the kernel returned: a value >= 0, or -errno.
#pragma once

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "preload/os/raw_syscall.h"

namespace filibuster::preload::raw {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
  return raw_syscall6(number, a, b, c, d, e, f);
}

inline long address_of(const void* p) {
  return reinterpret_cast<long>(p);
}

inline int close(int fd) {
  return static_cast<int>(call(SYS_close, fd));
}
inline int dup3(int from, int to, int flags) {
  return static_cast<int>(call(SYS_dup3, from, to, flags));
}
inline int fcntl(int fd, int command, long argument = 0) {
  return static_cast<int>(call(SYS_fcntl, fd, command, argument));
}
inline int open_at(int directory, const char* path, int flags) {
  return static_cast<int>(call(SYS_openat, directory, address_of(path), flags, 0));
}
inline long read(int fd, void* data, size_t size) {
  return call(SYS_read, fd, address_of(data), static_cast<long>(size));
}
inline long read_link_at(int directory, const char* path, char* out, size_t size) {
  return call(SYS_readlinkat, directory, address_of(path), address_of(out),
              static_cast<long>(size));
}
inline int socket(int family, int type, int protocol = 0) {
  return static_cast<int>(call(SYS_socket, family, type, protocol));
}
inline int socket_pair(int family, int type, int out[2]) {
  return static_cast<int>(call(SYS_socketpair, family, type, 0, address_of(out)));
}
inline int bind(int fd, const sockaddr* address, socklen_t size) {
  return static_cast<int>(call(SYS_bind, fd, address_of(address), size));
}
inline int listen(int fd, int backlog) {
  return static_cast<int>(call(SYS_listen, fd, backlog));
}
inline int connect(int fd, const sockaddr* address, socklen_t size) {
  return static_cast<int>(call(SYS_connect, fd, address_of(address), size));
}
inline int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(call(SYS_accept4, fd, address_of(address), address_of(size), flags));
}
inline int local_name(int fd, sockaddr* address, socklen_t* size) {
  return static_cast<int>(call(SYS_getsockname, fd, address_of(address), address_of(size)));
}
inline int peer_name(int fd, sockaddr* address, socklen_t* size) {
  return static_cast<int>(call(SYS_getpeername, fd, address_of(address), address_of(size)));
}
inline int get_option(int fd, int level, int name, void* value, socklen_t* size) {
  return static_cast<int>(
      call(SYS_getsockopt, fd, level, name, address_of(value), address_of(size)));
}
inline int set_option(int fd, int level, int name, const void* value, socklen_t size) {
  return static_cast<int>(call(SYS_setsockopt, fd, level, name, address_of(value), size));
}
inline int shutdown(int fd, int how) {
  return static_cast<int>(call(SYS_shutdown, fd, how));
}
inline long send(int fd, const void* data, size_t size, int flags) {
  return call(SYS_sendto, fd, address_of(data), static_cast<long>(size), flags, 0, 0);
}
inline long receive(int fd, void* data, size_t size, int flags) {
  return call(SYS_recvfrom, fd, address_of(data), static_cast<long>(size), flags, 0, 0);
}
inline int epoll_change(int set, int operation, int fd, const epoll_event* event) {
  return static_cast<int>(call(SYS_epoll_ctl, set, operation, fd, address_of(event)));
}
// nullptr if there is no memory.
inline void* map_pages(size_t size) {
  const long p = call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p < 0 && p > -4096 ? nullptr : reinterpret_cast<void*>(p);
}
inline void unmap_pages(void* p, size_t size) {
  call(SYS_munmap, address_of(p), static_cast<long>(size));
}

}  // namespace filibuster::preload::raw
