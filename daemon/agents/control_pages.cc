#include "daemon/agents/control_pages.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace filibuster {
namespace {

constexpr off_t kPageSize = 4096;

// A directory that only this user can enter: made if missing, made private if it is ours.
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

Result<UniqueFd> page_file(const std::string& directory_path) {
  Result<UniqueFd> directory = private_directory(directory_path);
  if (!directory) return directory.error();
  const std::string path = directory_path + "/control";
  UniqueFd file(::openat(directory->get(), "control", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                         0600));
  if (!file.valid()) return system_error("open " + path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("fstat " + path);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    return Error{path + " is not a regular file of this user; remove it"};
  }
  if ((status.st_mode & 077) != 0 && ::fchmod(file.get(), 0600) != 0) {
    return system_error("chmod 0600 " + path);
  }
  // Never truncated to less: agents have it mapped.
  if (status.st_size < kPageSize && ::ftruncate(file.get(), kPageSize) != 0) {
    return system_error("ftruncate " + path);
  }
  return file;
}

void announce(ControlPage* page, const std::string& socket_path, uint64_t generation) {
  // An agent that reads in between sees no session rather than a mixture of two.
  page->generation.store(0, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  page->magic = kControlMagic;
  page->major = kProtocolMajor;
  page->minor = kProtocolMinor;
  page->daemon_pid = static_cast<uint32_t>(::getpid());
  std::memset(page->socket_path, 0, sizeof page->socket_path);
  std::memcpy(page->socket_path, socket_path.data(),
              std::min(socket_path.size(), sizeof page->socket_path - 1));
  page->generation.store(generation, std::memory_order_release);
}

void clear_if_ours(ControlPage* page, uint64_t generation) {
  if (page == nullptr || generation == 0) return;
  uint64_t expected = generation;
  page->generation.compare_exchange_strong(expected, 0, std::memory_order_acq_rel);
}

}  // namespace

Result<void> ControlPages::open(const std::string& directory, const std::string& user_directory,
                                std::string* note) {
  std::error_code ignored;  // private_directory says what is wrong
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), ignored);
  Result<UniqueFd> own = page_file(directory);
  if (!own) return own.error();
  own_file_ = std::move(own).value();
  if (::flock(own_file_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{"another daemon uses " + directory + "; stop it or choose another directory"};
  }
  if (!own_.map(own_file_.get())) return system_error("mmap " + directory + "/control");

  Result<UniqueFd> user = page_file(user_directory);
  if (!user) {
    *note = "programs without FILIBUSTER_DAEMON cannot join: " + user.error().message;
  } else if (!user_.map(user->get())) {
    *note = "programs without FILIBUSTER_DAEMON cannot join: mmap of the user's control page failed";
  }
  return {};
}

uint64_t ControlPages::publish(const std::string& socket_path) {
  // Grows within a boot, so that no generation is ever used twice.
  generation_ = std::max<uint64_t>(clock_ns(CLOCK_BOOTTIME), 1);
  announce(own_.get(), socket_path, generation_);
  if (user_.get() != nullptr) announce(user_.get(), socket_path, generation_);
  return generation_;
}

void ControlPages::retract() {
  clear_if_ours(own_.get(), generation_);
  clear_if_ours(user_.get(), generation_);
  generation_ = 0;
}

}  // namespace filibuster
