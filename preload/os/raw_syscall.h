// System calls without libc: our own hooks shadow libc's functions (`syscall` too), and errno
// belongs to the host. Returns the result, or -errno.
#pragma once

#include <sys/syscall.h>

#include <cstddef>
#include <type_traits>

namespace filibuster::preload {

#if defined(__x86_64__)
inline long raw_syscall6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long raw_syscall6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory", "cc");
  return x0;
}
#else
#error "no raw system call for this architecture yet"
#endif

template <typename T>
inline long raw_argument(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}
inline long raw_argument(std::nullptr_t) {
  return 0;
}

template <typename A = long, typename B = long, typename C = long, typename D = long,
          typename E = long, typename F = long>
inline long raw_syscall(long number, A a = A(), B b = B(), C c = C(), D d = D(), E e = E(),
                        F f = F()) {
  return raw_syscall6(number, raw_argument(a), raw_argument(b), raw_argument(c), raw_argument(d),
                      raw_argument(e), raw_argument(f));
}

}  // namespace filibuster::preload
