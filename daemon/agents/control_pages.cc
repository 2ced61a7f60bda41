#include "daemon/agents/control_pages.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "core/protocol/control_segment.h"

namespace filibuster {
namespace {

// Opens a directory that only this user can enter. It is made if it is missing, and made private if
// it belongs to this user.
Result<UniqueFd> private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error("mkdir " + path);
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) return system_error("open directory " + path);
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return system_error("fstat " + path);
  if (status.st_uid != ::geteuid()) {
    return Error{path + " belongs to another user (uid " + std::to_string(status.st_uid) +
                 "); remove it or choose another directory"};
  }
  if ((status.st_mode & 077) != 0 && ::fchmod(directory.get(), 0700) != 0) {
    return system_error("chmod 0700 " + path);
  }
  return directory;
}

Result<void> open_page(const UniqueFd& directory, const std::string& path, ControlPageName name,
                       AttachedPage* out) {
  out->reset(ControlSegment(SystemCall(), directory.get(), name, /*writable=*/true).open());
  if (out->get() != nullptr) return {};
  return Error{"cannot make the control page of " + path +
               ": the system's limits of shared memory segments (ipcs -m -l) are reached, or " +
               path + "/" + name.c_str() + " is in its way; remove it"};
}

// Does the link name a segment that is there, or one of another IPC namespace?
bool is_page_in_use(int directory, const char* name) {
  char text[64];
  const ssize_t size = ::readlinkat(directory, name, text, sizeof text - 1);
  if (size <= 0) return true;  // not ours to judge
  text[size] = '\0';
  int id = -1;
  unsigned long long space = 0;
  struct stat ipc {};
  if (std::sscanf(text, "shm:%d:%llu", &id, &space) != 2 ||
      ::stat("/proc/self/ns/ipc", &ipc) != 0 || ipc.st_ino != space)
    return true;
  shmid_ds about{};
  return ::shmctl(id, IPC_STAT, &about) == 0 && about.shm_segsz == kControlPageSize;
}

Result<UniqueFd> lock_file(const UniqueFd& directory, const std::string& path,
                           const std::string& name) {
  UniqueFd file(
      ::openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return system_error("open " + path + "/" + name);
  ::futimens(file.get(), nullptr);  // it is in use (remove_old_pages)
  return file;
}

// The names of pages whose last process has ended stay in the user's directory. Each session removes those
// that nobody has used for an hour, with their files of locks.
void remove_old_pages(const UniqueFd& directory, const std::string& path) {
  constexpr time_t kAge = 3600;
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return;
  const auto is_old = [&](const std::string& name) {
    struct stat status {};
    return ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_mtime < ::time(nullptr) - kAge;
  };
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
    if (!entry.is_symlink(failed)) continue;
    std::string name = entry.path().filename();
    if (is_old(name)) names.push_back(std::move(name));
  }
  for (const std::string& name : names) {
    if (is_page_in_use(directory.get(), name.c_str())) continue;
    const std::string lock = name + ".lock";
    if (::faccessat(directory.get(), lock.c_str(), F_OK, 0) == 0) {
      if (!is_old(lock)) continue;
      ::unlinkat(directory.get(), lock.c_str(), 0);
    }
    ::unlinkat(directory.get(), name.c_str(), 0);
  }
  ::flock(directory.get(), LOCK_UN);
}

