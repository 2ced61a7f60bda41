#include "preload/hooks/executed_program.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/text/number.h"
#include "preload/interpose.h"
#include "preload/os/pages.h"
#include "preload/os/raw_syscall.h"
#include "preload/rpc/agent.h"
#include "preload/session/outside.h"
#include "preload/session/state.h"

namespace filibuster::preload {
namespace {

constexpr char kLoaderVariable[] = "LD_PRELOAD=";
constexpr std::string_view kLibraryName = "libfilibuster.so";
constexpr int kMostScripts = 5;  // the kernel follows at most 4 `#!` lines (binfmt_script)
constexpr size_t kLongestPath =
    320;  // of a program that is looked at, since the caller's stack may be small

// This library behind kOnlyForGlibc, as it was when the process began: what asks the loader takes a lock of it, which
// somebody may hold when the process forks. Empty: its path is not known, or LD_PRELOAD cannot have it.
constinit char g_only_for_glibc[kOnlyForGlibc.size() + PATH_MAX];

__attribute__((constructor)) void find_own_path() {
  Dl_info own;
  if (dladdr(&g_only_for_glibc, &own) == 0 || own.dli_fname == nullptr) return;
  const std::string_view name = own.dli_fname;
  const std::string_view folder = name.starts_with('/') ? "" : identity().directory;
  const size_t size = folder.size() + 1 + name.size();
  if (size >= PATH_MAX || (folder.empty() && !name.starts_with('/')) ||
      name.find_first_of(" :$") != name.npos || folder.find_first_of(" :$") != folder.npos)
    return;
  char* at = g_only_for_glibc;
  const auto add = [&at](std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  add(kOnlyForGlibc);
  add(folder);
  if (!folder.empty()) add("/");
  add(name);
}

bool is_this_library(std::string_view entry) {
  return !entry.starts_with('$') && entry.substr(entry.rfind('/') + 1) == kLibraryName;
}

// Calls `take` with each entry of LD_PRELOAD, and what stands in front of it.
template <typename Take>
void each_entry(std::string_view value, const Take& take) {
  for (size_t at = 0; at < value.size();) {
    const size_t begin = value.find_first_not_of(" :", at);
    const size_t end = value.find_first_of(" :", begin);
    if (begin == value.npos) break;
    take(value.substr(at, begin - at), value.substr(begin, end - begin));
    at = end;
  }
}

// "NAME=value" of the environment; nullptr: it has none.
const char* variable_in(char* const* environment, std::string_view name) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name.data(), name.size()) == 0) return *environment;
  }
  return nullptr;
}

// What stands at the path may be no program: a pipe would wait for a writer, and a terminal become ours.
constexpr int kLooking = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

class OpenProgram {
 public:
  OpenProgram(int directory, const char* path)
      : fd_(static_cast<int>(raw_syscall(SYS_openat, directory, path, kLooking, 0))) {}
  ~OpenProgram() {
    if (fd_ >= 0) raw_syscall(SYS_close, fd_);
  }
  OpenProgram(const OpenProgram&) = delete;
  int fd() const { return fd_; }
  bool read(uint64_t offset, void* out, size_t size) const {
    return raw_syscall(SYS_pread64, fd_, out, size, offset) == static_cast<long>(size);
  }

 private:
  int fd_;
};

// What is known of a program. Not every one can be read, and not every one is there.
struct Known {
  bool is_elf = false;
  ProgramHead head;
  Gain gain = Gain::kNone;
  char path[kLongestPath];
  Entry entry() const { return entry_of(head.machine, head.same_layout, head.loader, path); }
};

bool copy_path(std::string_view from, Known* out) {
  if (from.size() >= sizeof out->path) return false;
  std::memcpy(out->path, from.data(), from.size());
  out->path[from.size()] = '\0';
  return true;
}

// Writes the path of the first file in PATH that may be executed, as execvp finds it.
bool search(const char* name, Known* out) {
  const char* const variable = std::getenv("PATH");
  const std::string_view folders = variable != nullptr ? variable : "/bin:/usr/bin";
  const size_t size = std::strlen(name);
  for (size_t at = 0; at <= folders.size();) {
    const std::string_view folder = folders.substr(at, folders.find(':', at) - at);
    at += folder.size() + 1;
    if (folder.size() + 1 + size >= sizeof out->path) return false;
    char* end = out->path;
    std::memcpy(end, folder.data(), folder.size());
    end += folder.size();
    if (!folder.empty()) *end++ = '/';
    std::memcpy(end, name, size + 1);
    struct stat status;
    if (raw_syscall(SYS_faccessat, AT_FDCWD, out->path, X_OK) == 0 &&
        raw_syscall(SYS_newfstatat, AT_FDCWD, out->path, &status, 0) == 0 &&
        S_ISREG(status.st_mode))
      return true;
  }
  return false;
}

