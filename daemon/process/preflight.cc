#include "daemon/process/preflight.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "core/program/elf_image.h"
#include "core/program/interpreter_line.h"
#include "core/program/mapped_file.h"

namespace filibuster {
namespace {

constexpr int kMostIndirections = 5;  // the kernel follows at most 4 `#!` lines (binfmt_script)

struct MachineRow {
  uint16_t machine;
  const char* name;
};
constexpr MachineRow kMachines[] = {
    {EM_X86_64, "x86-64"}, {EM_386, "32-bit x86"}, {EM_AARCH64, "arm64"}, {EM_ARM, "32-bit arm"},
    {EM_RISCV, "riscv"},   {EM_S390, "s390"},      {EM_PPC64, "ppc64"}};

std::string machine_name(uint16_t machine) {
  for (const MachineRow& row : kMachines) {
    if (row.machine == machine) return row.name;
  }
  return "machine " + std::to_string(machine);
}

// The loader drops LD_PRELOAD (AT_SECURE) when the program gains rights.
void check_rights(const std::string& file, std::vector<std::string>* obstacles) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) return;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) {
    obstacles->push_back("is setuid: the loader ignores LD_PRELOAD for it");
  } else if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) {
    obstacles->push_back("is setgid: the loader ignores LD_PRELOAD for it");
  } else if (getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    obstacles->push_back("has file capabilities: the loader ignores LD_PRELOAD for it");
  }
}

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
  check_rights(file, &check.obstacles);
  const MappedFile mapped(file);
  const std::optional<ElfImage> image = read_elf(mapped.bytes());
  if (!image) return check;
  if (!image->native()) {
    check.obstacles.push_back("is built for " + machine_name(image->machine) +
                              ", libfilibuster.so for " + machine_name(kNativeMachine));
    return check;
  }
  if (image->interpreter.empty()) {
    check.obstacles.emplace_back("is statically linked: no library can be preloaded into it");
  } else if (!image->loaded_by_glibc()) {
    check.obstacles.push_back("is loaded by " + std::string(image->interpreter) +
                              ", not by glibc's loader");
  }
  if (image->go) {
    check.obstacles.emplace_back(
        "is a Go program: its calls go to the kernel directly, not through libc");
  }
  check.asan_runtime = image->asan_runtime();
  return check;
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
