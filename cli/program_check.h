// Can libfilibuster.so enter a program? Follows `#!` lines to the interpreter.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace filibuster::cli {

struct ProgramCheck {
  std::string file;                    // the program that runs in the end, after scripts and links
  std::vector<std::string> obstacles;  // empty: it can be interposed
  std::vector<std::string> remarks;
};
// Error: there is no such program.
Result<ProgramCheck> check_program(const std::string& name);

}  // namespace filibuster::cli
