// The original of a hooked function of a library other than libc, as the calling code would have reached
// it without us. A process can hold several copies of such a library (a plug-in in a scope of its own), and
// RTLD_NEXT sees none that was loaded with RTLD_LOCAL. So the functions are looked up for each module
// that calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preload/interpose.h"

namespace filibuster::preload {

// Where the module that contains `code` begins in memory; 0: code of no module.
uintptr_t module_at(const void* code);
// Looks up `name` as the code at `code` sees it, without what we export: in its module and what that needs,
// then in the global scope, then in a loaded library whose path contains `library` ("/libssl.so"). nullptr:
// no object has it. The library that has it stays loaded.
void* find_beyond_us(const char* name, const void* code, std::string_view library);
// The function of that name in the program itself, if it shows it. nullptr: it does not.
void* find_in_program(const char* name);
// The same in the library, or the program, that contains `function`, and in what it needs.
void* find_beside(const void* function, const char* name);

// `Found`: what is kept for each calling module. A constant-initialised global; safe in a forked child.
template <typename Found>
class Callers {
 public:
  // What is kept for the module of the code at a return address. nullptr: there is no room, or `code`
  // belongs to no module.
  Found* at(const void* code) {
    const size_t first = reinterpret_cast<uintptr_t>(code) * 0x9E3779B97F4A7C15ull >> 32;
    for (size_t i = 0; i < kTries; ++i) {
      Place& place = places_[(first + i) & (kPlaces - 1)];
      const void* known = place.code.load(std::memory_order_acquire);
      if (known == nullptr && place.code.compare_exchange_strong(known, code)) known = code;
      if (known != code) continue;
      Caller* caller = place.caller.load(std::memory_order_acquire);
      if (caller == nullptr) {
        caller = of_module(module_at(code));
        place.caller.store(caller, std::memory_order_release);
      }
      return caller == nullptr ? nullptr : &caller->found;
    }
    Caller* caller = of_module(module_at(code));
    return caller == nullptr ? nullptr : &caller->found;
  }

 private:
  static constexpr size_t kCallers = 32;
  // A return address is asked for at every call and stays the same.
  static constexpr size_t kPlaces = 1024;  // a power of two
  static constexpr size_t kTries = 8;

  struct Caller {
    std::atomic<uintptr_t> module{0};  // where it begins in memory
    Found found;
  };
  struct Place {
    std::atomic<const void*> code{nullptr};
    std::atomic<Caller*> caller{nullptr};
  };

  Caller* of_module(uintptr_t module) {
    if (module == 0) return nullptr;
    for (Caller& caller : callers_) {
      uintptr_t known = caller.module.load(std::memory_order_acquire);
      if (known == module) return &caller;
      if (known == 0 && caller.module.compare_exchange_strong(known, module)) return &caller;
      if (known == module) return &caller;
    }
    return nullptr;
  }

  Caller callers_[kCallers];
  Place places_[kPlaces];
};

inline const void* return_address(void* address) {
  return __builtin_extract_return_addr(address);
}

}  // namespace filibuster::preload

// In a hook: the code that called it.
#define FILIBUSTER_CALLER ::filibuster::preload::return_address(__builtin_return_address(0))
