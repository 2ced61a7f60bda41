// Random numbers, where libc, libcrypto and libstdc++ give them (rpc/draws.h). Without a recording or a replay two loads are paid.
#include "preload/hooks/draws.h"

#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "preload/interpose.h"
#include "preload/os/raw_syscall.h"
#include "preload/runtimes/native/library_originals.h"

FILIBUSTER_REAL(unsigned, arc4random, ())

namespace filibuster::preload {
namespace {

// A number that `original` computes.
template <typename Value, typename Original>
Value drawn_number(DrawSource source, const Original& original) {
  Draw draw(source);
  Value value;
  // What was recorded may be a number of another type.
  if (draw.give(&value, sizeof value) &&
      (!std::is_floating_point_v<Value> || (value >= 0 && value < 1)))
    return value;
  if (draw.wants_another()) static_cast<void>(original());
  value = original();
  draw.keep(&value, sizeof value);
  return value;
}

// A function that returns 1 where it has filled all of `out`, and 0 or -1 where it has not.
template <typename Original>
int drawn_whole(DrawSource source, void* out, int size, const Original& original) {
  Draw draw(source);
  if (size > 0 && draw.give(out, static_cast<size_t>(size))) return 1;
  const int result = original();
  if (result == 1 && size > 0) draw.keep(out, static_cast<size_t>(size));
  return result;
}

// For a libc that has no arc4random (before 2.36), which a program finds here all the same.
void fill_from_kernel(void* out, size_t size) {
  for (size_t done = 0; done < size;) {
    const long result = raw_syscall(SYS_getrandom, static_cast<char*>(out) + done, size - done, 0);
    if (result > 0) done += static_cast<size_t>(result);
    if (result < 0 && result != -EINTR) return;
  }
}

// Functions of libraries that a process may have several times, or in a scope of its own.
enum LibraryFunction : size_t {
  kRandBytes,
  kRandPrivBytes,
  kRandomDeviceGetval,
  kUuidGenerate,
  kUuidGenerateRandom,
  kUuidGenerateTime,
  kUuidGenerateTimeSafe,
  kLibraryFunctions
};
constexpr struct {
  const char *name, *library;
} kOfLibraries[kLibraryFunctions] = {{"RAND_bytes", "/libcrypto.so"},
                                     {"RAND_priv_bytes", "/libcrypto.so"},
                                     {"_ZNSt13random_device9_M_getvalEv", "/libstdc++.so"},
                                     {"uuid_generate", "/libuuid.so"},
                                     {"uuid_generate_random", "/libuuid.so"},
                                     {"uuid_generate_time", "/libuuid.so"},
                                     {"uuid_generate_time_safe", "/libuuid.so"}};
struct LibraryOriginals {
  std::atomic<void*> of[kLibraryFunctions];
};
constinit Callers<LibraryOriginals> g_callers;

// As the calling code would have reached it without us. nullptr: it would not have.
template <typename Function>
Function original_of(LibraryFunction which, const void* caller) {
  LibraryOriginals* known = g_callers.at(caller);
  void* found = known == nullptr ? nullptr : known->of[which].load(std::memory_order_relaxed);
  if (found == nullptr) {
    const HookScope scope;
    found = find_beyond_us(kOfLibraries[which].name, caller, kOfLibraries[which].library);
    if (known != nullptr) known->of[which].store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function>(found);
}

constexpr size_t kUuidBytes = 16;

// 0: it was made as it should be; -1: it may be that of another process (uuid_generate_time_safe(3)).
template <typename Result>
int drawn_uuid(LibraryFunction which, unsigned char* out, const void* caller) {
  const auto original = original_of<Result (*)(unsigned char*)>(which, caller);
  const auto make = [&]() -> int {
    if (original == nullptr) {
      // Whoever looks for the function finds it here, without libuuid. A UUID of version 4 (RFC 9562):
      fill_from_kernel(out, kUuidBytes);
      out[6] = static_cast<unsigned char>((out[6] & 0x0f) | 0x40);
      out[8] = static_cast<unsigned char>((out[8] & 0x3f) | 0x80);
      return 0;
    }
    if constexpr (std::is_void_v<Result>) {
      original(out);
      return 0;
    } else {
      return original(out);
    }
  };
  if (__builtin_expect(!draws_matter(), 1)) return make();
  Draw draw(DrawSource::kUuid);
  if (draw.give(out, kUuidBytes)) return 0;
  const int result = make();
  draw.keep(out, kUuidBytes);
  return result;
}

unsigned arc4random_or_kernel() {
  if (const auto libc = REAL(arc4random); libc != nullptr) return libc();
  unsigned value = 0;
  fill_from_kernel(&value, sizeof value);
  return value;
}

}  // namespace

bool is_random_device(int fd) {
  constexpr unsigned kMemoryDevices = 1, kRandom = 8, kUrandom = 9;  // urandom(4)
  struct stat about {};
  if (raw_syscall(SYS_fstat, fd, &about) != 0 || !S_ISCHR(about.st_mode)) return false;
  return major(about.st_rdev) == kMemoryDevices &&
         (minor(about.st_rdev) == kRandom || minor(about.st_rdev) == kUrandom);
}

}  // namespace filibuster::preload

using filibuster::DrawSource;
using filibuster::preload::arc4random_or_kernel;
using filibuster::preload::Draw;
using filibuster::preload::drawn_bytes;
using filibuster::preload::drawn_number;
using filibuster::preload::drawn_uuid;
using filibuster::preload::drawn_whole;
using filibuster::preload::draws_matter;
using filibuster::preload::fill_from_kernel;
using filibuster::preload::original_of;

FILIBUSTER_HOOK(ssize_t, getrandom, (void* out, size_t size, unsigned flags)) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(getrandom)(out, size, flags);
  return drawn_bytes(DrawSource::kGetrandom, out, size,
                     [&] { return REAL(getrandom)(out, size, flags); });
}

