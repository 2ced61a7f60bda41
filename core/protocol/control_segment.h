// How the memory of a control page is found by its name, for agents and daemons alike.
//
// The memory is a System V segment. A file of /dev/shm would need room there when it is made, would
// be bound by RLIMIT_FSIZE, and whoever cut it short later would kill by SIGBUS each process that
// has it mapped. A segment has its memory accounted when it is made, and nobody can shrink it. It is
// marked for removal as soon as it is made: it goes with the last process that has it attached.
//
// The name is a symbolic link DIRECTORY/NAME -> "shm:ID:NAMESPACE": read and replaced in one step, and
// without a block of the file system. It is stale once the segment is gone; whoever finds it so makes
// a new one, under a lock of the directory. A segment can be attached in its own IPC namespace only; an
// agent in another namespace leaves the link to the processes that can use it.
//
// `call` is a system call of raw convention: call(number, arguments...) is the result or -errno.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <charconv>
#include <cstddef>
#include <string_view>

#include "core/protocol/control_page.h"

namespace filibuster {

template <typename Call>
class ControlSegment {
 public:
  // `directory` is open, and the segment belongs to its owner. `writable`: for daemons, which announce
  // sessions; agents only read.
  ControlSegment(Call call, int directory, ControlPageName name, bool writable)
      : call_(call), directory_(directory), name_(name), writable_(writable) {}

  // Attaches the page, which is made if it is missing. nullptr: it can be neither attached nor made. It
  // is made only in a directory of our own, in which nobody else changes names.
  ControlPage* open() {
    struct stat status;
    if (call_(SYS_fstat, directory_, &status) != 0) return nullptr;
    owner_ = status.st_uid;
    if (ControlPage* page = linked()) return page;
    if ((status.st_mode & 077) != 0 || call_(SYS_geteuid) != static_cast<long>(owner_)) {
      return nullptr;
    }
    // The page is in another IPC namespace, with the daemon and its other agents: it is not replaced.
    if (foreign_ && !writable_) return nullptr;
    for (int turn = 0; turn < kTurns; ++turn) {
      if (call_(SYS_flock, directory_, LOCK_EX | LOCK_NB) == 0) {
        ControlPage* page = linked();  // another process was first
        if (page == nullptr) page = make();
        call_(SYS_flock, directory_, LOCK_UN);
        return page;
      }
      const timespec nap{0, kNapNs};
      call_(SYS_nanosleep, &nap, nullptr);
      if (ControlPage* page = linked()) return page;
    }
    return nullptr;
  }

  // The user to whom the page that open() gave belongs.
  uid_t owner() const { return owner_; }

 private:
  static constexpr std::string_view kScheme = "shm:";
  static constexpr char kNewName[] = "control.new";  // for every page, since the lock is held
  // Who holds the lock needs microseconds, but may have lost its processor.
  static constexpr int kTurns = 1000;
  static constexpr long kNapNs = 1'000'000;

  static bool failed(long result) { return result < 0 && result > -4096; }

  ControlPage* linked() {
    char text[48];
    const long size = call_(SYS_readlinkat, directory_, name_.c_str(), text, sizeof text);
    if (size <= 0 || size >= static_cast<long>(sizeof text)) return nullptr;
    const std::string_view target(text, static_cast<size_t>(size));
    if (!target.starts_with(kScheme)) return nullptr;
    int id = -1;
    uint64_t space = 0;
    const char* end = target.data() + target.size();
    auto parsed = std::from_chars(target.data() + kScheme.size(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':') return nullptr;
    parsed = std::from_chars(parsed.ptr + 1, end, space);
    if (parsed.ec != std::errc() || parsed.ptr != end) return nullptr;
    foreign_ = space != ipc_namespace();
    return foreign_ ? nullptr : attach(id);
  }

  // The number of this process's IPC namespace, since numbers of segments are valid only within one. 0:
  // there is no /proc.
  uint64_t ipc_namespace() {
    constexpr std::string_view kBegin = "ipc:[";
    char text[48];
    const long size = call_(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/ipc", text, sizeof text);
    if (size <= 0) return 0;
    const std::string_view name(text, static_cast<size_t>(size));
    uint64_t space = 0;
    if (name.starts_with(kBegin))
      std::from_chars(name.data() + kBegin.size(), name.data() + name.size(), space);
    return space;
  }

  // Everything about the segment is checked, since the page decides where our traffic is reported, and
  // the number of a segment that is gone may be given to another one.
  ControlPage* attach(int id) {
    shmid_ds about{};
    if (call_(SYS_shmctl, id, IPC_STAT, &about) != 0 || about.shm_perm.cuid != owner_ ||
        about.shm_perm.uid != owner_ || (about.shm_perm.mode & 0777) != 0600 ||
        about.shm_segsz != kControlPageSize) {
      return nullptr;
    }
    const long at = call_(SYS_shmat, id, nullptr, writable_ ? 0 : SHM_RDONLY);
    if (failed(at)) return nullptr;
    auto* page = reinterpret_cast<ControlPage*>(at);
    if (page->magic == kControlMagic) return page;
    call_(SYS_shmdt, page);
    return nullptr;
  }

  ControlPage* make() {
    const long id = call_(SYS_shmget, IPC_PRIVATE, kControlPageSize, 0600);
    if (failed(id)) return nullptr;
    const long at = call_(SYS_shmat, id, nullptr, 0);
    call_(SYS_shmctl, id, IPC_RMID, nullptr);
    if (failed(at)) return nullptr;
    auto* page = reinterpret_cast<ControlPage*>(at);
    page->magic = kControlMagic;
    char text[48];
    kScheme.copy(text, kScheme.size());
    char* end = std::to_chars(text + kScheme.size(), text + sizeof text - 1, id).ptr;
    *end++ = ':';
    end = std::to_chars(end, text + sizeof text - 1, ipc_namespace()).ptr;
    *end = '\0';
    call_(SYS_unlinkat, directory_, kNewName, 0);
    if (call_(SYS_symlinkat, text, directory_, kNewName) == 0 &&
        call_(SYS_renameat2, directory_, kNewName, directory_, name_.c_str(), 0) == 0 &&
        (writable_ || call_(SYS_mprotect, page, kControlPageSize, PROT_READ) == 0)) {
      return page;
    }
    call_(SYS_shmdt, page);
    return nullptr;
  }

  Call call_;
  int directory_;
  ControlPageName name_;
  bool writable_;
  uid_t owner_ = 0;
  bool foreign_ = false;  // the page is of another IPC namespace
};

}  // namespace filibuster
