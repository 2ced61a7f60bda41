// Which module an address belongs to, and what names that module on every machine: its build id. The
// modules are a copy of the loader's list, renewed when the loader says that it has changed. Readers take
// no lock, and wait only for a short time while the copy is renewed.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash.h"

namespace filibuster::preload {

struct ModuleInfo {
  uintptr_t begin = 0;  // in memory
  uintptr_t end = 0;
  uintptr_t bias = 0;    // address in memory - address in the file
  bool runtime = false;  // does not count (frame_filter.h)
  bool engine = false;   // is_engine_module
  bool loop = false;     // is_loop_frame
  uint8_t id_size = 0;
  uint8_t path_size = 0;
  Hash128 identity;       // of the build id; of the base name where there is none
  char id_text[40] = {};  // the build id in hexadecimal; "-": none
  char path_text[160] = {};
  std::string_view id() const { return {id_text, id_size}; }
  std::string_view path() const { return {path_text, path_size}; }
};

// Renews the copy if the loader's list changed. To be called before a series of find_module.
void refresh_modules();
// False: the address is in no module, or the copy was being renewed for longer than 1 ms.
bool find_module(uintptr_t address, ModuleInfo* info);

}  // namespace filibuster::preload
