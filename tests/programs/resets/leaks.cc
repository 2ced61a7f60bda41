// leaks HAZARD: a test that leaves something behind. Each execution asks FRONT, looks for what an earlier one has left ("LEAKED: ...",
// status 9), leaves it itself, and ends with 0, or with 3 if FRONT has answered neither 200 nor 503. What stands before the first
// connect(2) is done once if the test is forked or reset. A line of `seen` tells the process and how many executions its memory knows.
// Status 77: this machine does not have what the hazard needs.
#include <dlfcn.h>
#include <linux/securebits.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cfenv>
#include <clocale>
#include <csignal>
#include <ctime>
#include <set>
#include <vector>

#include "tests/programs/resets/execution.h"

extern "C" {
extern int leaks_value;
extern bool leaks_has_ends;
}

namespace {

constexpr size_t kPage = 4096, kPages = 256, kBytes = kPage * kPages;

struct Hazard {
  virtual ~Hazard() = default;
  virtual void prepare() {}                           // before 'go'
  virtual std::string find() { return ""; }           // what an earlier execution has left
  virtual void leave([[maybe_unused]] int status) {}  // before the exit
};

std::string leak_if(bool leaked, const char* what) {
  return leaked ? what : "";
}

void need(bool there, const char* what) {
  if (there) return;
  fprintf(stderr, "NOT CHECKED: %s\n", what);
  exit(77);
}

void check(bool done, const char* what) {
  if (!done) fail(what);
}

// --- memory -----------------------------------------------------------------------------------------------

char* new_pages(size_t bytes, int rights = PROT_READ | PROT_WRITE, void* at = nullptr,
                int flags = 0, int file = -1) {
  void* made =
      mmap(at, bytes, rights, MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0) | flags, file, 0);
  check(made != MAP_FAILED, "mmap");
  return static_cast<char*>(made);
}

