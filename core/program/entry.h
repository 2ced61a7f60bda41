// Does a program get a library that LD_PRELOAD names? One answer for a program that is about to be started here, for one of a
// container's image, and for one that a process of an application executes: so nothing here allocates, and what is read
// may come from anybody.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace filibuster {

#if defined(__x86_64__)
inline constexpr uint16_t kNativeMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr uint16_t kNativeMachine = EM_AARCH64;
#endif

// What loads a program decides it.
enum class Entry : uint8_t {
  kByGlibc,       // its loader is glibc's, which brings the library in
  kStatic,        // nobody loads it
  kMusl,          // musl's loader ends a program if a library needs what only glibc has
  kOtherLoader,   // nothing is known of it
  kOtherMachine,  // it is not for this machine, or has 32 bits
};

// What decides it, of an ELF file.
struct ProgramHead {
  uint16_t machine = 0;      // EM_*
  bool same_layout = false;  // 64-bit, little-endian: only then is the rest read
  // The path of the program's loader, or the end of a long one. Empty: it has none.
  char loader[160] = {};
};

// The file name of a loader, which may be run as a program, too.
inline bool is_loader_of_glibc(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name == "ld.so";
}
inline bool is_loader_of_musl(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("ld-musl");
}

// `path` is the program's own: a loader that is given a program as its argument (`ld.so ./users`) has no loader.
inline Entry entry_of(uint16_t machine, bool same_layout, std::string_view loader,
                      std::string_view path) {
  if (!same_layout || machine != kNativeMachine) return Entry::kOtherMachine;
  const std::string_view decides = loader.empty() ? path : loader;
  if (is_loader_of_glibc(decides)) return Entry::kByGlibc;
  if (is_loader_of_musl(decides)) return Entry::kMusl;
  return loader.empty() ? Entry::kStatic : Entry::kOtherLoader;
}

// `read(offset, out, size)` reads that much of the file, or says false. False: this is no ELF file.
template <typename Read>
bool read_program_head(const Read& read, ProgramHead* out) {
  Elf64_Ehdr header;
  if (!read(uint64_t{0}, &header, sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  const unsigned char bits = header.e_ident[EI_CLASS], order = header.e_ident[EI_DATA];
  if ((bits != ELFCLASS32 && bits != ELFCLASS64) || (order != ELFDATA2LSB && order != ELFDATA2MSB))
    return false;
  out->machine = header.e_machine;  // at the same place in both classes
  if (order == ELFDATA2MSB) out->machine = __builtin_bswap16(out->machine);
  out->same_layout = bits == ELFCLASS64 && order == ELFDATA2LSB;
  if (!out->same_layout || header.e_phentsize != sizeof(Elf64_Phdr)) return true;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(header.e_phoff + i * sizeof segment, &segment, sizeof segment)) break;
    if (segment.p_type != PT_INTERP || segment.p_filesz < 2) continue;
    const uint64_t room = sizeof out->loader - 1;
    const uint64_t size = segment.p_filesz < room ? segment.p_filesz : room;
    if (!read(segment.p_offset + segment.p_filesz - size, out->loader, size)) out->loader[0] = '\0';
    return true;
  }
  return true;
}

// The kernel tells the loader that a program gains rights by being started (AT_SECURE). Loaders then leave out what LD_PRELOAD
// names by its path, and glibc's takes the variable away from what the program starts, too.
enum class Gain : uint8_t { kNone, kUser, kGroup, kCapabilities };

struct FileRights {
  uint32_t mode = 0, owner = 0, group = 0;
  bool has_capabilities = false;  // the attribute "security.capability"
};

// For a process of this (real) user and group.
inline Gain gain_of(const FileRights& file, uint32_t user, uint32_t group) {
  constexpr uint32_t kSetUser = 04000, kSetGroup = 02000, kGroupMayExecute = 010;
  if ((file.mode & kSetUser) != 0 && file.owner != user) return Gain::kUser;
  // Without the right to execute the bit means something else (inode(7)).
  if ((file.mode & kSetGroup) != 0 && (file.mode & kGroupMayExecute) != 0 && file.group != group)
    return Gain::kGroup;
  return file.has_capabilities && user != 0 ? Gain::kCapabilities : Gain::kNone;
}

// Only glibc's loader puts the folder of the program in the place of $ORIGIN (ld.so(8)), and the folder above the root is the
// root: so it finds the library of an absolute path that stands behind this, and others find no such file, which musl's does not
// mind. LD_PRELOAD has it where a program is executed that the library does not enter: the programs that it starts get the library.
inline constexpr std::string_view kOnlyForGlibc =
    "$ORIGIN/../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../"
    "../../../../../../../..";

}  // namespace filibuster
