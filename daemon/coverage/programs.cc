#include "daemon/coverage/programs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "core/program/mapped_file.h"
#include "daemon/process/preflight.h"

namespace filibuster::coverage {
namespace {

constexpr LanguageRow kRows[] = {{Language::kPython, "python", "coverage.py"},
                                 {Language::kNode, "node", "V8"},
                                 {Language::kJava, "java", "JaCoCo"},
                                 {Language::kNative, "native", "gcov"}};

struct NameRow {
  const char* prefix;                // of the file's name, with or without links followed
  bool whole;                        // the whole name must be equal
  std::optional<Language> language;  // nullopt: it may run anything
};
constexpr NameRow kNames[] = {
    {"python", false, Language::kPython}, {"pypy", false, Language::kPython},
    {"node", true, Language::kNode},      {"nodejs", true, Language::kNode},
    {"java", true, Language::kJava},      {"sh", true, std::nullopt},
    {"dash", true, std::nullopt},         {"bash", true, std::nullopt},
    {"zsh", true, std::nullopt},          {"busybox", true, std::nullopt},
    {"env", true, std::nullopt},          {"perl", true, std::nullopt},
    {"make", true, std::nullopt}};

const NameRow* row_of_name(const std::string& program) {
  std::error_code ignored;
  const auto whole = std::filesystem::canonical(program, ignored);
  for (const std::string& name :
       {whole.filename().string(), std::filesystem::path(program).filename().string()}) {
    for (const NameRow& row : kNames) {
      if (row.whole ? name == row.prefix : name.starts_with(row.prefix)) return &row;
    }
  }
  return nullptr;
}

// Programs that gcc built with --coverage know the names of their data files.
bool built_with_coverage(const std::string& program) {
  constexpr std::string_view kSuffix(".gcda", 6);  // with its final zero
  const MappedFile file(program);
  const std::string_view bytes = file.bytes();
  return memmem(bytes.data(), bytes.size(), kSuffix.data(), kSuffix.size()) != nullptr;
}

}  // namespace

const LanguageRow& row_of(Language language) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const LanguageRow& row) { return row.language == language; });
}

ServiceProgram look_at_program(const std::vector<std::string>& argv, const std::string& directory,
                               const std::string& path_variable) {
  ServiceProgram out;
  for (const ProgramCheck& check : check_command(argv, directory, path_variable)) {
    const NameRow* const row = row_of_name(check.program);
    const bool native = row == nullptr && built_with_coverage(check.program);
    if (!native && (row == nullptr || !row->language)) {
      // What a shell or a script starts comes after it in the list.
      out.program = check.program;
      out.reason = row != nullptr ? ""
                                  : check.program +
                                        " was not built with gcc's --coverage, and is neither "
                                        "Python nor Node nor a JVM";
      continue;
    }
    out.languages = {native ? Language::kNative : *row->language};
    out.certain = true;
    out.program = check.program;
    out.reason.clear();
    return out;
  }
  if (!out.reason.empty()) return out;
  for (const LanguageRow& row : kRows) out.languages.insert(row.language);
  return out;
}

}  // namespace filibuster::coverage
