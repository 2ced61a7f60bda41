#include "core/program/elf_segments.h"

#include <algorithm>

#include "core/program/elf_bytes.h"

namespace filibuster {
namespace {

constexpr uint64_t kMostSegments = 1024;
constexpr size_t kMostBuildId = 32;  // bytes

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, kMostBuildId)) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string build_id_in(std::string_view notes, uint64_t align) {
  if (align != 8) align = 4;
  Elf64_Nhdr note;
  while (read_at(notes, 0, &note)) {
    const uint64_t name = (uint64_t{note.n_namesz} + align - 1) & ~(align - 1);
    const uint64_t text = (uint64_t{note.n_descsz} + align - 1) & ~(align - 1);
    if (name + text > notes.size() - sizeof note) return {};
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(sizeof note, 4) == std::string_view("GNU\0", 4))
      return hexadecimal(notes.substr(sizeof note + name, note.n_descsz));
    notes.remove_prefix(sizeof note + name + text);
  }
  return {};
}

}  // namespace

std::optional<uint64_t> ElfSegments::address_of(uint64_t offset) const {
  for (const Load& load : loads) {
    if (offset >= load.offset && offset - load.offset < load.size)
      return load.address + (offset - load.offset);
  }
  return std::nullopt;
}

std::optional<ElfSegments> read_elf_segments(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || !read_at(bytes, 0, &header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  ElfSegments out;
  const Segments segments(bytes, header.e_phoff, elf_counts(bytes, header).segments);
  for (uint64_t i = 0; i < std::min(segments.count(), kMostSegments); ++i) {
    const Elf64_Phdr segment = segments[i];
    if (segment.p_type == PT_LOAD)
      out.loads.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr});
    if (segment.p_type == PT_NOTE && out.build_id.empty())
      out.build_id = build_id_in(part(bytes, segment.p_offset, segment.p_filesz), segment.p_align);
  }
  return out;
}

}  // namespace filibuster
