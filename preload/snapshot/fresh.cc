#include "preload/snapshot/fresh.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "core/text/number.h"
#include "preload/inject/raw.h"
#include "preload/os/open_descriptors.h"
#include "preload/os/proc_text.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {
namespace {

enum class Kind : uint8_t { kLog, kFile, kSocket, kPipe, kEpoll };

struct Item {
  int fd;
  int leader;  // index of the first item of the same open file description
  Kind kind;
  int flags;  // of fcntl F_GETFL
  dev_t device;
  ino_t inode;
  off_t offset;
};

constexpr size_t kMostItems = 1024;
constexpr int kNoLog = -1;

class ProcPath {
 public:
  ProcPath(std::string_view folder, int fd) {
    char digits[20];
    const std::string_view number = number_text(static_cast<uint64_t>(fd), 10, digits);
    std::memcpy(text_, folder.data(), folder.size());
    std::memcpy(text_ + folder.size(), number.data(), number.size());
    text_[folder.size() + number.size()] = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  char text_[48];
};

int close_on_exec(int fd) {
  const int flags = raw::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0;
}

// `made` takes the place of `fd`, and its own number goes.
void put_in_place(int made, int fd) {
  if (made < 0) return;
  raw::dup3(made, fd, close_on_exec(fd));
  raw::close(made);
}

// --- files ------------------------------------------------------------------------------------------

bool copy_contents(int from, int to, off_t size) {
  char buffer[4096];
  for (off_t at = 0; at < size;) {
    const long n = raw::call(SYS_pread64, from, raw::address_of(buffer), sizeof buffer, at);
    if (n == -EINTR) continue;
    if (n <= 0) return n == 0;
    for (long done = 0; done < n;) {
      const long written = raw::call(SYS_pwrite64, to, raw::address_of(buffer + done), n - done,
                                     static_cast<long>(at) + done);
      if (written == -EINTR) continue;
      if (written <= 0) return false;
      done += written;
    }
    at += n;
  }
  return true;
}

// A temporary file without a name (pytest captures output in them): each child gets a copy.
int copy_nameless(const Item& item) {
  struct stat status;
  if (raw::call(SYS_fstat, item.fd, raw::address_of(&status)) != 0) return -1;
  char path[256];
  const long length = raw::read_link_at(AT_FDCWD, ProcPath("/proc/self/fd/", item.fd).c_str(), path,
                                        sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  if (char* slash = std::strrchr(path, '/')) *slash = '\0';
  const int wanted = (item.flags & ~O_ACCMODE & ~O_DIRECTORY) | O_RDWR | O_CLOEXEC;
  long made = raw::call(SYS_openat, AT_FDCWD, raw::address_of(path), wanted | O_TMPFILE, 0600);
  if (made < 0) made = raw::call(SYS_memfd_create, raw::address_of("copy"), 0);
  if (made < 0) return -1;
  const int fd = static_cast<int>(made);
  if (copy_contents(item.fd, fd, status.st_size)) return fd;
  raw::close(fd);
  return -1;
}

int open_again(const Item& item) {
  struct stat status;
  if (raw::call(SYS_fstat, item.fd, raw::address_of(&status)) != 0) return -1;
  const bool writes = (item.flags & O_ACCMODE) != O_RDONLY;
  if (writes && status.st_nlink == 0) return copy_nameless(item);
  constexpr int kKept = O_ACCMODE | O_APPEND | O_NONBLOCK | O_NOATIME | O_PATH;
  return raw::open_at(AT_FDCWD, ProcPath("/proc/self/fd/", item.fd).c_str(),
                      (item.flags & kKept) | O_CLOEXEC);
}

// --- sockets ----------------------------------------------------------------------------------------

struct Option {
  int level, name;
};
constexpr Option kOptions[] = {
    {SOL_SOCKET, SO_REUSEADDR},
    {SOL_SOCKET, SO_REUSEPORT},
    {SOL_SOCKET, SO_KEEPALIVE},
    {SOL_SOCKET, SO_BROADCAST},
    {SOL_SOCKET, SO_OOBINLINE},
    {SOL_SOCKET, SO_LINGER},
    {SOL_SOCKET, SO_RCVTIMEO},
    {SOL_SOCKET, SO_SNDTIMEO},
    {SOL_SOCKET, SO_RCVLOWAT},
    {SOL_SOCKET, SO_PRIORITY},
    {SOL_SOCKET, SO_ZEROCOPY},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
    {IPPROTO_TCP, TCP_NODELAY},
    {IPPROTO_TCP, TCP_CORK},
    {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},
    {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_SYNCNT},
    {IPPROTO_TCP, TCP_QUICKACK},
    {IPPROTO_TCP, TCP_FASTOPEN_CONNECT},
};

int number_option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return raw::get_option(fd, level, name, &value, &size) == 0 ? value : -1;
}

int socket_again(const Item& item) {
  const int fd = item.fd;
  const int family = number_option(fd, SOL_SOCKET, SO_DOMAIN);
  const int protocol = number_option(fd, SOL_SOCKET, SO_PROTOCOL);
  const int made = raw::socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
  if (made < 0) return -1;
  for (const Option& option : kOptions) {
    char value[32];
    char now[32];
    socklen_t size = sizeof value, now_size = sizeof now;
    if (raw::get_option(fd, option.level, option.name, value, &size) != 0 ||
        raw::get_option(made, option.level, option.name, now, &now_size) != 0) {
      continue;
    }
    if (size != now_size || std::memcmp(value, now, size) != 0)
      raw::set_option(made, option.level, option.name, value, size);
  }
  // The kernel doubles what is set (socket(7)), and what it doubles is what it tells.
  for (const int name : {SO_RCVBUF, SO_SNDBUF}) {
    const int value = number_option(fd, SOL_SOCKET, name);
    if (value == number_option(made, SOL_SOCKET, name)) continue;
    const int half = value / 2;
    raw::set_option(made, SOL_SOCKET, name, &half, sizeof half);
  }
  char device[64];
  socklen_t size = sizeof device;
  if (raw::get_option(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &size) == 0 && size > 0)
    raw::set_option(made, SOL_SOCKET, SO_BINDTODEVICE, device, size);
  // Bound to an address without a port; one with a port is an obstacle (obstacles.cc).
  sockaddr_storage address{};
  size = sizeof address;
  if ((family == AF_INET || family == AF_INET6) &&
      raw::local_name(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    const sockaddr_storage none{};
    const size_t skipped = offsetof(sockaddr_in, sin_addr);
    if (std::memcmp(reinterpret_cast<char*>(&address) + skipped,
                    reinterpret_cast<const char*>(&none) + skipped, size - skipped) != 0)
      raw::bind(made, reinterpret_cast<sockaddr*>(&address), size);
  }
  raw::fcntl(made, F_SETFL, item.flags & (O_NONBLOCK | O_ASYNC));
  return made;
}

bool is_idle_stream_socket(int fd) {
  if (number_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM) return false;
  sockaddr_storage address;
  socklen_t size = sizeof address;
  return raw::peer_name(fd, reinterpret_cast<sockaddr*>(&address), &size) == -ENOTCONN;
}

// --- epoll sets -------------------------------------------------------------------------------------

int epoll_again(const Item& item) {
  const int made = static_cast<int>(raw::call(SYS_epoll_create1, EPOLL_CLOEXEC));
  if (made < 0) return -1;
  // "tfd:        5 events:       19 data:  5  pos:0 ino:2a sdev:8" (proc(5))
  any_line(ProcPath("/proc/self/fdinfo/", item.fd).c_str(), [&](std::string_view line) {
    uint64_t fd, events, data;
    if (!number_field(line, "tfd:", 10, &fd) || !number_field(line, "events:", 16, &events) ||
        !number_field(line, "data:", 16, &data))
      return false;
    epoll_event event{};
    event.events = static_cast<uint32_t>(events);
    event.data.u64 = data;
    raw::epoll_change(made, EPOLL_CTL_ADD, static_cast<int>(fd), &event);
    return false;
  });
  return made;
}

// --- all of them ------------------------------------------------------------------------------------

class Descriptors {
 public:
  Descriptors(ino_t log_inode, int log) : log_inode_(log_inode), log_(log) {
    items_ = static_cast<Item*>(raw::map_pages(sizeof(Item) * kMostItems));
  }
  ~Descriptors() {
    if (items_ != nullptr) raw::unmap_pages(items_, sizeof(Item) * kMostItems);
  }
  void replace_log() {
    if (items_ == nullptr) return;
    collect();
    for (size_t i = 0; i < count_; ++i) {
      if (items_[i].kind == Kind::kLog) replace(i);
    }
  }
  void make_fresh() {
    if (items_ == nullptr) return;
    collect();
    for (size_t i = 0; i < count_; ++i) {
      if (items_[i].kind != Kind::kEpoll) replace(i);
    }
    // A set registers the descriptors that are there now, so the sets come last.
    for (size_t i = 0; i < count_; ++i) {
      if (items_[i].kind == Kind::kEpoll) replace(i);
    }
  }

 private:
  void collect() {
    const int directory =
        raw::open_at(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    for_each_open_descriptor(directory, [&](int fd, const char* name) {
      if (fd != log_ && !is_own_descriptor(fd)) add(directory, fd, name);
      return count_ < kMostItems;
    });
    raw::close(directory);
    for (size_t i = 0; i < count_; ++i) {
      for (size_t other = 0; other < i && items_[i].leader == static_cast<int>(i); ++other)
        if (same_description(items_[other], items_[i])) items_[i].leader = items_[other].leader;
    }
  }

  void add(int directory, int fd, const char* name) {
    struct stat status;
    if (raw::call(SYS_fstat, fd, raw::address_of(&status)) != 0) return;
    Kind kind;
    if (S_ISREG(status.st_mode)) {
      kind = status.st_ino == log_inode_ ? Kind::kLog : Kind::kFile;
    } else if (S_ISFIFO(status.st_mode)) {
      kind = Kind::kPipe;
    } else if (S_ISSOCK(status.st_mode)) {
      if (!is_idle_stream_socket(fd)) return;
      kind = Kind::kSocket;
    } else {
      char target[64];
      const long size = raw::read_link_at(directory, name, target, sizeof target);
      if (size <= 0 ||
          std::string_view(target, static_cast<size_t>(size)) != "anon_inode:[eventpoll]")
        return;
      kind = Kind::kEpoll;
    }
    items_[count_] = {fd,
                      static_cast<int>(count_),
                      kind,
                      raw::fcntl(fd, F_GETFL),
                      status.st_dev,
                      status.st_ino,
                      raw::call(SYS_lseek, fd, 0, SEEK_CUR)};
    ++count_;
  }

  // kcmp(2) may be forbidden (containers): then what looks the same is the same.
  bool same_description(const Item& a, const Item& b) const {
    if (a.kind != b.kind || a.device != b.device || a.inode != b.inode || a.flags != b.flags)
      return false;
    const long pid = raw::call(SYS_getpid);
    const long order = raw::call(SYS_kcmp, pid, pid, KCMP_FILE, a.fd, b.fd);
    if (order >= 0) return order == 0;
    return a.kind != Kind::kEpoll && a.offset == b.offset;
  }

  void replace(size_t number) {
    const Item& item = items_[number];
    if (item.leader != static_cast<int>(number)) {
      raw::dup3(items_[item.leader].fd, item.fd, close_on_exec(item.fd));
      return;
    }
    switch (item.kind) {
      case Kind::kLog:
        if (log_ != kNoLog) raw::dup3(log_, item.fd, close_on_exec(item.fd));
        break;
      case Kind::kFile: {
        const int made = open_again(item);
        if (made >= 0) raw::call(SYS_lseek, made, item.offset, SEEK_SET);
        put_in_place(made, item.fd);
        break;
      }
      case Kind::kSocket:
        put_in_place(socket_again(item), item.fd);
        break;
      case Kind::kEpoll:
        put_in_place(epoll_again(item), item.fd);
        break;
      case Kind::kPipe:
        replace_pipe(item);
        break;
    }
  }

  // A pipe of the process to itself. What is still in it stays shared, which nobody uses.
  void replace_pipe(const Item& item) {
    const Item *reads = nullptr, *writes = nullptr;
    for (size_t i = 0; i < count_; ++i) {
      const Item& other = items_[i];
      if (other.kind != Kind::kPipe || other.inode != item.inode || other.device != item.device ||
          other.leader != static_cast<int>(i))
        continue;
      ((other.flags & O_ACCMODE) == O_RDONLY ? reads : writes) = &other;
    }
    // The first of the two replaces both.
    if (reads == nullptr || writes == nullptr || &item != (reads < writes ? reads : writes)) return;
    int ends[2];
    if (raw::call(SYS_pipe2, raw::address_of(ends), O_CLOEXEC) != 0) return;
    raw::fcntl(ends[0], F_SETFL, reads->flags & O_NONBLOCK);
    raw::fcntl(ends[1], F_SETFL, writes->flags & O_NONBLOCK);
    put_in_place(ends[0], reads->fd);
    put_in_place(ends[1], writes->fd);
  }

  ino_t log_inode_;
  int log_;
  Item* items_;
  size_t count_ = 0;
};

}  // namespace

void make_descriptors_fresh_but_log(ino_t log_inode) {
  Descriptors(log_inode, kNoLog).make_fresh();
}

void make_descriptors_fresh(ino_t log_inode, int log) {
  Descriptors(log_inode, log).make_fresh();
  raw::close(log);
}

void replace_log(ino_t log_inode, int log) {
  Descriptors(log_inode, log).replace_log();
  raw::close(log);
}

bool Timers::read() {
  count_ = 0;
  for (int which = 0; which < 3; ++which)
    raw::call(SYS_getitimer, which, raw::address_of(&intervals_[which]));
  // "ID: 0\nsignal: 26/00007f6ae87b1200\nnotify: signal/pid.12\nClockID: 1" (proc(5))
  bool known = true;
  any_line("/proc/self/timers", [&](std::string_view line) {
    uint64_t value = 0;
    if (number_field(line, "ID: ", 10, &value) && line.starts_with("ID:")) {
      known = known && count_ < kMost && value == static_cast<uint64_t>(count_);
      if (count_ < kMost) list_[count_] = {};
      ++count_;
    } else if (count_ == 0 || count_ > kMost) {
      return false;
    }
    One& one = list_[count_ - 1];
    if (line.starts_with("signal:")) {
      if (number_field(line, "signal:", 10, &value))
        one.event.sigev_signo = static_cast<int>(value);
      if (number_field(line, "/", 16, &value))
        one.event.sigev_value.sival_ptr = reinterpret_cast<void*>(value);
    } else if (line.starts_with("notify:")) {
      one.event.sigev_notify =
          line.find("none/") != std::string_view::npos ? SIGEV_NONE : SIGEV_SIGNAL;
      known = known && line.find("thread/") == std::string_view::npos &&
              line.find("tid.") == std::string_view::npos;
    } else if (line.starts_with("ClockID:")) {
      if (number_field(line, "ClockID:", 10, &value)) one.clock = static_cast<int>(value);
    }
    return false;
  });
  if (count_ > kMost) return false;
  for (int i = 0; i < count_; ++i) {
    list_[i].id = i;
    raw::call(SYS_timer_gettime, i, raw::address_of(&list_[i].time));
  }
  return known;
}

void Timers::make_again() const {
  for (int which = 0; which < 3; ++which) {
    if (intervals_[which].it_value.tv_sec != 0 || intervals_[which].it_value.tv_usec != 0)
      raw::call(SYS_setitimer, which, raw::address_of(&intervals_[which]), 0);
  }
  for (int i = 0; i < count_; ++i) {
    sigevent event = list_[i].event;
    int id = -1;
    // The numbers of a process's timers begin at 0 again in its child.
    if (raw::call(SYS_timer_create, list_[i].clock, raw::address_of(&event),
                  raw::address_of(&id)) != 0)
      continue;
    if (list_[i].time.it_value.tv_sec != 0 || list_[i].time.it_value.tv_nsec != 0)
      raw::call(SYS_timer_settime, id, 0, raw::address_of(&list_[i].time), 0);
  }
}

}  // namespace filibuster::preload
