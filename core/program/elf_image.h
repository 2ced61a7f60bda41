// What decides whether a library can be preloaded into a program, read from the bytes of its ELF
// file. Bytes of any origin: every offset is checked, and the work is bounded by their number.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/program/entry.h"

namespace filibuster {

// The texts of an image are views into the bytes that were read.
struct ElfImage {
  uint16_t machine = 0;                    // EM_*
  bool same_layout = false;                // 64-bit, little-endian: only then is the rest read
  std::string_view interpreter;            // the loader; empty: statically linked (or a library)
  std::vector<std::string_view> needed;    // DT_NEEDED
  std::vector<std::string_view> versions;  // required of others: "GLIBC_2.34", "GLIBC_2.2.5", ...
  bool go = false;

  // `path`: of the file.
  Entry entry(std::string_view path) const {
    return entry_of(machine, same_layout, interpreter, path);
  }
  std::string_view asan_runtime() const;  // "libasan.so.8"; empty: built without
};

// nullopt: not an ELF file, or one without a whole header.
std::optional<ElfImage> read_elf(std::string_view bytes);

// "2.34" for the highest GLIBC_x.y in `versions`; "" if there is none.
std::string highest_glibc(const std::vector<std::string_view>& versions);

}  // namespace filibuster
