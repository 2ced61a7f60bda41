#include "daemon/process/preflight.h"

#include <unistd.h>

#include <filesystem>

#include "core/program/elf_image.h"
#include "core/program/entry_text.h"
#include "core/program/file_rights.h"
#include "core/program/interpreter_line.h"
#include "core/program/mapped_file.h"

namespace filibuster {
namespace {

constexpr int kMostIndirections = 5;  // the kernel follows at most 4 `#!` lines (binfmt_script)

void check_file(const std::string& file, const std::string& reached, const std::string& directory,
                std::string_view path_variable, int depth, std::vector<ProgramCheck>* out) {
  if (file.empty() || depth > kMostIndirections) return;
  const MappedFile mapped(file);
  const std::vector<std::string_view> line = interpreter_line(mapped.bytes());
  const std::string via = (reached.empty() ? "" : reached + " -> ") + file;
  if (!line.empty()) {
    const std::string next(is_env(line[0]) ? after_env(line) : line[0]);
    check_file(find_program(next, directory, path_variable), via, directory, path_variable,
               depth + 1, out);
    return;
  }
  ProgramCheck check = check_elf(file);
  check.reached = reached.empty() ? "" : via;
  out->push_back(std::move(check));
}

}  // namespace

ProgramCheck check_elf(const std::string& file) {
  ProgramCheck check;
  check.program = file;
  const auto add = [&check](std::string text) {
    if (!text.empty()) check.obstacles.push_back(std::move(text));
  };
  add(obstacle_text(gain_by_starting(file)));
  const MappedFile mapped(file);
  const std::optional<ElfImage> image = read_elf(mapped.bytes());
  if (!image) return check;
  check.entry = image->entry(file);
  add(obstacle_text(check.entry, image->machine, image->interpreter));
  if (check.entry == Entry::kOtherMachine) return check;
  if (image->go) {
    check.obstacles.emplace_back(
        "is a Go program: its calls go to the kernel directly, not through libc");
  }
  check.asan_runtime = image->asan_runtime();
  return check;
}

PreloadNeeds preload_needs(const std::vector<ProgramCheck>& checks) {
  PreloadNeeds needs;
  for (const ProgramCheck& check : checks) {
    if (!check.asan_runtime.empty()) needs.asan_runtime = check.asan_runtime;
    if (check.entry != Entry::kByGlibc) needs.only_for_glibc = true;
  }
  return needs;
}

std::string find_program(const std::string& name, const std::string& directory,
                         std::string_view path_variable) {
  namespace fs = std::filesystem;
  if (name.empty()) return "";
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    const fs::path file = fs::path(directory.empty() ? "." : directory) / name;
    return fs::is_regular_file(file, ignored) ? file.lexically_normal().string() : "";
  }
  for (size_t begin = 0; begin <= path_variable.size();) {
    size_t end = path_variable.find(':', begin);
    if (end == std::string_view::npos) end = path_variable.size();
    const fs::path file = fs::path(path_variable.substr(begin, end - begin)) / name;
    if (fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0) return file.string();
    begin = end + 1;
  }
  return "";
}

std::string first_program_of(std::string_view shell_text) {
  for (const std::string_view word : split_words(shell_text)) {
    if (is_assignment(word) || word == "exec" || word == "env" || word == "nohup") continue;
    // Anything but a plain word is the shell's own business.
    if (word.find_first_of("$`'\"(){};&|<>*?") != std::string_view::npos) return "";
    if (word == "cd" || word == "if" || word == "for" || word == "while") return "";
    return std::string(word);
  }
  return "";
}

std::vector<ProgramCheck> check_command(const std::vector<std::string>& argv,
                                        const std::string& directory,
                                        std::string_view path_variable) {
  std::vector<ProgramCheck> out;
  if (argv.empty()) return out;
  const std::string program = find_program(argv[0], directory, path_variable);
  check_file(program, "", directory, path_variable, 0, &out);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  std::string inner;
  if (argv.size() >= 3 && argv[1] == "-c" && (name == "sh" || name == "bash" || name == "dash")) {
    inner = first_program_of(argv[2]);
  } else if (name == "env") {
    inner = after_env({argv.begin(), argv.end()});
  }
  if (!inner.empty()) {
    check_file(find_program(inner, directory, path_variable), argv[0], directory, path_variable, 1,
               &out);
  }
  return out;
}

}  // namespace filibuster
