// Owned descriptors, shared mappings and clocks of the daemon.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <type_traits>
#include <utility>

#include "core/result.h"

namespace filibuster {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// One T in memory shared with other processes; unmapped at destruction.
template <typename T>
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  SharedMapping& operator=(SharedMapping&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~SharedMapping() {
    if (memory_ != nullptr) ::munmap(memory_, sizeof(T));
  }

  // False: mmap failed, errno is set.
  bool map(int fd) {
    void* address = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) return false;
    memory_ = static_cast<T*>(address);
    return true;
  }
  T* get() const { return memory_; }
  T* operator->() const { return memory_; }

 private:
  T* memory_ = nullptr;
};

// Closes so that the other end sees ECONNRESET (TCP).
void close_with_reset(UniqueFd fd);

// "what: strerror(errno)".
Error system_error(const std::string& what);

// Does the system account memory so strictly that a page of a memfd, which is accounted when it is
// first touched, may then be refused by SIGBUS?
bool memory_may_run_out_later();

// A memfd of `size` zero bytes whose size nobody can change any more: a process that shrank it would
// kill all that have it mapped by SIGBUS. `at_once`: each of its pages is there when this returns,
// which takes a tenth of a millisecond for a ring.
Result<UniqueFd> sealed_memory(const char* name, size_t size,
                               bool at_once = memory_may_run_out_later());

// A system call of raw convention: the result, or -errno.
struct SystemCall {
  template <typename... Arguments>
  long operator()(long number, Arguments... arguments) const {
    const long result = ::syscall(number, word(arguments)...);
    return result == -1 ? -errno : result;
  }

 private:
  template <typename T>
  static long word(T value) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<long>(value);
    } else if constexpr (std::is_null_pointer_v<T>) {
      return 0;
    } else {
      return static_cast<long>(value);
    }
  }
};

// Nanoseconds of a clock as the kernel has it. CLOCK_MONOTONIC is that of the machine, which agents read, too
// (core/protocol/shared_clock.h).
uint64_t clock_ns(clockid_t clock = CLOCK_MONOTONIC);

// True: reading would not wait now. False for a descriptor below 0.
bool is_readable(int fd);

}  // namespace filibuster
