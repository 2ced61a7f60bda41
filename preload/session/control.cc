// Finding and attaching the control page: the one thing a process without a session ever touches.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/protocol/control_segment.h"
#include "core/protocol/shown_clock.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/copies.h"
#include "preload/os/raw_syscall.h"
#include "preload/os/shown_clock.h"
#include "preload/rpc/agent.h"
#include "preload/session/state.h"

namespace filibuster::preload {

constinit std::atomic<const std::atomic<uint64_t>*> g_session{nullptr};

namespace {

constexpr uint64_t kDeadlineNs = 1'000'000'000;

enum Mapping : int { kNotTried = 0, kTrying, kDone };
constinit std::atomic<int> g_mapping{kNotTried};
constinit std::atomic<const ControlPage*> g_page{nullptr};
constinit std::atomic<uint32_t> g_owner{0};  // of g_page
constinit std::atomic<const char*> g_why_not_shown{nullptr};
constinit WayToPage g_way{};  // to g_page; written before that
// "FILIBUSTER_APPLICATION=FOLDER" for a process that belongs to a folder; written before g_page.
constexpr char kApplicationVariable[] = "FILIBUSTER_APPLICATION=";
constinit char g_application_variable[sizeof kApplicationVariable + sizeof Identity::directory];

long open_directory(const char* path) {
  return raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                     0);
}

ControlPage* open_page(long directory, ControlPageName name) {
  const auto call = [](long number, auto... arguments) {
    return raw_syscall(number, arguments...);
  };
  ControlSegment segment(call, static_cast<int>(directory), name, /*writable=*/false);
  ControlPage* page = segment.open();
  g_owner.store(segment.owner(), std::memory_order_relaxed);
  return page;
}

ControlPage* open_configured(std::string_view daemon) {
  // unix:DIR/agent.sock -> DIR
  constexpr std::string_view kScheme = "unix:";
  if (!daemon.starts_with(kScheme)) return nullptr;
  const std::string_view socket = daemon.substr(kScheme.size());
  const size_t slash = socket.rfind('/');
  if (slash == std::string_view::npos) return nullptr;
  char path[300];
  if (slash >= sizeof path) return nullptr;
  std::memcpy(path, socket.data(), slash);
  path[slash] = '\0';
  const long directory = open_directory(path);
  if (directory < 0) return nullptr;
  ControlPage* page = open_page(directory, ControlPageName({}));
  raw_syscall(SYS_close, directory);
  return page;
}

// The nearest folder with a filibuster.json, from the one in which this process was started upwards; else that
// one itself. Writes its path, and returns the size of it; 0: it is not known.
constexpr size_t kFolderRoom = sizeof Identity::directory + sizeof kApplicationFile;
size_t folder_of_application(char (&path)[kFolderRoom]) {
  const Identity& id = identity();
  // getcwd names a directory that cannot be reached from the root "(unreachable)/...".
  if (id.directory[0] != '/') return 0;
  const size_t whole = strnlen(id.directory, sizeof id.directory - 1);
  std::memcpy(path, id.directory, whole);
  for (size_t size = whole == 1 ? 0 : whole;;) {
    path[size] = '/';
    std::memcpy(path + size + 1, kApplicationFile, sizeof kApplicationFile);
    if (raw_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0) {
      path[size == 0 ? 1 : size] = '\0';
      return size == 0 ? 1 : size;
    }
    if (size == 0) break;
    do {
      --size;
    } while (path[size] != '/');
  }
  std::memcpy(path, id.directory, whole);
  path[whole] = '\0';
  return whole;
}

ControlPage* open_of_user(ControlPageName name);

// The page of the application of this process. nullptr: its application is not known, so it follows nobody.
ControlPage* open_of_application() {
  const Identity& id = identity();
  if (id.application[0] != '\0') {
    g_way = {.belonging = Belonging::kVariable};
    return open_of_user(ControlPageName(id.application));
  }
  char path[kFolderRoom];
  const size_t size = folder_of_application(path);
  struct stat status;
  if (size == 0 || raw_syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0) return nullptr;
  g_way = {.belonging = Belonging::kFolder,
           .folder_device = status.st_dev,
           .folder_inode = status.st_ino};
  std::memcpy(g_application_variable, kApplicationVariable, sizeof kApplicationVariable - 1);
  std::memcpy(g_application_variable + sizeof kApplicationVariable - 1, path, size + 1);
  return open_of_user(ControlPageName({path, size}));
}

// Opens the page in /dev/shm/filibuster-<uid>. It is made if missing, so that a later daemon finds us.
ControlPage* open_of_user(ControlPageName name) {
  const auto uid = static_cast<uint32_t>(raw_syscall(SYS_geteuid));
  char path[64];
  constexpr size_t kPrefixSize = sizeof kUserControlDirPrefix - 1;
  std::memcpy(path, kUserControlDirPrefix, kPrefixSize);
  *std::to_chars(path + kPrefixSize, path + sizeof path - 1, uid).ptr = '\0';

  raw_syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
  const long directory = open_directory(path);
  if (directory < 0) return nullptr;
  // The directory must be ours alone, since the page decides to whom our traffic is reported.
  struct stat status;
  const bool ours = raw_syscall(SYS_fstat, directory, &status) == 0 && status.st_uid == uid &&
                    (status.st_mode & 077) == 0;
  ControlPage* page = ours ? open_page(directory, name) : nullptr;
  raw_syscall(SYS_close, directory);
  return page;
}

}  // namespace