// A file of so many pages, whose first bytes are 'f', mapped privately.
char* new_file_pages(size_t bytes, int rights) {
  const int file = open("mapped", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  check(file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0, "a file");
  for (size_t page = 0; page < 4; ++page)
    check(pwrite(file, "f", 1, static_cast<off_t>(page * kPage)) == 1, "a file");
  char* made = new_pages(bytes, rights, nullptr, 0, file);
  close(file);
  return made;
}

volatile int g_static = 1;
thread_local volatile int t_local = 1;
volatile int* g_stack = nullptr;
int g_error_of_connect = 0;

struct Bytes : Hazard {
  volatile int* heap = new int(1);
  void prepare() override { setenv("LEAKS", "1", 1); }
  std::string find() override {
    return leak_if(g_static != 1, "static data") + leak_if(t_local != 1, "thread-local data") +
           leak_if(*g_stack != 1, "the stack of main") + leak_if(*heap != 1, "the heap") +
           leak_if(g_error_of_connect != 0, "errno") +
           leak_if(getenv("LEAKS")[0] != '1', "a variable") +
           leak_if(leaks_value != 1, "data of a library") +
           leak_if(fegetround() != FE_TONEAREST, "the rounding");
  }
  void leave(int) override {
    for (volatile int* one :
         {&g_static, &t_local, g_stack, heap, static_cast<volatile int*>(&leaks_value)})
      *one = 2;
    setenv("LEAKS", "2", 1);
    fesetround(FE_UPWARD);
    errno = EDOM;
  }
};

struct HeapGrowth : Hazard {
  void* end = sbrk(0);
  std::string find() override { return leak_if(sbrk(0) != end, "the heap is longer"); }
  void leave(int) override {
    for (int i = 0; i < 80; ++i) memset(malloc(100'000), 1, 100'000);
    memset(malloc(8'000'000), 1, 8'000'000);
    check(sbrk(0) != end, "the heap does not grow");
  }
};

struct NewMapping : Hazard {
  void* const hint = reinterpret_cast<void*>(0x6000'0000'0000);
  std::string find() override {
    unsigned char is_there[1];
    return leak_if(mincore(hint, kPage, is_there) == 0, "a mapping");
  }
  void leave(int) override {
    memset(new_pages(kBytes, PROT_READ | PROT_WRITE, hint, MAP_FIXED_NOREPLACE), 1, kBytes);
  }
};

struct DeepStack : Hazard {
  [[gnu::noinline]] static int deepen(int depth) {
    volatile char frame[kPage];
    frame[0] = 1;
    return depth == 0 ? 0 : deepen(depth - 1) + frame[0];
  }
  void leave(int) override { deepen(1000); }
};

// Memory that is as it was filled before 'go'.
struct Filled : Hazard {
  char* memory = nullptr;
  char value = 'p';
  void prepare() override {
    memory = new_pages(kBytes);
    memset(memory, value, kBytes);
  }
  std::string find() override {
    for (size_t i = 0; i < kBytes; ++i)
      if (memory[i] != value)
        return "byte " + std::to_string(i) + " is " + std::to_string(memory[i]);
    return "";
  }
  void drop() const { check(madvise(memory, kBytes, MADV_DONTNEED) == 0, "madvise"); }
  void read(size_t step) const {
    for (size_t page = 0; page < kPages; page += step)
      check(*static_cast<volatile char*>(memory + page * kPage) == 0, "a page of zeros");
  }
  void protect(int rights) const { check(mprotect(memory, kBytes, rights) == 0, "mprotect"); }
};
struct Dropped : Filled {
  void leave(int) override { drop(); }
};
struct DroppedRead : Filled {
  void leave(int) override {
    drop();
    read(1);
  }
};
struct Unmapped : Filled {
  void leave(int) override { check(munmap(memory, kBytes) == 0, "munmap"); }
};
struct UnmappedAgain : Filled {
  void leave(int) override {
    munmap(memory, kBytes);
    new_pages(kBytes, PROT_READ | PROT_WRITE, memory, MAP_FIXED);
    read(3);
  }
};
struct Readonly : Filled {
  void prepare() override {
    Filled::prepare();
    protect(PROT_READ);
  }
  void leave(int) override {
    protect(PROT_READ | PROT_WRITE);
    memset(memory, 1, kBytes);
    protect(PROT_READ);
  }
};
struct Protection : Filled {
  void leave(int) override { protect(PROT_NONE); }
};
// Nobody can read it at 'go', and it is dropped and read meanwhile.
struct HiddenDropped : Filled {
  void prepare() override {
    Filled::prepare();
    protect(PROT_NONE);
  }
  std::string find() override {
    protect(PROT_READ | PROT_WRITE);
    return Filled::find();
  }
  void leave(int) override {
    drop();
    read(1);
    protect(PROT_NONE);
  }
};
struct Advice : Filled {
  std::string find() override {
    FILE* file = fopen("/proc/self/smaps", "re");
    char line[512], start[32];
    snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(memory));
    bool here = false, leaked = false;
    while (fgets(line, sizeof line, file) != nullptr) {
      if (strncmp(line, start, strlen(start)) == 0) here = true;
      if (here && strncmp(line, "VmFlags:", 8) == 0) {
        leaked = strstr(line, " dc") != nullptr;
        here = false;
      }
    }
    fclose(file);
    return leak_if(leaked, "memory that a fork leaves out");
  }
  void leave(int) override { check(madvise(memory, kBytes, MADV_DONTFORK) == 0, "madvise"); }
};

struct ReadonlyFile : Hazard {
  static constexpr size_t kSmall = 4 * kPage;
  char* memory = nullptr;
  virtual size_t size() { return kSmall; }
  void prepare() override { memory = new_file_pages(size(), PROT_READ); }
  std::string find() override {
    return leak_if(memory[0] != 'f' || memory[kPage] != 'f' || memory[2 * kPage] != 'f',
                   "a page of a file");
  }
  void leave(int) override {
    check(mprotect(memory, size(), PROT_READ | PROT_WRITE) == 0, "mprotect");
    memory[kPage] = 1;
    check(mprotect(memory, size(), PROT_READ) == 0, "mprotect");
  }
};
struct LargeFile : ReadonlyFile {
  size_t size() override { return 20 << 20; }
};
// Such pages, and others that look as if they had not been touched.
struct LargeFileAndDropped : LargeFile {
  DroppedRead dropped;
  void prepare() override {
    LargeFile::prepare();
    dropped.prepare();
  }
  std::string find() override { return LargeFile::find() + dropped.find(); }
  void leave(int status) override {
    LargeFile::leave(status);
    dropped.leave(status);
  }
};
struct PrivateFileDropped : Hazard {
  char* memory = nullptr;
  void prepare() override {
    memory = new_file_pages(4 * kPage, PROT_READ | PROT_WRITE);
    memory[0] = memory[kPage] = 'w';
  }
  std::string find() override {
    return leak_if(memory[0] != 'w' || memory[kPage] != 'w' || memory[2 * kPage] != 'f',
                   "a page of a file");
  }
  void leave(int) override {
    check(madvise(memory, 4 * kPage, MADV_DONTNEED) == 0, "madvise");
    check(static_cast<volatile char*>(memory)[0] == 'f', "a page of a file");
  }
};
struct FileUnmapped : Hazard {
  char* memory = new_file_pages(4 * kPage, PROT_READ);
  std::string find() override { return leak_if(memory[0] != 'f', "a page of a file"); }
  void leave(int) override { munmap(memory, 4 * kPage); }
};

// Pages that nobody has touched before 'go', and that nobody may touch afterwards.
struct Guard : Hazard {
  static constexpr int kInstall = 102;  // MADV_GUARD_INSTALL
  char* memory = new_pages(kBytes);
  std::string find() override {
    return leak_if(write(open("/dev/null", O_WRONLY | O_CLOEXEC), memory, 1) != 1 ||
                       syscall(SYS_getrandom, memory, 1, 0) != 1,
                   "a guard");
  }
  void leave(int) override {
    need(madvise(memory + kPage, kBytes - kPage, kInstall) == 0, "this kernel has no guards");
    madvise(memory, kPage, kInstall);
  }
};

struct WipeOnFork : Hazard {
  void prepare() override {
    check(madvise(new_pages(kBytes), kBytes, MADV_WIPEONFORK) == 0, "madvise");
  }
};
struct DontFork : Hazard {
  void prepare() override {
    check(madvise(new_pages(kBytes), kBytes, MADV_DONTFORK) == 0, "madvise");
  }
};
struct HugePages : Hazard {
  void prepare() override {
    constexpr size_t kHuge = 2 << 20;
    char* made = new_pages(3 * kHuge);
    char* aligned =
        reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(made) + kHuge - 1) / kHuge * kHuge);
    need(madvise(aligned, 2 * kHuge, MADV_HUGEPAGE) == 0, "this kernel has no huge pages");
    memset(aligned, 1, 2 * kHuge);
    FILE* file = fopen("/proc/self/smaps_rollup", "re");
    char line[512];
    long huge = 0;
    while (fgets(line, sizeof line, file) != nullptr) sscanf(line, "AnonHugePages: %ld", &huge);
    fclose(file);
    need(huge > 0, "this machine gives no huge page");
  }
};
// Of memory that it had at 'go'. A fork takes memory out of userfaultfd(2) for the child (UFFD_FEATURE_EVENT_FORK is not asked for).
struct Userfaults : Filled {
  static void watch(void* from) {
    const int fd =
        static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    need(fd >= 0, "userfaultfd(2) is not allowed");
    uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
    check(ioctl(fd, UFFDIO_API, &api) == 0, "userfaultfd");
    uffdio_register range{.range = {.start = reinterpret_cast<uintptr_t>(from), .len = kBytes},
                          .mode = UFFDIO_REGISTER_MODE_MISSING,
                          .ioctls = 0};
    check(ioctl(fd, UFFDIO_REGISTER, &range) == 0, "userfaultfd");
  }
  void prepare() override {
    Filled::prepare();
    watch(new_pages(kBytes));
  }
  void leave(int) override {
    drop();
    watch(memory);
  }
};

