#include "daemon/base/own_files.h"

#include <sys/prctl.h>

#include <cstdlib>
#include <filesystem>

#include "core/program/entry.h"

namespace filibuster {

namespace fs = std::filesystem;

std::string own_directory() {
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return ".";
  const fs::path folder = executable.parent_path();
  // lib/filibuster/packed/ld-linux-x86-64.so.2
  if (folder.filename() == "packed" && is_loader_of_glibc(executable.native()))
    return (folder.parent_path().parent_path().parent_path() / "bin").string();
  return folder.string();
}

void take_name(const char* program) {
  prctl(PR_SET_NAME, program);
}

std::string preload_path() {
  if (const char* const given = std::getenv("FILIBUSTER_PRELOAD");
      given != nullptr && *given != '\0') {
    return fs::absolute(given).string();
  }
  return (fs::path(own_directory()).parent_path() / "lib/libfilibuster.so").string();
}

std::string helper_path(const char* name) {
  return (fs::path(preload_path()).parent_path() / "filibuster" / name).string();
}

}  // namespace filibuster
