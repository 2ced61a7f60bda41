#include "core/program/elf_image.h"

#include <array>
#include <charconv>

#include "core/program/elf_bytes.h"

namespace filibuster {
namespace {

// Bound for broken files: a real program requires some tens of libraries and versions.
constexpr int kMostEntries = 10'000;

void read_dynamic(std::string_view bytes, std::string_view strings, int* steps, ElfImage* image) {
  Elf64_Dyn entry;
  for (uint64_t at = 0; read_at(bytes, at, &entry) && entry.d_tag != DT_NULL && *steps > 0;
       at += sizeof entry, --*steps) {
    if (entry.d_tag == DT_NEEDED) image->needed.push_back(text_at(strings, entry.d_un.d_val));
  }
}

// One list of libraries, each with its list of versions; links are relative and never negative.
void read_versions(std::string_view bytes, std::string_view strings, int* steps, ElfImage* image) {
  Elf64_Verneed library;
  for (uint64_t at = 0; read_at(bytes, at, &library) && --*steps > 0; at += library.vn_next) {
    Elf64_Vernaux version;
    for (uint64_t v = at + library.vn_aux; read_at(bytes, v, &version) && --*steps > 0;
         v += version.vna_next) {
      image->versions.push_back(text_at(strings, version.vna_name));
      if (version.vna_next == 0) break;
    }
    if (library.vn_next == 0) break;
  }
}

std::string_view loader_of(std::string_view bytes, const Segments& segments) {
  for (uint64_t i = 0; i < segments.count(); ++i) {
    const Elf64_Phdr segment = segments[i];
    if (segment.p_type != PT_INTERP) continue;
    const std::string_view loader = text_at(part(bytes, segment.p_offset, segment.p_filesz), 0);
    if (!loader.empty()) return loader;
  }
  return {};
}

}  // namespace

std::string_view ElfImage::asan_runtime() const {
  for (const std::string_view library : needed) {
    if (library.starts_with("libasan.so")) return library;
  }
  return {};
}

std::optional<ElfImage> read_elf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG)) || !read_at(bytes, 0, &header)) {
    return std::nullopt;
  }
  const unsigned char bits = header.e_ident[EI_CLASS], order = header.e_ident[EI_DATA];
  if ((bits != ELFCLASS32 && bits != ELFCLASS64) ||
      (order != ELFDATA2LSB && order != ELFDATA2MSB)) {
    return std::nullopt;
  }
  ElfImage image;
  image.machine = header.e_machine;  // at the same place in both classes
  if (order == ELFDATA2MSB) image.machine = __builtin_bswap16(image.machine);
  image.same_layout = bits == ELFCLASS64 && order == ELFDATA2LSB;
  if (!image.same_layout) return image;

  const ElfCounts counts = elf_counts(bytes, header);
  image.interpreter = loader_of(bytes, {bytes, header.e_phoff, counts.segments});
  const Sections sections(bytes, header.e_shoff, counts.sections);
  const std::string_view names = content(bytes, sections[counts.names]);
  int steps = kMostEntries;
  for (uint64_t i = 0; i < sections.count(); ++i) {
    const Elf64_Shdr section = sections[i];
    const std::string_view name = text_at(names, section.sh_name);
    if (name == ".go.buildinfo" || name == ".note.go.buildid") image.go = true;
    const std::string_view strings = content(bytes, sections[section.sh_link]);
    const std::string_view body = content(bytes, section);
    if (section.sh_type == SHT_DYNAMIC) read_dynamic(body, strings, &steps, &image);
    if (section.sh_type == SHT_GNU_verneed) read_versions(body, strings, &steps, &image);
  }
  return image;
}

std::string highest_glibc(const std::vector<std::string_view>& versions) {
  constexpr std::string_view kPrefix = "GLIBC_";
  using Numbers = std::array<int, 4>;  // "2.2.5" is 2, 2, 5, 0
  Numbers best{};
  std::string_view best_text;
  for (const std::string_view version : versions) {
    if (!version.starts_with(kPrefix)) continue;
    Numbers numbers{};
    const char* at = version.data() + kPrefix.size();
    const char* const end = version.data() + version.size();
    for (size_t i = 0; i < numbers.size() && at < end; ++i, ++at) {
      const auto [rest, failed] = std::from_chars(at, end, numbers[i]);
      if (failed != std::errc()) break;
      at = rest;
    }
    if (numbers > best) {
      best = numbers;
      best_text = version.substr(kPrefix.size());
    }
  }
  return std::string(best_text);
}

}  // namespace filibuster