struct Random : Hazard {
  int first = 0;
  void prepare() override {
    srand(7);
    first = rand();
    srand(7);
  }
  std::string find() override { return leak_if(rand() != first, "numbers that were drawn"); }
  void leave(int) override { rand(); }
};

struct Library : Hazard {
  void leave(int) override {
    check(dlopen("libm.so.6", RTLD_NOW) != nullptr && setlocale(LC_ALL, "C.UTF-8") != nullptr,
          "dlopen");
  }
  std::string find() override {
    return leak_if(strcmp(setlocale(LC_ALL, nullptr), "C") != 0, "a locale");
  }
};

// --- what the kernel keeps -----------------------------------------------------------------------------------

void ignore(int) {}

struct Signals : Hazard {
  std::string find() override {
    struct sigaction user {
    }, term{};
    sigaction(SIGUSR1, nullptr, &user);
    sigaction(SIGTERM, nullptr, &term);
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, nullptr, &blocked);
    stack_t stack;
    sigaltstack(nullptr, &stack);
    return leak_if(user.sa_handler != SIG_DFL, "a handler") +
           leak_if(term.sa_handler != SIG_DFL, "an ignored signal") +
           leak_if(sigismember(&blocked, SIGUSR2) != 0, "a blocked signal") +
           leak_if((stack.ss_flags & SS_DISABLE) == 0, "a stack for signals");
  }
  void leave(int) override {
    static char memory[64 * 1024];
    signal(SIGUSR1, ignore);
    signal(SIGTERM, SIG_IGN);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    sigprocmask(SIG_BLOCK, &one, nullptr);
    const stack_t stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
    check(sigaltstack(&stack, nullptr) == 0, "sigaltstack");
  }
};
struct SignalWaits : Signals {
  void leave(int status) override {
    Signals::leave(status);
    raise(SIGUSR2);
  }
};
// It exits in a handler, on its own stack.
struct ExitInHandler : Signals {
  void leave(int status) override {
    Signals::leave(status);
    static int result;
    result = status == 200 || status == 503 ? 0 : 3;
    struct sigaction action {};
    action.sa_handler = [](int) { exit(result); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
  }
};
struct IntervalTimers : Hazard {
  std::string find() override {
    std::string leaked;
    for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
      itimerval now;
      getitimer(which, &now);
      leaked += leak_if(now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0, "a timer");
    }
    return leaked;
  }
  void leave(int) override {
    const itimerval later = {.it_interval = {300, 0}, .it_value = {300, 0}};
    for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF})
      check(setitimer(which, &later, nullptr) == 0, "setitimer");
  }
};
struct PosixTimer : Hazard {
  void leave(int) override {
    sigevent event{};
    event.sigev_notify = SIGEV_NONE;
    timer_t timer;
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
  }
};
struct Names : Hazard {
  std::string directory = getcwd(nullptr, 0);
  mode_t mask = umask(022);
  char name[16];
  void prepare() override {
    umask(027);
    prctl(PR_SET_NAME, "at go");
  }
  std::string find() override {
    char now[16];
    prctl(PR_GET_NAME, now);
    const mode_t mask_now = umask(027);
    return leak_if(getcwd(nullptr, 0) != directory, "a directory") +
           leak_if(mask_now != 027, "a umask") + leak_if(strcmp(now, "at go") != 0, "a name");
  }
  void leave(int) override {
    check(chdir("/") == 0, "chdir");
    umask(0);
    prctl(PR_SET_NAME, "after");
  }
};

