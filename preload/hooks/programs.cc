// Programs that this one starts: they are told which request they are started for (rpc/program_cause.h), and to which
// application they belong (application_to_pass_on). Those that the library does not enter are named (executed_program.h).
//
// A call may run in a child of vfork, which shares our memory. So nothing is kept, and a scope is closed before the
// original, which does not come back if it succeeds.
#include <alloca.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "preload/hooks/executed_program.h"
#include "preload/interpose.h"
#include "preload/os/pages.h"
#include "preload/rpc/agent.h"
#include "preload/rpc/program_cause.h"

namespace filibuster::preload {
namespace {

// Writes the variable and a zero. False: there is none to pass on.
bool variable_to_pass_on(char (&out)[kProgramCauseSize + 1]) {
  HookScope scope;
  if (scope.pass_through() || !program_cause_to_pass_on(out)) return false;
  out[kProgramCauseSize] = '\0';
  return true;
}

const char* application() {
  HookScope scope;
  return scope.pass_through() ? nullptr : application_to_pass_on();
}

template <size_t kSize>
bool is_variable(const char* text, const char (&name)[kSize]) {
  return std::strncmp(text, name, kSize - 1) == 0 && text[kSize - 1] == '=';
}

// Does the environment say by itself to what the program belongs?
bool says_where_it_belongs(char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (is_variable(*environment, "FILIBUSTER_APPLICATION") ||
        is_variable(*environment, "FILIBUSTER_DAEMON"))
      return true;
  }
  return false;
}

// An environment with the variables in it that there are to pass on; if there are none, the given one.
class Environment {
 public:
  Environment(char* const* given, const ExecutedProgram& program)
      : loader_(given, program), environment_(given) {
    const bool has_cause = variable_to_pass_on(variable_);
    const char* belongs = application();
    if (belongs != nullptr && says_where_it_belongs(given)) belongs = nullptr;
    if (!has_cause && belongs == nullptr && loader_.get() == nullptr) return;
    constexpr size_t kMore = 4;  // three variables, and the end
    size_t count = 0;
    while (given != nullptr && given[count] != nullptr) ++count;
    char** made = few_;
    if (count + kMore > kFew) {
      // An exec in a child of vfork leaves these pages to the parent.
      many_size_ = (count + kMore) * sizeof(char*);
      many_ = map_pages(many_size_);
      if (many_ == nullptr) return;
      made = static_cast<char**>(many_);
    }
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) {
      if (has_cause && is_variable(given[i], kProgramCauseVariable)) continue;
      if (loader_.get() != nullptr && is_variable(given[i], "LD_PRELOAD")) continue;
      made[size++] = given[i];
    }
    if (loader_.get() != nullptr) made[size++] = loader_.get();
    if (has_cause) made[size++] = variable_;
    if (belongs != nullptr) made[size++] = const_cast<char*>(belongs);
    made[size] = nullptr;
    environment_ = made;
  }
  ~Environment() {
    if (many_ != nullptr) unmap_pages(many_, many_size_);
  }
  Environment(const Environment&) = delete;

  char* const* get() const { return environment_; }

 private:
  static constexpr size_t kFew = 200;
  LoaderVariable loader_;
  char variable_[kProgramCauseSize + 1];
  char* few_[kFew];
  void* many_ = nullptr;
  size_t many_size_ = 0;
  char* const* environment_;
};

// A command of the shell that exports the variables first that there are to pass on; if there are none, the given one. (The
// shell is started by libc with the environment of this process, which other threads use meanwhile.)
class Command {
 public:
  explicit Command(const char* given) : command_(given) {
    char variable[kProgramCauseSize + 1];
    if (given == nullptr) return;
    const bool has_cause = variable_to_pass_on(variable);
    const char* belongs = application();
    if (belongs != nullptr && (says_where_it_belongs(environ) || std::strchr(belongs, '\'')))
      belongs = nullptr;
    if (!has_cause && belongs == nullptr) return;
    constexpr size_t kExports = 2 * sizeof "export '';";
    const size_t size = std::strlen(given) + 1;
    size_ = kExports + kProgramCauseSize + (belongs != nullptr ? std::strlen(belongs) : 0) + size;
    pages_ = map_pages(size_);
    if (pages_ == nullptr) return;
    char* at = static_cast<char*>(pages_);
    const auto add = [&at](const char* text) {
      const size_t length = std::strlen(text);
      std::memcpy(at, text, length);
      at += length;
    };
    const char* const variables[] = {has_cause ? variable : nullptr, belongs};
    for (const char* each : variables) {
      if (each == nullptr) continue;
      add("export '");
      add(each);
      add("';");
    }
    std::memcpy(at, given, size);
    command_ = static_cast<const char*>(pages_);
  }
  ~Command() {
    if (pages_ != nullptr) unmap_pages(pages_, size_);
  }
  Command(const Command&) = delete;

  const char* get() const { return command_; }

 private:
  void* pages_ = nullptr;
  size_t size_ = 0;
  const char* command_;
};

