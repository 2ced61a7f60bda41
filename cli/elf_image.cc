#include "cli/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace filibuster::cli {
namespace {

template <typename T>
bool read_at(std::string_view bytes, uint64_t offset, T* out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + offset, sizeof(T));
  return true;
}

std::string_view part(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

// The zero-terminated text at `offset` of a string table.
std::string text_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return "";
  const std::string_view rest = table.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::vector<Elf64_Shdr> sections_of(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read_at(bytes, header.e_shoff + i * sizeof section, &section)) break;
    sections.push_back(section);
  }
  return sections;
}

void read_dynamic(std::string_view content, std::string_view strings, ElfImage* image) {
  Elf64_Dyn entry;
  for (uint64_t at = 0; read_at(content, at, &entry) && entry.d_tag != DT_NULL;
       at += sizeof entry) {
    if (entry.d_tag == DT_NEEDED) image->needed.push_back(text_at(strings, entry.d_un.d_val));
  }
}

// One list of libraries, each with its list of versions; links are relative and never negative.
void read_versions(std::string_view content, std::string_view strings, ElfImage* image) {
  constexpr int kMost = 10'000;  // a broken file must not keep us
  int steps = 0;
  Elf64_Verneed library;
  for (uint64_t at = 0; read_at(content, at, &library) && ++steps < kMost; at += library.vn_next) {
    Elf64_Vernaux version;
    for (uint64_t v = at + library.vn_aux; read_at(content, v, &version) && ++steps < kMost;
         v += version.vna_next) {
      image->versions.push_back(text_at(strings, version.vna_name));
      if (version.vna_next == 0) break;
    }
    if (library.vn_next == 0) break;
  }
}

}  // namespace

std::optional<ElfImage> read_elf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || !read_at(bytes, 0, &header)) {
    return std::nullopt;
  }
  ElfImage image;
  image.machine = header.e_machine;  // at the same place in both classes
  image.same_class = header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!image.same_class) return image;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(bytes, header.e_phoff + i * sizeof segment, &segment)) break;
    if (segment.p_type == PT_INTERP) {
      image.interpreter = text_at(part(bytes, segment.p_offset, segment.p_filesz), 0);
    }
  }
  const std::vector<Elf64_Shdr> sections = sections_of(bytes, header);
  const auto content = [&](size_t i) {
    if (i >= sections.size() || sections[i].sh_type == SHT_NOBITS) return std::string_view();
    return part(bytes, sections[i].sh_offset, sections[i].sh_size);
  };
  for (size_t i = 0; i < sections.size(); ++i) {
    const std::string name = text_at(content(header.e_shstrndx), sections[i].sh_name);
    if (name == ".go.buildinfo" || name == ".note.go.buildid") image.go = true;
    const std::string_view strings = content(sections[i].sh_link);
    if (sections[i].sh_type == SHT_DYNAMIC) read_dynamic(content(i), strings, &image);
    if (sections[i].sh_type == SHT_GNU_verneed) read_versions(content(i), strings, &image);
  }
  return image;
}

std::string highest_glibc(const std::vector<std::string>& versions) {
  constexpr std::string_view kPrefix = "GLIBC_";
  std::vector<int> best;
  std::string best_text;
  for (const std::string& version : versions) {
    if (!version.starts_with(kPrefix)) continue;
    std::vector<int> numbers;
    const char* at = version.data() + kPrefix.size();
    const char* const end = version.data() + version.size();
    for (int number = 0; at < end; ++at) {
      const auto [rest, failed] = std::from_chars(at, end, number);
      if (failed != std::errc()) break;
      numbers.push_back(number);
      at = rest;
    }
    if (numbers > best) {
      best = numbers;
      best_text = version.substr(kPrefix.size());
    }
  }
  return best_text;
}

}  // namespace filibuster::cli
