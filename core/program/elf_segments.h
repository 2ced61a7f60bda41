// What names an address of a program that runs in another process: the build id of its file, and the address
// that the file itself gives to the place. Bytes of any origin: every offset is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

struct ElfSegments {
  struct Load {
    uint64_t offset;   // in the file
    uint64_t size;     // in the file
    uint64_t address;  // as linked
  };
  std::vector<Load> loads;  // PT_LOAD
  std::string build_id;     // NT_GNU_BUILD_ID in hexadecimal; empty: there is none

  // The address, as linked, of what stands at `offset` of the file.
  std::optional<uint64_t> address_of(uint64_t offset) const;
};

// nullopt: not a 64-bit little-endian ELF file.
std::optional<ElfSegments> read_elf_segments(std::string_view bytes);

}  // namespace filibuster