// One call that is not given back.
template <auto change>
struct Changed : Hazard {
  void leave(int) override { check(change() == 0, "a change"); }
};
template <int kind>
int lower_limit() {
  rlimit limit;
  getrlimit(static_cast<__rlimit_resource>(kind), &limit);
  limit.rlim_cur = limit.rlim_cur == RLIM_INFINITY ? 1 << 30
                   : limit.rlim_cur > 0            ? limit.rlim_cur - 1
                                                   : 1;
  if (limit.rlim_cur > limit.rlim_max) return -1;
  return setrlimit(static_cast<__rlimit_resource>(kind), &limit);
}
int on_one_processor() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  need(CPU_COUNT(&set) > 1, "there is one processor");
  int one = 0;
  while (!CPU_ISSET(one, &set)) ++one;
  CPU_ZERO(&set);
  CPU_SET(one, &set);
  return sched_setaffinity(0, sizeof set, &set);
}
int as_batch() {
  const sched_param none{};
  return sched_setscheduler(0, SCHED_BATCH, &none);
}
int nicer() {
  const int now = getpriority(PRIO_PROCESS, 0);
  need(setpriority(PRIO_PROCESS, 0, now == 19 ? 18 : now + 1) == 0,
       "its priority is the last one already");
  return 0;
}
int secured() {
  need(geteuid() == 0, "only root has secure bits");
  return prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);
}
int as_somebody() {
  need(geteuid() == 0, "only root changes its user");
  return seteuid(12345);
}
int in_own_namespace() {
  need(unshare(CLONE_NEWUTS) == 0, "namespaces are not allowed");
  return 0;
}
int other_root() {
  need(geteuid() == 0, "only root changes its root");
  return chroot(".");
}
int file_of_own(const char* path, const char* text) {
  FILE* file = fopen(path, "we");
  need(file != nullptr, path);
  fputs(text, file);
  return fclose(file);
}
int dumped_otherwise() {
  return file_of_own("/proc/self/coredump_filter", "0x7f");
}
int killed_first() {
  return file_of_own("/proc/self/oom_score_adj", "500");
}