// A session locks the byte of its slot as long as it lives. Whoever changes the page locks, for that
// long, the byte after those of all slots. A lock ends with its process, however that ends.
struct flock byte_lock(int byte, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(int fd, int byte, int operation) {
  struct flock lock = byte_lock(byte, F_WRLCK);
  int result = 0;
  do {
    result = ::fcntl(fd, operation, &lock);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void unlock_byte(int fd, int byte) {
  struct flock lock = byte_lock(byte, F_UNLCK);
  ::fcntl(fd, F_OFD_SETLK, &lock);
}

// Has another session locked the byte? A session that was killed still has its slot, but no lock.
bool is_locked(int fd, int byte) {
  struct flock lock = byte_lock(byte, F_WRLCK);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// The lock under which a page is changed. A page of one session alone has no descriptor, and no lock.
class PageLock {
 public:
  explicit PageLock(const UniqueFd& locks) : fd_(locks.get()) {
    if (fd_ >= 0) lock_byte(fd_, ControlPage::kSlots, F_OFD_SETLKW);
  }
  ~PageLock() {
    if (fd_ >= 0) unlock_byte(fd_, ControlPage::kSlots);
  }
  PageLock(const PageLock&) = delete;

 private:
  int fd_;
};

bool is_announced(const SessionSlot& slot) {
  const uint64_t generation = slot.generation.load(std::memory_order_acquire);
  return generation != 0 && generation != kSessionEnded;
}

template <size_t kSize>
void set_text(char (&to)[kSize], const std::string& text) {
  std::memset(to, 0, kSize);
  std::memcpy(to, text.data(), std::min(text.size(), kSize - 1));
}

// Changes the generation of the page. Unregistered agents watch only that, and look at the slots when
// it changes.
void change_head(ControlPage* page) {
  const bool any = std::any_of(std::begin(page->slots), std::end(page->slots), is_announced);
  const uint64_t before = page->generation.load(std::memory_order_relaxed);
  const uint64_t next = std::max(clock_ns(CLOCK_BOOTTIME), before + 1);
  page->generation.store(any ? next : 0, std::memory_order_release);
}

}  // namespace

std::string to_text(const std::vector<OtherSession>& others) {
  std::string out;
  for (const OtherSession& other : others) {
    out += (out.empty() ? "pid " : "; pid ") + std::to_string(other.daemon_pid) + ", application " +
           other.application;
  }
  return out;
}

void AttachedPage::reset(ControlPage* page) {
  if (page_ != nullptr) ::shmdt(page_);
  page_ = page;
}

Result<void> ControlPages::open_shared(const std::string& directory, ControlPageName name,
                                       Page* page) {
  Result<UniqueFd> opened = private_directory(directory);
  if (!opened) return opened.error();
  remove_old_pages(opened.value(), directory);
  Result<UniqueFd> locks =
      lock_file(opened.value(), directory, std::string(name.c_str()) + ".lock");
  if (!locks) return locks.error();
  page->locks = std::move(locks).value();
  return open_page(opened.value(), directory, name, &page->memory);
}

Result<void> ControlPages::open(const Place& place, std::string* note) {
  application_ = place.application;
  std::error_code ignored;  // private_directory says what is wrong
  std::filesystem::create_directories(std::filesystem::path(place.directory).parent_path(),
                                      ignored);
  Result<UniqueFd> own = private_directory(place.directory);
  if (!own) return own.error();
  // A file is locked and not the directory: agents lock the directory to make a page.
  Result<UniqueFd> lock = lock_file(own.value(), place.directory, "lock");
  if (!lock) return lock.error();
  lock_ = std::move(lock).value();
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{"another daemon uses " + place.directory +
                 "; stop it or choose another directory"};
  }
  Page& page = pages_.emplace_back();
  if (auto opened = open_page(own.value(), place.directory, ControlPageName({}), &page.memory);
      !opened) {
    return opened;
  }

  if (place.application.empty()) return {};
  if (const auto shared = open_shared(place.user_directory, ControlPageName(place.application),
                                      &pages_.emplace_back());
      !shared) {
    *note = "programs without FILIBUSTER_DAEMON cannot join: " + shared.error().message;
    pages_.pop_back();
  }
  return {};
}

bool ControlPages::announce(Page* page, const std::string& socket_path, const Door& door) {
  ControlPage* memory = page->memory.get();
  const int locks = page->locks.get();
  const PageLock lock(page->locks);
  for (int i = 0; i < static_cast<int>(ControlPage::kSlots); ++i) {
    SessionSlot& slot = memory->slots[i];
    if (locks >= 0 && !lock_byte(locks, i, F_OFD_SETLK)) continue;
    // The slot is announced and was not locked: its daemon was killed.
    if (is_announced(slot)) slot.generation.store(kSessionEnded, std::memory_order_release);
    if (page->slot < 0) {
      page->slot = i;
    } else if (locks >= 0) {
      unlock_byte(locks, i);
    }
  }
  if (page->slot < 0) return false;
  SessionSlot& slot = memory->slots[page->slot];
  // An agent that reads the slot meanwhile sees an ended session rather than a mixture of two.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  slot.daemon_pid = static_cast<uint32_t>(::getpid());
  set_text(slot.socket_path, socket_path);
  slot.door = door.number();
  std::copy(door.token().begin(), door.token().end(), slot.token);
  set_text(slot.application, application_);
  memory->magic = kControlMagic;
  memory->major = kProtocolMajor;
  memory->minor = kProtocolMinor;
  memory->daemon_pid = slot.daemon_pid;
  set_text(memory->socket_path, socket_path);
  slot.generation.store(generation_, std::memory_order_release);
  change_head(memory);
  return true;
}

void ControlPages::withdraw(Page* page) {
  if (page->slot < 0) return;
  const PageLock lock(page->locks);
  page->memory.get()->slots[page->slot].generation.store(kSessionEnded, std::memory_order_release);
  if (page->locks.valid()) unlock_byte(page->locks.get(), page->slot);
  page->slot = -1;
  change_head(page->memory.get());
}

uint64_t ControlPages::publish(const std::string& socket_path, const Door& door,
                               std::string* note) {
  // The clock only grows within a boot, so that no generation is used twice.
  generation_ = std::max<uint64_t>(clock_ns(CLOCK_BOOTTIME), kSessionEnded + 1);
  for (Page& page : pages_) {
    if (announce(&page, socket_path, door)) continue;
    *note =
        "programs without FILIBUSTER_DAEMON cannot join: " + std::to_string(ControlPage::kSlots) +
        " sessions run already that they could follow";
  }
  return generation_;
}

void ControlPages::retract() {
  for (Page& page : pages_) withdraw(&page);
  generation_ = 0;
}

void ControlPages::show_time(int64_t now_us) {
  if (pages_.empty()) return;
  // As libc tells it: a library that changes this daemon's clock is in the processes that it starts, too.
  const auto here = std::chrono::system_clock::now().time_since_epoch();
  const auto here_us = std::chrono::duration_cast<std::chrono::microseconds>(here).count();
  pages_.front().memory.get()->shown_offset_ns.store((now_us - here_us) * 1000,
                                                     std::memory_order_relaxed);
}

std::vector<OtherSession> ControlPages::others() const {
  std::vector<OtherSession> out;
  for (const Page& page : pages_) {
    for (int i = 0; i < static_cast<int>(ControlPage::kSlots); ++i) {
      const SessionSlot& slot = page.memory.get()->slots[i];
      if (i == page.slot || !is_announced(slot) || !is_locked(page.locks.get(), i)) continue;
      OtherSession other{slot.daemon_pid,
                         {slot.application, ::strnlen(slot.application, sizeof slot.application)}};
      if (std::find(out.begin(), out.end(), other) == out.end()) out.push_back(std::move(other));
    }
  }
  return out;
}

}  // namespace filibuster
