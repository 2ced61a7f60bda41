#include "core/program/vdso.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace filibuster {
namespace {

// The number of symbols. The dynamic section does not have it; DT_HASH does, and newer kernels have DT_GNU_HASH only, of which
// it is behind the last symbol of the chain that begins last.
uint32_t count_symbols(const uint32_t* hash, const uint32_t* gnu_hash) {
  if (hash != nullptr) return hash[1];  // nbucket, nchain
  if (gnu_hash == nullptr) return 0;
  const uint32_t buckets = gnu_hash[0], first = gnu_hash[1], words = gnu_hash[2];
  const auto* bucket = gnu_hash + 4 + words * (sizeof(Elf64_Xword) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  uint32_t last = 0;
  for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
  if (last < first) return 0;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

}  // namespace

const void* vdso_function(const void* image, std::string_view name) {
  const auto* bytes = static_cast<const char*>(image);
  if (bytes == nullptr || std::memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64)
    return nullptr;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(bytes + header->e_phoff);
  const char* bias = nullptr;  // what is added to an address of the file
  const Elf64_Dyn* dynamic = nullptr;
  for (uint16_t i = 0; i < header->e_phnum; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD && bias == nullptr)
      bias = bytes + segment.p_offset - segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const Elf64_Dyn*>(bytes + segment.p_offset);
  }
  if (bias == nullptr || dynamic == nullptr) return nullptr;
  const char* names = nullptr;
  const Elf64_Sym* symbols = nullptr;
  const uint32_t *hash = nullptr, *gnu_hash = nullptr;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const char* at = bias + dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_STRTAB:
        names = at;
        break;
      case DT_SYMTAB:
        symbols = reinterpret_cast<const Elf64_Sym*>(at);
        break;
      case DT_HASH:
        hash = reinterpret_cast<const uint32_t*>(at);
        break;
      case DT_GNU_HASH:
        gnu_hash = reinterpret_cast<const uint32_t*>(at);
        break;
      default:
        break;
    }
  }
  if (names == nullptr || symbols == nullptr) return nullptr;
  const uint32_t count = count_symbols(hash, gnu_hash);
  for (uint32_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
        name == names + symbol.st_name)
      return bias + symbol.st_value;
  }
  return nullptr;
}

}  // namespace filibuster
