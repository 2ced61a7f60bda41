// Hazards of processes and threads.
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/programs/resets/hazard.h"

namespace {

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

}  // namespace

std::vector<Entry> process_hazards() {
  return {
      {"child-waited", make<ChildWaited>},
      {"child-left", make<ChildLeft>},
      {"child-exec", make<ChildExec>},
      {"grandchild", make<Grandchild>},
      {"ignored-grandchild", make<IgnoredGrandchild>},
      {"ignored-session", make<IgnoredSession>},
      {"ignored-command", make<IgnoredCommand>},
      {"thread-left", make<ThreadLeft>},
      {"thread-joined", make<ThreadJoined>},
  };
}