const ControlPage* control_page() {
  return g_page.load(std::memory_order_acquire);
}

const WayToPage& way_to_page() {
  return g_way;
}

const char* application_to_pass_on() {
  // Whoever follows a session has a page, and the way to it was written before.
  return follows_session() && g_way.belonging == Belonging::kFolder ? g_application_variable
                                                                    : nullptr;
}

uint32_t control_page_owner() {
  return g_owner.load(std::memory_order_relaxed);
}

const std::atomic<uint64_t>* leave_sessions() {
  g_mapping.store(kDone, std::memory_order_release);  // nothing is attached any more
  return g_session.exchange(nullptr, std::memory_order_acq_rel);
}

void return_to_sessions(const std::atomic<uint64_t>* session) {
  g_session.store(session, std::memory_order_release);
}

void find_shown_clock() {
  if (std::getenv(kReplayVariable) == nullptr) return;
  // It reads libc's clock past us, and waits by some of our functions: half of it would be moved.
  Dl_info first{};
  if (dladdr(dlsym(RTLD_DEFAULT, "clock_gettime"), &first) != 0 && first.dli_fname != nullptr &&
      std::strstr(first.dli_fname, "libfaketime") != nullptr) {
    g_why_not_shown.store("libfaketime stands before this library (LD_PRELOAD)",
                          std::memory_order_relaxed);
    return;
  }
  const ControlPage* page = open_configured(identity().daemon);
  if (page != nullptr && page->magic == kControlMagic && page->major == kProtocolMajor) {
    g_shown_offset.store(&page->shown_offset_ns, std::memory_order_release);
  } else {
    g_why_not_shown.store("this process cannot read the page of the replay",
                          std::memory_order_relaxed);
  }
}

const char* why_clock_is_not_shown() {
  return g_why_not_shown.load(std::memory_order_relaxed);
}

void control_page_after_fork() {
  int trying = kTrying;  // in a thread that the child does not have
  g_mapping.compare_exchange_strong(trying, kNotTried);
}

void note_stream_socket() {
  if (g_mapping.load(std::memory_order_relaxed) == kDone) return;
  if (t_state.registering || is_inert_copy() || !own_process()) return;
  int expected = kNotTried;
  if (!g_mapping.compare_exchange_strong(expected, kTrying, std::memory_order_acq_rel)) {
    // Another thread maps the page. Without it this thread's connection would pass unseen, all its life.
    wait_until([] { return g_mapping.load(std::memory_order_acquire) != kTrying; }, kDeadlineNs);
    return;
  }
  t_state.registering = true;  // a signal handler of this thread must not wait for it
  const std::string_view daemon = identity().daemon;
  const ControlPage* page = daemon.empty() ? open_of_application() : open_configured(daemon);
  g_page.store(page, std::memory_order_release);
  if (page != nullptr) g_session.store(&page->generation, std::memory_order_release);
  g_mapping.store(kDone, std::memory_order_release);
  t_state.registering = false;
}

}  // namespace filibuster::preload