FILIBUSTER_HOOK(int, getentropy, (void* out, size_t size)) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(getentropy)(out, size);
  Draw draw(DrawSource::kGetentropy);
  if (draw.give(out, size)) return 0;
  const int result = REAL(getentropy)(out, size);
  if (result == 0) draw.keep(out, size);
  return result;
}

extern "C" __attribute__((visibility("default"))) unsigned arc4random() {
  if (__builtin_expect(!draws_matter(), 1)) return arc4random_or_kernel();
  return drawn_number<unsigned>(DrawSource::kArc4random, arc4random_or_kernel);
}

FILIBUSTER_HOOK(void, arc4random_buf, (void* out, size_t size)) {
  const auto original = [&] {
    if (const auto libc = REAL(arc4random_buf); libc != nullptr) {
      libc(out, size);
    } else {
      fill_from_kernel(out, size);
    }
    return static_cast<ssize_t>(size);
  };
  if (__builtin_expect(!draws_matter(), 1)) {
    original();
  } else {
    drawn_bytes(DrawSource::kArc4random, out, size, original);
  }
}

FILIBUSTER_HOOK(unsigned, arc4random_uniform, (unsigned bound)) {
  const auto original = [&]() -> unsigned {
    if (const auto libc = REAL(arc4random_uniform); libc != nullptr) return libc(bound);
    // As OpenBSD does it: what is below 2^32 modulo the bound would make small numbers likelier.
    if (bound < 2) return 0;
    const unsigned least = -bound % bound;
    for (;;) {
      if (const unsigned value = arc4random_or_kernel(); value >= least) return value % bound;
    }
  };
  if (__builtin_expect(!draws_matter(), 1)) return original();
  const auto value = drawn_number<unsigned>(DrawSource::kArc4random, original);
  // What was recorded may be of another bound.
  return value < bound || bound == 0 ? value : value % bound;
}

FILIBUSTER_HOOK(int, rand, ()) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(rand)();
  return drawn_number<int>(DrawSource::kLibc, [] { return REAL(rand)(); });
}

FILIBUSTER_HOOK(long, random, ()) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(random)();
  return drawn_number<long>(DrawSource::kLibc, [] { return REAL(random)(); });
}

FILIBUSTER_HOOK(double, drand48, ()) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(drand48)();
  return drawn_number<double>(DrawSource::kLibc, [] { return REAL(drand48)(); });
}

