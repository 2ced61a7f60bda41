// What the compiled-in parts of the C++ library would call for an exception or for the heap. Nothing here
// may do either (law 6), and nothing does: these stand in the core's functions on std::string,
// which the preload never calls, and behind bounds checks that cannot fail. Defined here, they keep
// libstdc++'s own, with its locales, its unwinder and the newest glibc that they require, out of the
// library.
#include <cstddef>
#include <new>

namespace std {
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { __builtin_trap(); }
[[noreturn]] void __throw_length_error(const char*) { __builtin_trap(); }
[[noreturn]] void __throw_logic_error(const char*) { __builtin_trap(); }
[[noreturn]] void __throw_bad_alloc() { __builtin_trap(); }
}  // namespace std

void* operator new(size_t) { __builtin_trap(); }
void operator delete(void*) noexcept { __builtin_trap(); }
void operator delete(void*, size_t) noexcept { __builtin_trap(); }
