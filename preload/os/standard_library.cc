// What the compiled-in parts of the C++ library would call for an exception or for the heap. The preload may
// use neither (docs/laws.md, law 6), and uses neither: the calls stand in the core's functions on std::string,
// which the preload never calls, and behind bounds checks that cannot fail. The definitions here keep those of
// libstdc++ out of the library, with their locales, their unwinder and the newer glibc that they require.
#include <cstddef>
#include <new>

namespace std {
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) {
  __builtin_trap();
}
[[noreturn]] void __throw_length_error(const char*) {
  __builtin_trap();
}
[[noreturn]] void __throw_logic_error(const char*) {
  __builtin_trap();
}
[[noreturn]] void __throw_bad_alloc() {
  __builtin_trap();
}
}  // namespace std

void* operator new(size_t) {
  __builtin_trap();
}
void operator delete(void*) noexcept {
  __builtin_trap();
}
void operator delete(void*, size_t) noexcept {
  __builtin_trap();
}
