// Hazards of what the kernel keeps of a process besides memory and descriptors: signals, timers, names, limits, rights.
#include <linux/securebits.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <csignal>
#include <ctime>

#include "tests/programs/resets/hazard.h"

namespace {

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
    while (clock() - began < CLOCKS_PER_SEC * 11 / 20) {
    }
  }
};

}  // namespace

std::vector<Entry> kernel_state_hazards() {
  return {
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
  };
}
