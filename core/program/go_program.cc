#include "core/program/go_program.h"

#include <algorithm>
#include <charconv>

namespace filibuster {
namespace {

constexpr std::string_view kBuildInfo = "\xff Go buildinf:";
constexpr uint8_t kInline = 2;  // of flags: since 1.18 the texts follow
constexpr uint64_t kTextsAt = 32;

// The minor number of "go1.19.8", "devel go1.20-4f6dbcb ...". -1: none.
int minor_version(std::string_view version) {
  const size_t at = version.find("go1.");
  if (at == std::string_view::npos) return -1;
  const std::string_view rest = version.substr(at + 4);
  int minor = -1;
  std::from_chars(rest.data(), rest.data() + rest.size(), minor);
  return minor;
}

// A Go string: its address and its length.
std::string_view string_at(const ElfMemory& program, uint64_t address) {
  uint64_t size = 0;
  if (!read_at(program.from(address), 8, &size)) return {};
  const std::string_view text = program.at(program.pointer(address), size);
  return text.size() == size ? text : std::string_view();
}

// A text behind its length in LEB128.
std::string_view take_text(std::string_view* bytes) {
  uint64_t size = 0;
  for (unsigned shift = 0; !bytes->empty() && shift < 63; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    size |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (size > bytes->size()) return {};
      const std::string_view text = bytes->substr(0, size);
      bytes->remove_prefix(size);
      return text;
    }
  }
  return {};
}

std::string_view build_id_of(const ElfMemory& program) {
  constexpr uint32_t kBuildId = 4;
  for (uint64_t i = 0; i < program.segments().count(); ++i) {
    const Elf64_Phdr segment = program.segments()[i];
    if (segment.p_type != PT_NOTE) continue;
    std::string_view notes = part(program.bytes(), segment.p_offset, segment.p_filesz);
    Elf64_Nhdr note;
    while (read_at(notes, 0, &note)) {
      const uint64_t name = (uint64_t{note.n_namesz} + 3) / 4 * 4;
      const uint64_t text = (uint64_t{note.n_descsz} + 3) / 4 * 4;
      if (note.n_type == kBuildId && part(notes, sizeof note, 4) == std::string_view("Go\0\0", 4)) {
        return part(notes, sizeof note + name, note.n_descsz);
      }
      notes = part(notes, sizeof note + name + text,
                   notes.size() - std::min<uint64_t>(notes.size(), sizeof note + name + text));
    }
  }
  return {};
}

// Where its section begins, or would: it is aligned, in what can be written.
std::optional<uint64_t> build_info_at(const ElfMemory& program) {
  if (const auto section = program.section(".go.buildinfo")) return section->address;
  for (uint64_t i = 0; i < program.segments().count(); ++i) {
    const Elf64_Phdr segment = program.segments()[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
    const std::string_view bytes = program.at(segment.p_vaddr, segment.p_filesz);
    for (size_t at = bytes.find(kBuildInfo); at != std::string_view::npos;
         at = bytes.find(kBuildInfo, at + 1)) {
      if ((segment.p_vaddr + at) % 16 == 0) return segment.p_vaddr + at;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<GoProgram> read_go_program(const ElfMemory& program) {
  GoProgram found;
  found.build_id = build_id_of(program);
  const auto address = build_info_at(program);
  const std::string_view info = address ? program.from(*address) : std::string_view();
  if (!info.starts_with(kBuildInfo)) {
    if (found.build_id.empty()) return std::nullopt;
    return found;
  }
  uint8_t flags = 0;
  read_at(info, 15, &flags);
  if ((flags & kInline) != 0 && info.size() > kTextsAt) {
    std::string_view texts = info.substr(kTextsAt);
    found.version = take_text(&texts);
  } else {
    found.version = string_at(program, program.pointer(*address + 16));
  }
  return found;
}

// Counted from the struct g of each version (runtime/runtime2.go): 1.23 added syscallbp before goid, 1.25 took ret out of gobuf.
uint32_t goid_offset(std::string_view version) {
  const int minor = minor_version(version);
  if (minor < 16 || minor > 26) return 0;
  return minor == 23 || minor == 24 ? 160 : 152;
}

bool go_passes_registers(std::string_view version) {
  return minor_version(version) >= 17;
}

}  // namespace filibuster
