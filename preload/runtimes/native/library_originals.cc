#include "preload/runtimes/native/library_originals.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <cerrno>
#include <cstring>

#include "preload/os/copies.h"
#include "preload/os/own_stack.h"
#include "preload/runtimes/native/modules.h"

namespace filibuster::preload {
namespace {

// Looks in an object that is loaded, and in what it needs. The reference that dlopen takes is kept, so
// that what was found stays loaded.
void* find_in(const char* object, const char* name) {
  void* handle = dlopen(object, RTLD_NOLOAD | RTLD_LAZY);
  void* found = handle != nullptr ? dlsym(handle, name) : nullptr;
  return found != nullptr && !is_of_any_copy(found) ? found : nullptr;
}

// A copy of this library may come after us, and has no original either.
void* find_after_us(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  return found != nullptr && !is_of_any_copy(found) ? found : nullptr;
}

// The path of a library that some scope has. (To open it within the iteration could deadlock: another
// thread may hold the loader's lock and wait for this iteration.)
struct Path {
  std::string_view part;
  char text[512];
};
int find_library(dl_phdr_info* info, size_t, void* data) {
  auto* path = static_cast<Path*>(data);
  const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  if (name.find(path->part) == std::string_view::npos || name.size() >= sizeof path->text) return 0;
  std::memcpy(path->text, name.data(), name.size());
  path->text[name.size()] = '\0';
  return 1;
}

class KeepsErrors {
 public:
  KeepsErrors() : errno_(errno) {}
  ~KeepsErrors() {
    dlerror();  // clears the error, so that the program does not get to see it
    errno = errno_;
  }
  KeepsErrors(const KeepsErrors&) = delete;

 private:
  const int errno_;
};

}  // namespace

uintptr_t module_at(const void* code) {
  ModuleInfo info;
  const auto address = reinterpret_cast<uintptr_t>(code);
  if (find_module(address, &info)) return info.begin;
  refresh_modules();
  return find_module(address, &info) ? info.begin : 0;
}

// The loader needs some KiB of stack.
namespace {

void* search_beyond_us(const char* name, const void* code, std::string_view library) {
  const HookScope scope;
  const KeepsErrors keeps;
  Dl_info info;
  // This fails for code of the program itself, which no name opens again. It sees the objects after us.
  void* found = dladdr(code, &info) != 0 ? find_in(info.dli_fname, name) : nullptr;
  if (found == nullptr) found = find_after_us(name);
  if (found == nullptr) {
    Path path{library, {}};
    if (dl_iterate_phdr(find_library, &path) != 0) found = find_in(path.text, name);
  }
  return found;
}

void* search_program(const char* name) {
  const KeepsErrors keeps;
  // The program comes first in the global scope, and says where it begins.
  void* found = dlsym(RTLD_DEFAULT, name);
  const auto* entry = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
  Dl_info program, other;
  const bool inside = found != nullptr && dladdr(entry, &program) != 0 &&
                      dladdr(found, &other) != 0 && program.dli_fbase == other.dli_fbase;
  return inside ? found : nullptr;
}

void* search_beside(const void* function, const char* name) {
  const HookScope scope;
  const KeepsErrors keeps;
  Dl_info info;
  if (dladdr(function, &info) == 0) return nullptr;
  void* found = find_in(info.dli_fname, name);
  if (found == nullptr) found = find_after_us(name);
  return found != nullptr ? found : search_program(name);
}

}  // namespace

void* find_beyond_us(const char* name, const void* code, std::string_view library) {
  return on_own_stack([&] { return search_beyond_us(name, code, library); });
}

void* find_in_program(const char* name) {
  return on_own_stack([&] { return search_program(name); });
}

void* find_beside(const void* function, const char* name) {
  return on_own_stack([&] { return search_beside(function, name); });
}

}  // namespace filibuster::preload