struct Processor : Hazard {
  void prepare() override {
    rlimit limit;
    getrlimit(RLIMIT_CPU, &limit);
    limit.rlim_cur = 1;
    check(setrlimit(RLIMIT_CPU, &limit) == 0, "setrlimit");
  }
  void leave(int) override {
    const clock_t began = clock();
    while (clock() - began < CLOCKS_PER_SEC / 4) {
    }
  }
};

// --- descriptors ----------------------------------------------------------------------------------------------

// Without those of the library, which takes numbers from 48 on, and where two children that take turns may differ.
std::set<std::string> descriptors() {
  std::set<std::string> out;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat status;
    if ((fd < 48 || fd >= 64) && fstat(fd, &status) == 0)
      out.insert(std::to_string(fd) + ":" + std::to_string(status.st_mode & S_IFMT));
  }
  return out;
}

struct Descriptors : Hazard {
  // A test forks from where it connects, and sees the same from then on. Who compares is the one who runs it.
  std::string find() override {
    std::string text;
    for (const std::string& one : descriptors()) text += one + " ";
    add_line("descriptors", text);
    return leak_if(fcntl(1, F_GETFL) == -1 || fcntl(0, F_GETFL) == -1, "a closed descriptor");
  }
  void leave(int) override {
    int ends[2];
    check(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
              open("/dev/null", O_RDONLY) >= 0,
          "descriptors");
    check(socket(AF_INET, SOCK_STREAM, 0) >= 0 && memfd_create("left", 0) >= 0 &&
              dup2(ends[0], 500) == 500,
          "descriptors");
    close(0);
    dup2(ends[1], 2);
  }
};
struct ClosedAll : Descriptors {
  void leave(int) override { close_range(3, ~0U, 0); }
};

