#include "core/program/elf_memory.h"

namespace filibuster {

ElfMemory::ElfMemory(std::string_view bytes, const Elf64_Ehdr& header) : bytes_(bytes) {
  const ElfCounts counts = elf_counts(bytes, header);
  segments_ = {bytes, header.e_phoff, counts.segments};
  sections_ = {bytes, header.e_shoff, counts.sections};
  names_ = content(bytes, sections_[counts.names]);
  for (uint64_t i = 0; i < segments_.count(); ++i) {
    const Elf64_Phdr segment = segments_[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    uint64_t address = 0, size = 0;
    const Table<Elf64_Dyn> dynamic(bytes, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
    for (uint64_t d = 0; d < dynamic.count(); ++d) {
      const Elf64_Dyn entry = dynamic[d];
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_RELA) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_RELASZ) size = entry.d_un.d_val;
    }
    relocations_ = {from(address), 0, size / sizeof(Elf64_Rela)};
    break;
  }
}

std::optional<ElfMemory> ElfMemory::read(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || !read_at(bytes, 0, &header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  return ElfMemory(bytes, header);
}

std::optional<uint64_t> ElfMemory::file_offset(uint64_t address) const {
  for (uint64_t i = 0; i < segments_.count(); ++i) {
    const Elf64_Phdr segment = segments_[i];
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    if (offset >= segment.p_filesz || segment.p_offset > bytes_.size()) continue;
    if (offset < bytes_.size() - segment.p_offset) return segment.p_offset + offset;
  }
  return std::nullopt;
}

std::string_view ElfMemory::from(uint64_t address) const {
  for (uint64_t i = 0; i < segments_.count(); ++i) {
    const Elf64_Phdr segment = segments_[i];
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    if (offset >= segment.p_filesz || segment.p_offset > bytes_.size()) continue;
    const std::string_view held = bytes_.substr(segment.p_offset).substr(0, segment.p_filesz);
    if (offset < held.size()) return held.substr(offset);
  }
  return {};
}

uint64_t ElfMemory::pointer(uint64_t address) const {
  for (uint64_t i = 0; i < relocations_.count(); ++i) {
    const Elf64_Rela relocation = relocations_[i];
    if (relocation.r_offset == address && ELF64_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE) {
      return static_cast<uint64_t>(relocation.r_addend);
    }
  }
  uint64_t value = 0;
  read_at(from(address), 0, &value);
  return value;
}

std::optional<uint64_t> ElfMemory::relocated_to(uint64_t target) const {
  for (uint64_t i = 0; i < relocations_.count(); ++i) {
    const Elf64_Rela relocation = relocations_[i];
    if (static_cast<uint64_t>(relocation.r_addend) == target &&
        ELF64_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE) {
      return relocation.r_offset;
    }
  }
  return std::nullopt;
}

std::optional<ElfMemory::Section> ElfMemory::section(std::string_view name) const {
  for (uint64_t i = 0; i < sections_.count(); ++i) {
    const Elf64_Shdr section = sections_[i];
    if (text_at(names_, section.sh_name) == name) {
      return Section{section.sh_addr, content(bytes_, section)};
    }
  }
  return std::nullopt;
}

}  // namespace filibuster
