#include "cli/program_check.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "core/program/elf_image.h"
#include "core/program/entry_text.h"
#include "core/program/file_rights.h"
#include "core/program/interpreter_line.h"
#include "core/program/mapped_file.h"

namespace filibuster::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxInterpreters = 5;  // as deep as the kernel follows "#!"

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string file = (directory.empty() ? "." : directory) + "/" + name;
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return "";
}

// The program that a "#!" line names. If that is `env`, the program that `env` looks for.
std::string interpreter_of(std::string_view bytes) {
  const std::vector<std::string_view> line = interpreter_line(bytes);
  if (line.empty()) return "";
  const std::string_view inner = is_env(line[0]) ? after_env(line) : std::string_view();
  return std::string(inner.empty() ? line[0] : inner);
}

void check_image(const ElfImage& image, ProgramCheck* check) {
  const Entry entry = image.entry(check->file);
  if (entry != Entry::kByGlibc)
    check->obstacles.push_back(obstacle_text(entry, image.machine, image.interpreter));
  if (entry == Entry::kOtherMachine) return;
  if (image.go) check->obstacles.push_back("is a Go program: it calls the kernel without libc");
  if (const std::string library(image.asan_runtime()); !library.empty()) {
    check->remarks.push_back("built with AddressSanitizer: LD_PRELOAD must name " + library +
                             " first (filibuster does so for what it starts)");
  }
}

}  // namespace

Result<ProgramCheck> check_program(const std::string& name) {
  ProgramCheck check;
  std::string file = find_program(name);
  if (file.empty()) return Error{"'" + name + "' is not a program that can be run from here"};
  for (int depth = 0; depth < kMaxInterpreters; ++depth) {
    std::error_code failed;
    const fs::path real = fs::canonical(file, failed);
    check.file = failed ? file : real.string();
    const MappedFile mapped(check.file);
    if (mapped.bytes().starts_with("#!")) {
      const std::string interpreter = interpreter_of(mapped.bytes());
      check.remarks.push_back(check.file + " is a script of " + interpreter);
      file = find_program(interpreter);
      if (file.empty())
        return Error{"interpreter '" + interpreter + "' of " + check.file + " was not found"};
      continue;
    }
    if (const Gain gain = gain_by_starting(check.file); gain != Gain::kNone)
      check.obstacles.push_back(obstacle_text(gain));
    if (mapped.bytes().empty()) {
      check.obstacles.push_back("cannot be read");
    } else if (const auto image = read_elf(mapped.bytes())) {
      check_image(*image, &check);
    } else {
      check.obstacles.push_back("is neither an ELF program nor a script");
    }
    return check;
  }
  return Error{"'" + name + "' is a script whose interpreter is a script, and so on for " +
               std::to_string(kMaxInterpreters) + " levels: the kernel does not run it"};
}

}  // namespace filibuster::cli