struct Locks : Hazard {
  int at_go = -1;
  void prepare() override {
    close(open("locked", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    at_go = open("locked", O_RDONLY | O_CLOEXEC);
    check(at_go >= 0, "a file");
  }
  std::string find() override {
    const int fd = open("locked", O_RDWR | O_CLOEXEC);
    struct flock other {};
    other.l_type = F_WRLCK;
    fcntl(fd, F_GETLK, &other);
    const bool leaked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return leak_if(leaked, "flock(2)") + leak_if(other.l_type != F_UNLCK, "a lock of fcntl(2)");
  }
  void leave(int status) override {
    const int fd = open("locked", O_RDWR);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    // One of them over the descriptor of before 'go', which each execution has for itself.
    check(fcntl(fd, F_SETLK, &whole) == 0 &&
              flock(status == 200 ? at_go : fd, LOCK_EX | LOCK_NB) == 0,
          "a lock");
  }
};

// --- processes and threads --------------------------------------------------------------------------------------

void wait_for(pid_t child) {
  int status;
  check(waitpid(child, &status, 0) == child || errno == ECHILD, "waitpid");
}
[[noreturn]] void stay() {
  for (;;) pause();
}

struct ChildWaited : Hazard {
  void leave(int) override {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    wait_for(child);
  }
};
struct ChildLeft : Hazard {
  void leave(int) override {
    if (fork() == 0) stay();
  }
};
struct ChildExec : Hazard {
  void leave(int) override {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    wait_for(child);
  }
};
// Nobody is its parent: it is killed with the group of the execution.
struct Grandchild : Filled {
  std::string find() override {
    std::string leaked = Filled::find();
    FILE* file = fopen("left", "re");
    int left = 0;
    while (file != nullptr && fscanf(file, "%d", &left) == 1) {
      const int process = static_cast<int>(syscall(SYS_pidfd_open, left, 0));
      if (process < 0) continue;
      pollfd ended = {process, POLLIN, 0};
      if (poll(&ended, 1, 10'000) != 1) leaked += "a process";
      close(process);
    }
    if (file != nullptr) fclose(file);
    unlink("left");
    return leaked;
  }
  virtual void wait(pid_t child) { wait_for(child); }
  void leave(int) override {
    memset(memory, 'c', kBytes);
    const pid_t child = fork();
    if (child == 0) {
      const pid_t grandchild = fork();
      if (grandchild == 0) stay();
      add_line("left", std::to_string(grandchild));
      _exit(0);
    }
    wait(child);
  }
};
// The kernel forgets children whose end is ignored.
struct IgnoredGrandchild : Grandchild {
  void leave(int status) override {
    signal(SIGCHLD, SIG_IGN);
    Grandchild::leave(status);
    signal(SIGCHLD, SIG_DFL);
  }
};
struct IgnoredCommand : Grandchild {
  void leave(int) override {
    signal(SIGCHLD, SIG_IGN);
    check(system("sleep 300 & echo $! >> left") == -1 && errno == ECHILD, "system");
    signal(SIGCHLD, SIG_DFL);
  }
};
// One that does not end with the execution, even if it is started plainly.
struct IgnoredSession : Filled {
  void leave(int) override {
    memset(memory, 'c', kBytes);
    signal(SIGCHLD, SIG_IGN);
    const pid_t child = fork();
    if (child == 0) {
      setsid();
      if (fork() != 0) _exit(0);
      add_line("left", std::to_string(getpid()));
      stay();
    }
    wait_for(child);
    signal(SIGCHLD, SIG_DFL);
  }
};
struct ThreadLeft : Hazard {
  void leave(int) override {
    pthread_t thread;
    check(pthread_create(
              &thread, nullptr, [](void*) -> void* { stay(); }, nullptr) == 0,
          "a thread");
    pthread_detach(thread);
  }
};
struct ThreadJoined : Hazard {
  void leave(int) override {
    pthread_t thread;
    check(pthread_create(
              &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0,
          "a thread");
    pthread_join(thread, nullptr);
  }
};

// --- ends -----------------------------------------------------------------------------------------------------

struct UnderscoreExit : Hazard {
  void leave(int status) override { _exit(status == 200 || status == 503 ? 0 : 3); }
};
struct Exec : Hazard {
  void leave(int status) override {
    execl("/bin/sh", "sh", "-c", status == 200 || status == 503 ? "exit 0" : "exit 3", nullptr);
  }
};
struct Aborts : Hazard {
  void leave(int status) override {
    if (status != 200) abort();
  }
};
struct Killed : Hazard {
  void leave(int status) override {
    if (status != 200) kill(getpid(), SIGKILL);
  }
};

struct Ends : Hazard {
  void prepare() override {
    atexit([] { add_line("ends", "registered before"); });
    on_exit(
        [](int status, void*) {
          add_line("ends", status == 0 || status == 3 ? "with the status" : "with another one");
        },
        nullptr);
    printf("of before, ");
  }
  void leave(int) override {
    atexit([] { add_line("ends", "registered after"); });
    FILE* file = fopen("buffered", "ae");
    fputs("buffered\n", file);  // and not closed
    printf("without an end");
  }
};
struct ExitAgain : Hazard {
  static inline int status = 0;
  void prepare() override {
    atexit([] {
      if (status != 200) exit(5);
    });
  }
  void leave(int now) override { status = now; }
};

struct Static {
  ~Static() {
    if (leaks_has_ends) add_line("ends", "static data");
  }
} g_object;

using Make = Hazard* (*)();
template <typename T>
Hazard* make() {
  return new T();
}

struct Entry {
  const char* name;
  Make make;
} const kHazards[] = {
    {"bytes", make<Bytes>},
    {"heap-growth", make<HeapGrowth>},
    {"new-mapping", make<NewMapping>},
    {"deep-stack", make<DeepStack>},
    {"dropped", make<Dropped>},
    {"dropped-read", make<DroppedRead>},
    {"unmapped", make<Unmapped>},
    {"unmapped-again", make<UnmappedAgain>},
    {"readonly", make<Readonly>},
    {"readonly-file", make<ReadonlyFile>},
    {"large-file", make<LargeFile>},
    {"large-file-and-dropped", make<LargeFileAndDropped>},
    {"protection", make<Protection>},
    {"hidden-dropped", make<HiddenDropped>},
    {"private-file-dropped", make<PrivateFileDropped>},
    {"file-unmapped", make<FileUnmapped>},
    {"advice", make<Advice>},
    {"guard", make<Guard>},
    {"wipe-on-fork", make<WipeOnFork>},
    {"dont-fork", make<DontFork>},
    {"huge-pages", make<HugePages>},
    {"userfaults", make<Userfaults>},
    {"random", make<Random>},
    {"library", make<Library>},
    {"signals", make<Signals>},
    {"signal-waits", make<SignalWaits>},
    {"exit-in-handler", make<ExitInHandler>},
    {"interval-timers", make<IntervalTimers>},
    {"posix-timer", make<PosixTimer>},
    {"names", make<Names>},
    {"limit-of-files", make<Changed<lower_limit<RLIMIT_NOFILE>>>},
    {"limit-of-stack", make<Changed<lower_limit<RLIMIT_STACK>>>},
    {"nice", make<Changed<nicer>>},
    {"batch", make<Changed<as_batch>>},
    {"affinity", make<Changed<on_one_processor>>},
    {"no-new-privs", make<Changed<[] { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }>>},
    {"timer-slack", make<Changed<[] { return prctl(PR_SET_TIMERSLACK, 123456); }>>},
    {"personality", make<Changed<[] { return personality(ADDR_NO_RANDOMIZE) == -1 ? -1 : 0; }>>},
    {"subreaper", make<Changed<[] { return prctl(PR_SET_CHILD_SUBREAPER, 1); }>>},
    {"not-dumpable", make<Changed<[] { return prctl(PR_SET_DUMPABLE, 0); }>>},
    {"secure-bits", make<Changed<secured>>},
    {"user", make<Changed<as_somebody>>},
    {"locked-memory", make<Changed<[] { return mlock(new_pages(kPage), kPage); }>>},
    {"namespace", make<Changed<in_own_namespace>>},
    {"root", make<Changed<other_root>>},
    {"coredump-filter", make<Changed<dumped_otherwise>>},
    {"oom-score", make<Changed<killed_first>>},
    {"processor", make<Processor>},
    {"descriptors", make<Descriptors>},
    {"closed-all", make<ClosedAll>},
    {"locks", make<Locks>},
    {"child-waited", make<ChildWaited>},
    {"child-left", make<ChildLeft>},
    {"child-exec", make<ChildExec>},
    {"grandchild", make<Grandchild>},
    {"ignored-grandchild", make<IgnoredGrandchild>},
    {"ignored-session", make<IgnoredSession>},
    {"ignored-command", make<IgnoredCommand>},
    {"thread-left", make<ThreadLeft>},
    {"thread-joined", make<ThreadJoined>},
    {"_exit", make<UnderscoreExit>},
    {"exec", make<Exec>},
    {"abort", make<Aborts>},
    {"killed", make<Killed>},
    {"ends", make<Ends>},
    {"exit-again", make<ExitAgain>},
};

int g_executions = 0;

}  // namespace

int main(int, char** arguments) {
  volatile int on_stack = 1;
  g_stack = &on_stack;
  Hazard* hazard = nullptr;
  for (const Entry& one : kHazards)
    if (strcmp(one.name, arguments[1]) == 0) hazard = one.make();
  if (hazard == nullptr) fail(arguments[1]);
  leaks_has_ends = strcmp(arguments[1], "ends") == 0;
  hazard->prepare();
  const int status = ask(&g_error_of_connect);
  add_line("seen", std::to_string(getpid()) + " " + std::to_string(++g_executions));
  const std::string leaked = hazard->find();
  if (!leaked.empty()) {
    printf("LEAKED: %s\n", leaked.c_str());
    exit(9);
  }
  hazard->leave(status);
  exit(status == 200 || status == 503 ? 0 : 3);
}
