// Which tool measures the statements of a service: found by looking at the program that its command
// starts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace filibuster::coverage {

enum class Language { kPython, kNode, kJava, kNative };

struct LanguageRow {
  Language language;
  const char* folder;  // of its data
  const char* tool;
};
const LanguageRow& row_of(Language language);

struct ServiceProgram {
  // The languages whose tools measure it: all if the program does not say what it will run (a shell script).
  std::set<Language> languages;
  bool certain = false;
  std::string program;  // the interpreter or program, as it was found
  std::string reason;   // why nothing measures it; empty: something does
};

ServiceProgram look_at_program(const std::vector<std::string>& argv, const std::string& directory,
                               const std::string& path_variable);

}  // namespace filibuster::coverage
