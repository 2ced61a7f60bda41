// Looks at a command before it is started: can libfilibuster.so be loaded into the program that it
// runs? If not, faults would silently have no effect, so the program is named (docs/laws.md, law 2).
// Follows `#!` lines, /usr/bin/env and, for `/bin/sh -c TEXT`, the first program of TEXT.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/program/entry.h"

namespace filibuster {

struct ProgramCheck {
  std::string program;  // the ELF file that will run
  std::string reached;  // the way to it: "users.py -> /usr/bin/python3"; empty: named directly
  std::vector<std::string> obstacles;  // "is statically linked"; empty: none known
  Entry entry = Entry::kByGlibc;       // what is no ELF file, too
  std::string asan_runtime;  // "libasan.so.8", if it needs one: must come first in LD_PRELOAD
};

// Empty where the program is not found (starting it will say so).
std::vector<ProgramCheck> check_command(const std::vector<std::string>& argv,
                                        const std::string& directory,
                                        std::string_view path_variable);
// What LD_PRELOAD has to be for a command with these programs.
struct PreloadNeeds {
  std::string asan_runtime;  // comes first; empty: none does
  bool only_for_glibc =
      false;  // core/program/entry.h: one of them, or what it starts, could not load the library
};
PreloadNeeds preload_needs(const std::vector<ProgramCheck>& checks);
// The obstacles of one ELF file, and its ASan runtime.
ProgramCheck check_elf(const std::string& file);

// The file of the program `name`: if it has a slash, relative to `directory`, else by PATH. "": none.
std::string find_program(const std::string& name, const std::string& directory,
                         std::string_view path_variable);
// The first program of a shell command: "A=1 exec ./users --port 1" -> "./users". Empty: unclear.
std::string first_program_of(std::string_view shell_text);

}  // namespace filibuster
