// What a Go program says of itself: which Go built it, and what follows from that (.go.buildinfo, .note.go.buildid).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/program/elf_memory.h"

namespace filibuster {

struct GoProgram {
  std::string_view version;   // "go1.19.8"; empty: not said
  std::string_view build_id;  // of Go's own, not the GNU build id; empty: none
};

// nullopt: no Go program. The texts are views into the program's bytes.
std::optional<GoProgram> read_go_program(const ElfMemory& program);

// Bytes from the start of runtime.g to its field goid, on 64-bit machines. 0: not known of this version.
uint32_t goid_offset(std::string_view version);
// Since Go 1.17, arguments come in registers and R14 holds g (cmd/compile, abi-internal.md).
bool go_passes_registers(std::string_view version);

}  // namespace filibuster
