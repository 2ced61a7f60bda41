#include "preload/runtimes/native/needed.h"

#include <dlfcn.h>
#include <link.h>

#include "preload/interpose.h"

namespace filibuster::preload {
namespace {

bool needs(const link_map& library, std::string_view name) {
  const char* texts = nullptr;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // (The loader has added the library's place to the address, where the entry may be written.)
    if (entry->d_tag == DT_STRTAB)
      texts = reinterpret_cast<const char*>(entry->d_un.d_ptr >= library.l_addr
                                                ? entry->d_un.d_ptr
                                                : library.l_addr + entry->d_un.d_ptr);
  }
  if (texts == nullptr) return false;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && name == texts + entry->d_un.d_val) return true;
  }
  return false;
}

}  // namespace

bool library_needs(const char* path, std::string_view name) {
  const HookScope scope;
  void* handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) {
    dlerror();  // clears the error, so that the program does not get to see it
    return false;
  }
  link_map* library = nullptr;
  const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &library) == 0 && needs(*library, name);
  dlclose(handle);
  return found;
}

}  // namespace filibuster::preload
