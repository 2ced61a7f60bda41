// Before main: NODE_OPTIONS asks Node to run our script first. The script takes it out again, so
// that neither the program nor its children (which are preloaded themselves) see a difference.
//
// Our script must never keep a program from starting: where Node might refuse to load the script, it is
// not asked for, and the report says so.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "preload/os/copies.h"
#include "preload/os/pages.h"
#include "preload/os/raw_syscall.h"
#include "preload/os/symbols.h"
#include "preload/rpc/draws.h"
#include "preload/runtimes/node/node.h"

namespace filibuster::preload::node {
namespace {

constexpr std::string_view kVariable = "NODE_OPTIONS=";
constexpr std::string_view kLibrary = "/libfilibuster.so";
constexpr std::string_view kScript = "/filibuster/node.cjs";

constinit std::string_view g_problem;  // why the script was not asked for; static text
constinit bool g_asked = false;
constinit bool g_inspected = false;
constinit std::atomic<bool> g_started{false};

// Options under which Node refuses files or addons that the user did not allow, or runs no script
// of others at all. (nodejs.org/api/cli.html)
struct Refusal {
  std::string_view option;  // also followed by "=..."
  std::string_view problem;
};
constexpr Refusal kRefusals[] = {
    {"--permission", "node: not followed under --permission: call sites and causes are not known"},
    {"--experimental-permission",
     "node: not followed under --experimental-permission: call sites and causes are not known"},
    {"--experimental-policy",
     "node: not followed under --experimental-policy: call sites and causes are not known"},
    {"--no-addons", "node: not followed under --no-addons: call sites and causes are not known"},
    {"--build-snapshot",
     "node: not followed under --build-snapshot: call sites and causes are not known"},
};

bool is_option(std::string_view word, std::string_view option) {
  return word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
}

// Blanks separate words; quotes need no attention: a word that only looks like such an option costs
// no more than the helper.
void look_at_words(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find_first_of(" \"");
    const std::string_view word = text.substr(0, end);
    for (const Refusal& refusal : kRefusals) {
      if (is_option(word, refusal.option)) g_problem = refusal.problem;
    }
    if (word.starts_with("--inspect")) g_inspected = true;
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
}

void look_at_arguments(int argc, char** argv) {
  for (int i = 1; i < argc && argv[i] != nullptr; ++i) {
    if (std::strcmp(argv[i], "--") == 0) return;
    look_at_words(argv[i]);
  }
}

// The absolute path of the folder that this library lies in, without a final slash; empty: unknown.
std::string_view library_folder(char* buffer, size_t capacity) {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0) return {};
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, info.dli_fname, O_PATH | O_CLOEXEC, 0);
  if (fd < 0) return {};
  char link[40] = "/proc/self/fd/";
  size_t at = std::strlen(link);
  char digits[12];
  size_t count = 0;
  for (long n = fd; n != 0 || count == 0; n /= 10)
    digits[count++] = static_cast<char>('0' + n % 10);
  while (count > 0) link[at++] = digits[--count];
  const long size = raw_syscall(SYS_readlinkat, AT_FDCWD, link, buffer, capacity);
  raw_syscall(SYS_close, fd);
  if (size <= 0 || static_cast<size_t>(size) == capacity) return {};
  const std::string_view path(buffer, static_cast<size_t>(size));
  if (!path.ends_with(kLibrary)) return {};
  return path.substr(0, path.size() - kLibrary.size());
}

char** find_variable() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kVariable.data(), kVariable.size()) == 0) return entry;
  }
  return nullptr;
}

// Sets NODE_OPTIONS=--require "PATH" and, behind a blank, what stood there before. The text lies in pages
// of our own, because the heap and setenv are the host's.
bool ask(std::string_view script) {
  char** const known = find_variable();
  const char* const before = known != nullptr ? *known + kVariable.size() : nullptr;
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  const size_t text_size = 64 + 2 * script.size() + (before != nullptr ? std::strlen(before) : 0);
  auto* const entries = static_cast<char**>(map_pages((count + 2) * sizeof(char*) + text_size));
  if (entries == nullptr) return false;
  char* const text = reinterpret_cast<char*>(entries + count + 2);
  char* to = text;
  const auto put = [&to](std::string_view part) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  };
  put(kVariable);
  put("--require \"");
  for (const char c : script) {
    if (c == '"' || c == '\\') *to++ = '\\';
    *to++ = c;
  }
  put("\"");
  if (before != nullptr) {
    put(" ");
    put(before);
  }
  *to = '\0';
  for (size_t i = 0; i < count; ++i) entries[i] = environ + i == known ? text : environ[i];
  if (known == nullptr) entries[count] = text;  // the pages are zeroed: the end is there
  environ = entries;
  return true;
}

// Does the environment ask for our script already? (It does if a Node calls execve while it starts, before
// its script has taken the option out.)
bool asked_already(std::string_view script) {
  char** const known = find_variable();
  if (known == nullptr) return false;
  const std::string_view value = *known + kVariable.size();
  constexpr std::string_view kOurs = "--require \"";
  return value.starts_with(kOurs) && value.substr(kOurs.size()).starts_with(script);
}

// glibc hands the program's arguments to the constructors of every library.
__attribute__((constructor)) void start(int argc, char** argv, char**) {
  // Every Node exports the interface for addons, whatever its executable is called, and whether or not
  // its code is in libnode.so.
  if (is_inert_copy() || symbol_of_program("napi_module_register") == nullptr) return;
  look_at_arguments(argc, argv);
  if (char** const known = find_variable()) look_at_words(*known + kVariable.size());
  if (getauxval(AT_SECURE) != 0) {
    g_problem = "node: not followed in a setuid program: call sites and causes are not known";
  }
  if (!g_problem.empty()) return;
  char path[4096 + kScript.size()];
  const std::string_view folder = library_folder(path, sizeof path - kScript.size());
  if (folder.empty()) {
    g_problem =
        "node: the place of libfilibuster.so is not known: call sites and causes are not known";
    return;
  }
  std::memcpy(path + folder.size(), kScript.data(), kScript.size());
  const std::string_view script(path, folder.size() + kScript.size());
  path[script.size()] = '\0';
  if (raw_syscall(SYS_faccessat, AT_FDCWD, path, R_OK) != 0) {
    g_problem =
        "node: filibuster/node.cjs is not beside libfilibuster.so: call sites and causes are not "
        "known";
    return;
  }
  g_asked = asked_already(script) || ask(script);
}

std::string_view install() {
  if (!g_problem.empty()) return g_problem;
  // The inspector opens its socket before any script runs, and Node draws random numbers before: the helper may still start.
  if (!g_asked || g_inspected || g_draws_from_start.load(std::memory_order_relaxed) ||
      g_started.load(std::memory_order_acquire))
    return {};
  return "node: the helper did not start (NODE_OPTIONS ignored?): call sites and causes are not "
         "known";
}

}  // namespace

const TaskReader kReader{install, nullptr, nullptr};

void note_helper_started() {
  g_started.store(true, std::memory_order_release);
}

}  // namespace filibuster::preload::node
