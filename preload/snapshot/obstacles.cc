#include "preload/snapshot/obstacles.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/text/number.h"
#include "preload/inject/raw.h"
#include "preload/os/address.h"
#include "preload/os/open_descriptors.h"
#include "preload/os/proc_text.h"
#include "preload/rpc/agent.h"

namespace filibuster::preload {
namespace {

class Sentence {
 public:
  Sentence(Obstacle* out, NotForked kind) : out_(out) {
    out_->text[0] = '\0';
    out_->kind = kind;
  }
  Sentence& operator<<(std::string_view part) {
    const size_t room = sizeof out_->text - 1 - size_;
    const size_t size = part.size() < room ? part.size() : room;
    std::memcpy(out_->text + size_, part.data(), size);
    size_ += size;
    out_->text[size_] = '\0';
    return *this;
  }
  Sentence& operator<<(uint64_t number) {
    char digits[20];
    return *this << number_text(number, 10, digits);
  }

 private:
  Obstacle* out_;
  size_t size_ = 0;
};

// /proc(5): the link count of /proc/PID/task is two more than there are threads.
bool has_threads(Obstacle* out) {
  struct stat status;
  if (raw::call(SYS_newfstatat, AT_FDCWD, raw::address_of("/proc/self/task"),
                raw::address_of(&status)) != 0) {
    Sentence(out, NotForked::kUnknown) << "its threads cannot be counted without /proc";
    return true;
  }
  if (status.st_nlink <= 3) return false;
  Sentence(out, NotForked::kThreads) << "it has " << status.st_nlink - 2 << " threads";
  return true;
}

bool has_children(Obstacle* out) {
  siginfo_t info{};
  const long result =
      raw::call(SYS_waitid, P_ALL, 0, raw::address_of(&info), WEXITED | WNOHANG | WNOWAIT | __WALL);
  if (result == -ECHILD) return false;
  Sentence(out, NotForked::kChildren) << "it has started other processes";
  out->exclusive = true;
  return true;
}

// What two forked processes write into such memory, each of them reads.
bool shares_memory(Obstacle* out) {
  return any_line("/proc/self/maps", [out](std::string_view line) {
    // "7f00-7f01 rw-s 00000000 00:01 1050   /memfd:filibuster (deleted)"
    const size_t rights = line.find(' ');
    if (rights == std::string_view::npos || line.size() < rights + 5 || line[rights + 2] != 'w' ||
        line[rights + 4] != 's' || line.find("/memfd:filibuster") != std::string_view::npos) {
      return false;
    }
    const size_t path = line.find('/');
    Sentence(out, NotForked::kSharedMemory)
        << "it shares memory ("
        << (path == std::string_view::npos ? "without a name" : line.substr(path)) << ")";
    return true;
  });
}

bool socket_is_in_the_way(int fd, Obstacle* out) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (raw::get_option(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return false;
  size = sizeof listens;
  raw::get_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size);
  sockaddr_storage address{};
  const auto* name = reinterpret_cast<sockaddr*>(&address);
  char text[160];
  const auto named = [&] {
    const size_t length = write_address(name, size, text, sizeof text);
    return std::string_view(text, length < sizeof text ? length : sizeof text);
  };
  size = sizeof address;
  const bool is_bound = raw::local_name(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                        canonical_address(name, size).port != 0;
  if (listens != 0) {
    Sentence(out, NotForked::kListening) << "it listens on " << named();
    out->exclusive = true;
    return true;
  }
  if (is_bound) Sentence(out, NotForked::kConnected) << "it has a socket bound to " << named();
  size = sizeof address;
  if (raw::peer_name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    out->exclusive = is_bound;
    return is_bound;
  }
  // An unnamed pair is a way of the process to wake itself.
  if (address.ss_family == AF_UNIX && size <= offsetof(sockaddr_un, sun_path)) return false;
  Sentence(out, NotForked::kConnected) << "it is connected to " << named();
  return true;
}

bool file_is_in_the_way(int fd, const struct stat& status, std::string_view path, ino_t log,
                        Obstacle* out) {
  const int flags = raw::fcntl(fd, F_GETFL);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (!writes || status.st_ino == log) return false;
  if (status.st_nlink > 0) {
    Sentence(out, NotForked::kFile) << "it has " << path << " open for writing";
    out->exclusive = true;
    return true;
  }
  if (!path.starts_with("/memfd:")) return false;
  Sentence(out, NotForked::kSharedMemory) << "it has a " << path << " open";
  return true;
}

bool holds_lock(const char* fd_name, std::string_view path, Obstacle* out) {
  char info[48] = "/proc/self/fdinfo/";
  std::strncat(info, fd_name, sizeof info - std::strlen(info) - 1);
  return any_line(info, [&](std::string_view line) {
    if (!line.starts_with("lock:")) return false;
    Sentence(out, NotForked::kLock) << "it holds a lock on " << path;
    out->exclusive = true;
    return true;
  });
}

bool descriptor_is_in_the_way(int directory, int fd, const char* name, ino_t log, Obstacle* out) {
  if (is_own_descriptor(fd)) return false;
  struct stat status;
  if (raw::call(SYS_fstat, fd, raw::address_of(&status)) != 0) return false;
  if (S_ISSOCK(status.st_mode)) return socket_is_in_the_way(fd, out);
  char target[200];
  const long size = raw::read_link_at(directory, name, target, sizeof target);
  const std::string_view path(target, size > 0 ? static_cast<size_t>(size) : 0);
  if (S_ISREG(status.st_mode)) {
    return file_is_in_the_way(fd, status, path, log, out) || holds_lock(name, path, out);
  }
  if (path != "anon_inode:[timerfd]" && path != "anon_inode:[io_uring]") return false;
  Sentence(out, NotForked::kTimer)
      << "it has " << path.substr(sizeof("anon_inode:") - 1) << " open";
  return true;
}

}  // namespace

void find_obstacle(ino_t log, Obstacle* out) {
  const int directory = raw::open_at(AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    Sentence(out, NotForked::kUnknown) << "its descriptors cannot be listed without /proc";
    return;
  }
  // What is exclusive comes first, since it decides more.
  Obstacle found;
  for_each_open_descriptor(directory, [&](int fd, const char* name) {
    Obstacle here;
    if (!descriptor_is_in_the_way(directory, fd, name, log, &here)) return true;
    if (!found.any() || here.exclusive) found = here;
    return !found.exclusive;
  });
  raw::close(directory);
  if (!found.exclusive) {
    Obstacle children;
    if (has_children(&children)) found = children;
  }
  if (!found.any() && !has_threads(&found)) shares_memory(&found);
  *out = found;
}

}  // namespace filibuster::preload
