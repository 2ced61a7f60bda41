// Reading the bytes of an ELF file, or of anything else that others wrote: each read is checked, and nothing is aligned.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace filibuster {

// Empty where [offset, offset + size) is not inside `bytes`.
inline std::string_view part(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

template <typename T>
bool read_at(std::string_view bytes, uint64_t offset, T* out) {
  const std::string_view found = part(bytes, offset, sizeof(T));
  if (found.empty()) return false;
  std::memcpy(out, found.data(), sizeof(T));
  return true;
}

// The zero-terminated text at `offset` of a string table. Longer ones than PATH_MAX are cut.
inline std::string_view text_at(std::string_view table, uint64_t offset) {
  constexpr size_t kMostText = 4096;  // bytes
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset, kMostText);
  return rest.substr(0, rest.find('\0'));
}

// `count` records from `offset` on, as far as the bytes hold them.
template <typename T>
class Table {
 public:
  Table() = default;
  Table(std::string_view bytes, uint64_t offset, uint64_t count)
      : bytes_(offset > bytes.size() ? std::string_view() : bytes.substr(offset)),
        count_(std::min<uint64_t>(count, bytes_.size() / sizeof(T))) {}
  uint64_t count() const { return count_; }
  // All zero beyond the end.
  T operator[](uint64_t i) const {
    T record{};
    if (i < count_) read_at(bytes_, i * sizeof(T), &record);
    return record;
  }

 private:
  std::string_view bytes_;
  uint64_t count_ = 0;
};
using Sections = Table<Elf64_Shdr>;
using Segments = Table<Elf64_Phdr>;

// How many there are: numbers that do not fit the header stand in the first section (gABI, "ELF Header").
struct ElfCounts {
  uint64_t sections = 0, names = 0, segments = 0;
};
inline ElfCounts elf_counts(std::string_view bytes, const Elf64_Ehdr& header) {
  const Elf64_Shdr first = Sections(bytes, header.e_shoff, 1)[0];
  return {header.e_shnum == 0 ? first.sh_size : header.e_shnum,
          header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx,
          header.e_phnum == PN_XNUM ? first.sh_info : header.e_phnum};
}

// What a section holds in the file.
inline std::string_view content(std::string_view bytes, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS) return {};
  return part(bytes, section.sh_offset, section.sh_size);
}

}  // namespace filibuster