FILIBUSTER_HOOK(long, lrand48, ()) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(lrand48)();
  return drawn_number<long>(DrawSource::kLibc, [] { return REAL(lrand48)(); });
}

FILIBUSTER_HOOK(long, mrand48, ()) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(mrand48)();
  return drawn_number<long>(DrawSource::kLibc, [] { return REAL(mrand48)(); });
}

// The state of these is the caller's.
FILIBUSTER_HOOK(long, jrand48, (unsigned short state[3])) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(jrand48)(state);
  return drawn_number<int32_t>(DrawSource::kLibc,
                               [&] { return static_cast<int32_t>(REAL(jrand48)(state)); });
}

FILIBUSTER_HOOK(long, nrand48, (unsigned short state[3])) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(nrand48)(state);
  return drawn_number<int32_t>(DrawSource::kLibc,
                               [&] { return static_cast<int32_t>(REAL(nrand48)(state)); });
}

FILIBUSTER_HOOK(double, erand48, (unsigned short state[3])) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(erand48)(state);
  return drawn_number<double>(DrawSource::kLibc, [&] { return REAL(erand48)(state); });
}

FILIBUSTER_HOOK(int, rand_r, (unsigned* state)) {
  if (__builtin_expect(!draws_matter(), 1)) return REAL(rand_r)(state);
  return drawn_number<int>(DrawSource::kLibc, [&] { return REAL(rand_r)(state); });
}

// libssl asks RAND_bytes_ex, so that what TLS needs for itself is not among them.
extern "C" __attribute__((visibility("default"))) int RAND_bytes(unsigned char* out, int size) {
  const auto original =
      original_of<int (*)(unsigned char*, int)>(filibuster::preload::kRandBytes, FILIBUSTER_CALLER);
  if (original == nullptr) return 0;
  if (__builtin_expect(!draws_matter(), 1)) return original(out, size);
  return drawn_whole(DrawSource::kOpenssl, out, size, [&] { return original(out, size); });
}

extern "C" __attribute__((visibility("default"))) int RAND_priv_bytes(unsigned char* out,
                                                                      int size) {
  const auto original = original_of<int (*)(unsigned char*, int)>(
      filibuster::preload::kRandPrivBytes, FILIBUSTER_CALLER);
  if (original == nullptr) return 0;
  if (__builtin_expect(!draws_matter(), 1)) return original(out, size);
  return drawn_whole(DrawSource::kOpenssl, out, size, [&] { return original(out, size); });
}

// std::random_device::_M_getval() of libstdc++, whose only argument is the object.
extern "C" __attribute__((visibility("default"))) unsigned _ZNSt13random_device9_M_getvalEv(
    void* device) {
  const auto original =
      original_of<unsigned (*)(void*)>(filibuster::preload::kRandomDeviceGetval, FILIBUSTER_CALLER);
  if (original == nullptr) return arc4random_or_kernel();
  if (__builtin_expect(!draws_matter(), 1)) return original(device);
  return drawn_number<unsigned>(DrawSource::kRandomDevice, [&] { return original(device); });
}

// libuuid. What it has got from the kernel it mixes with random(), of which it throws away a number that depends on the time, so
// a UUID is a draw of its own. Those that are made of the time have a part that is drawn.
extern "C" __attribute__((visibility("default"))) void uuid_generate(unsigned char* out) {
  drawn_uuid<void>(filibuster::preload::kUuidGenerate, out, FILIBUSTER_CALLER);
}

extern "C" __attribute__((visibility("default"))) void uuid_generate_random(unsigned char* out) {
  drawn_uuid<void>(filibuster::preload::kUuidGenerateRandom, out, FILIBUSTER_CALLER);
}

extern "C" __attribute__((visibility("default"))) void uuid_generate_time(unsigned char* out) {
  drawn_uuid<void>(filibuster::preload::kUuidGenerateTime, out, FILIBUSTER_CALLER);
}

extern "C" __attribute__((visibility("default"))) int uuid_generate_time_safe(unsigned char* out) {
  return drawn_uuid<int>(filibuster::preload::kUuidGenerateTimeSafe, out, FILIBUSTER_CALLER);
}
