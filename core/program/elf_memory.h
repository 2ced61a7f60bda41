// The memory of a program as its file describes it: what stands at an address before the program is moved. Addresses are
// those of the file; a position independent program has them moved by one number for all (its load bias).
// Bytes of any origin: every offset is checked, and the work is bounded by their number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/program/elf_bytes.h"

namespace filibuster {

// A view: the bytes live longer.
class ElfMemory {
 public:
  // nullopt: not a 64-bit little-endian ELF file.
  static std::optional<ElfMemory> read(std::string_view bytes);

  // From `address` to the end of what the file holds of its segment; empty: nothing.
  std::string_view from(uint64_t address) const;
  std::string_view at(uint64_t address, uint64_t size) const {
    return from(address).substr(0, size);
  }
  // Eight bytes that hold an address: relocated where the file has only the relocation. 0: nothing stands there.
  uint64_t pointer(uint64_t address) const;
  // Where a relocation writes `target`; nullopt: none does.
  std::optional<uint64_t> relocated_to(uint64_t target) const;
  // Uprobes are placed by the offset in the file.
  std::optional<uint64_t> file_offset(uint64_t address) const;

  struct Section {
    uint64_t address = 0;
    std::string_view content;
  };
  // nullopt: none of this name (programs may have no names of sections at all).
  std::optional<Section> section(std::string_view name) const;
  const Segments& segments() const { return segments_; }
  std::string_view bytes() const { return bytes_; }

 private:
  explicit ElfMemory(std::string_view bytes, const Elf64_Ehdr& header);
  std::string_view bytes_, names_;
  Segments segments_;
  Sections sections_;
  Table<Elf64_Rela> relocations_;
};

}  // namespace filibuster