// The arguments of execl and its like.
struct Arguments {
  va_list list;
};

// The number of arguments; the list stands behind the null pointer that ends them.
size_t count_arguments(const char* first, Arguments* arguments) {
  size_t count = 0;
  for (const char* at = first; at != nullptr; at = va_arg(arguments->list, const char*)) ++count;
  return count;
}

// Writes `count` arguments and a null pointer.
void copy_arguments(char** out, size_t count, const char* first, Arguments* arguments) {
  for (size_t i = 0; i < count; ++i)
    out[i] = i == 0 ? const_cast<char*>(first) : va_arg(arguments->list, char*);
  if (count != 0) va_arg(arguments->list, char*);
  out[count] = nullptr;
}

// The actions come before the program is looked for, and may change the folder.
ExecutedProgram spawned(const char* path, const posix_spawn_file_actions_t* actions,
                        bool by_search) {
  const bool in_a_folder =
      path != nullptr && path[0] != '/' && (!by_search || std::strchr(path, '/') != nullptr);
  return {path, AT_FDCWD, by_search, in_a_folder && actions != nullptr};
}

}  // namespace
}  // namespace filibuster::preload

using namespace filibuster::preload;

FILIBUSTER_HOOK(int, execve, (const char* path, char* const* argv, char* const* envp)) {
  const Environment environment(envp, {path});
  return REAL(execve)(path, argv, environment.get());
}

FILIBUSTER_HOOK(int, execveat,
                (int fd, const char* path, char* const* argv, char* const* envp, int flags)) {
  const Environment environment(envp, {path, fd});
  const auto original = REAL(execveat);
  if (original != nullptr) return original(fd, path, argv, environment.get(), flags);
  errno = ENOSYS;
  return -1;
}

FILIBUSTER_HOOK(int, fexecve, (int fd, char* const* argv, char* const* envp)) {
  const Environment environment(envp, {"", fd});
  return REAL(fexecve)(fd, argv, environment.get());
}

FILIBUSTER_HOOK(int, execvpe, (const char* file, char* const* argv, char* const* envp)) {
  const Environment environment(envp, {file, AT_FDCWD, /*by_search=*/true});
  return REAL(execvpe)(file, argv, environment.get());
}

FILIBUSTER_HOOK(int, execv, (const char* path, char* const* argv)) {
  const Environment environment(environ, {path});
  return REAL(execve)(path, argv, environment.get());
}

FILIBUSTER_HOOK(int, execvp, (const char* file, char* const* argv)) {
  const Environment environment(environ, {file, AT_FDCWD, /*by_search=*/true});
  return REAL(execvpe)(file, argv, environment.get());
}

FILIBUSTER_HOOK(int, execl, (const char* path, const char* first, ...)) {
  Arguments arguments;
  va_start(arguments.list, first);
  const size_t count = count_arguments(first, &arguments);
  va_end(arguments.list);
  char** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  va_start(arguments.list, first);
  copy_arguments(argv, count, first, &arguments);
  va_end(arguments.list);
  const Environment environment(environ, {path});
  return REAL(execve)(path, argv, environment.get());
}

FILIBUSTER_HOOK(int, execlp, (const char* file, const char* first, ...)) {
  Arguments arguments;
  va_start(arguments.list, first);
  const size_t count = count_arguments(first, &arguments);
  va_end(arguments.list);
  char** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  va_start(arguments.list, first);
  copy_arguments(argv, count, first, &arguments);
  va_end(arguments.list);
  const Environment environment(environ, {file, AT_FDCWD, /*by_search=*/true});
  return REAL(execvpe)(file, argv, environment.get());
}

FILIBUSTER_HOOK(int, execle, (const char* path, const char* first, ...)) {
  Arguments arguments;
  va_start(arguments.list, first);
  const size_t count = count_arguments(first, &arguments);
  va_end(arguments.list);
  char** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  va_start(arguments.list, first);
  copy_arguments(argv, count, first, &arguments);
  char* const* envp = va_arg(arguments.list, char* const*);
  va_end(arguments.list);
  const Environment environment(envp, {path});
  return REAL(execve)(path, argv, environment.get());
}

FILIBUSTER_HOOK(int, posix_spawn,
                (pid_t * pid, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* argv, char* const* envp)) {
  const Environment environment(envp, spawned(path, actions, false));
  return REAL(posix_spawn)(pid, path, actions, attributes, argv, environment.get());
}

FILIBUSTER_HOOK(int, posix_spawnp,
                (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* argv, char* const* envp)) {
  const Environment environment(envp, spawned(file, actions, true));
  return REAL(posix_spawnp)(pid, file, actions, attributes, argv, environment.get());
}

FILIBUSTER_HOOK(int, system, (const char* text)) {
  const Command command(text);
  return REAL(system)(command.get());
}

FILIBUSTER_HOOK(FILE*, popen, (const char* text, const char* mode)) {
  const Command command(text);
  return REAL(popen)(command.get(), mode);
}