bool place(const ExecutedProgram& program, Known* out) {
  if (program.path == nullptr || program.elsewhere) return false;
  if (program.path[0] == '\0') {
    constexpr std::string_view kFolder = "/proc/self/fd/";
    char digits[20];
    const std::string_view number =
        number_text(static_cast<uint64_t>(program.directory), 10, digits);
    if (program.directory < 0 || !copy_path(kFolder, out)) return false;
    std::memcpy(out->path + kFolder.size(), number.data(), number.size());
    out->path[kFolder.size() + number.size()] = '\0';
    return true;
  }
  if (program.by_search && std::strchr(program.path, '/') == nullptr)
    return search(program.path, out);
  return copy_path(program.path, out);
}

void read_rights(const OpenProgram& file, Known* out) {
  struct stat status;
  if (raw_syscall(SYS_fstat, file.fd(), &status) != 0) return;
  const auto user = static_cast<uint32_t>(raw_syscall(SYS_getuid));
  const bool has_capabilities =
      user != 0 && raw_syscall(SYS_fgetxattr, file.fd(), "security.capability", nullptr, 0) > 0;
  out->gain = gain_of({status.st_mode, status.st_uid, status.st_gid, has_capabilities}, user,
                      static_cast<uint32_t>(raw_syscall(SYS_getgid)));
}

// The program that a `#!` line names takes the place of the script. False: that is not known.
bool take_interpreter(const OpenProgram& file, Known* out) {
  char line[sizeof out->path];
  const long size = raw_syscall(SYS_pread64, file.fd(), line, sizeof line, 0);
  std::string_view rest(line, size > 0 ? static_cast<size_t>(size) : 0);
  if (!rest.starts_with("#!")) return false;
  rest.remove_prefix(2);
  rest = rest.substr(0, rest.find('\n'));
  const size_t begin = rest.find_first_not_of(" \t");
  return begin != rest.npos &&
         copy_path(rest.substr(begin, rest.find_first_of(" \t\r", begin) - begin), out);
}

__attribute__((noinline)) bool look_at(const ExecutedProgram& program, Known* out) {
  if (!place(program, out)) return false;
  int directory = program.directory;
  for (int scripts = 0; scripts <= kMostScripts; ++scripts, directory = AT_FDCWD) {
    const OpenProgram file(directory, out->path);
    if (file.fd() < 0) return false;
    out->is_elf = read_program_head(
        [&file](uint64_t offset, void* to, size_t size) { return file.read(offset, to, size); },
        &out->head);
    if (out->is_elf) {
      read_rights(file, out);
      return true;
    }
    if (!take_interpreter(file, out)) return false;
  }
  return false;
}

}  // namespace

LoaderVariable::LoaderVariable(char* const* environment, const ExecutedProgram& program) {
  const HookScope scope;
  const char* const given = variable_in(environment, kLoaderVariable);
  if (scope.pass_through() || given == nullptr) return;
  bool names_us = false, plainly = false;
  each_entry(given + sizeof kLoaderVariable - 1, [&](std::string_view, std::string_view entry) {
    plainly = plainly || is_this_library(entry);
    names_us = names_us || entry.ends_with(kLibraryName);
  });
  if (!names_us) return;
  Known known;
  if (look_at(program, &known)) {
    const Entry entry = known.entry();
    if (entry != Entry::kByGlibc || known.gain != Gain::kNone)
      tell_of_program_outside(
          {entry, known.gain, known.head.machine, known.head.loader, known.path});
    if (entry == Entry::kByGlibc) return;
  }
  if (plainly && g_only_for_glibc[0] != '\0') write(given);
}

void LoaderVariable::write(const char* given) {
  const std::string_view value = given + sizeof kLoaderVariable - 1, ours = g_only_for_glibc;
  size_t size = sizeof kLoaderVariable;
  each_entry(value, [&](std::string_view before, std::string_view entry) {
    size += before.size() + (is_this_library(entry) ? ours : entry).size();
  });
  text_ = few_;
  if (size > sizeof few_) {
    many_size_ = size;
    many_ = map_pages(many_size_);
    text_ = static_cast<char*>(many_);
    if (text_ == nullptr) return;
  }
  char* at = text_;
  const auto add = [&at](std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  add(kLoaderVariable);
  each_entry(value, [&](std::string_view before, std::string_view entry) {
    add(before);
    add(is_this_library(entry) ? ours : entry);
  });
  *at = '\0';
}

LoaderVariable::~LoaderVariable() {
  if (many_ != nullptr) unmap_pages(many_, many_size_);
}

}  // namespace filibuster::preload
