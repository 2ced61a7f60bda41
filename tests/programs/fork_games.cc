// fork_games GAME PORT: children in a loop while three threads send requests to the echo server.
//   fork     each child sends a request of its own, and the parent goes on
//   vfork    each child executes true(1)
//   spawn    posix_spawn of a shell that sends nothing
//   exec     each child executes this program again, which sends one request
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/programs/http_text.h"

extern char** environ;

namespace {

constexpr int kChildren = 40;
int g_port;
std::string g_self;

bool child_ended_well(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    fprintf(stderr, "fork_games: a child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool by_fork(int n) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string seen = one_request(g_port, 1000 + n);
    if (seen != "echo") dprintf(2, "fork_games: child %d: %s\n", n, seen.c_str());
    _exit(seen == "echo" ? 0 : 1);
  }
  return child_ended_well(child);
}

bool by_vfork(int) {
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(127);
  }
  return child_ended_well(child);
}

bool by_spawn(int) {
  pid_t child = 0;
  char shell[] = "sh", option[] = "-c", command[] = "exit 0";
  char* const arguments[] = {shell, option, command, nullptr};
  return posix_spawn(&child, "/bin/sh", nullptr, nullptr, arguments, environ) == 0 &&
         child_ended_well(child);
}

bool by_exec(int) {
  const std::string port = std::to_string(g_port);
  const pid_t child = fork();
  if (child == 0) {
    execl(g_self.c_str(), "fork_games", "one", port.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  return child_ended_well(child);
}

struct Game {
  const char* name;
  bool (*play)(int n);
};
const Game kGames[] = {
    {"fork", by_fork}, {"vfork", by_vfork}, {"spawn", by_spawn}, {"exec", by_exec}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: fork_games fork|vfork|spawn|exec|one PORT\n");
    return 2;
  }
  g_port = atoi(argv[2]);
  char path[512] = {};
  if (readlink("/proc/self/exe", path, sizeof path - 1) > 0) g_self = path;
  if (strcmp(argv[1], "one") == 0) return one_request(g_port, 1) == "echo" ? 0 : 1;
  for (const Game& game : kGames) {
    if (strcmp(argv[1], game.name) != 0) continue;
    std::atomic<bool> stop{false};
    std::atomic<int> sent{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (int n = 0; !stop || n < 5; ++n) {
          const std::string seen = one_request(g_port, t * 100 + n % 100);
          ++sent;
          if (seen != "echo" && ++wrong == 1) fprintf(stderr, "fork_games: %s\n", seen.c_str());
        }
      });
    }
    int failed = 0;
    for (int n = 0; n < kChildren; ++n) failed += !game.play(n);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    const bool ok = failed == 0 && wrong == 0;
    printf("fork_games %s: %d children, %d failed; requests beside them: %s\n", game.name,
           kChildren, failed, wrong == 0 ? "all echoed" : "some failed");
    return ok ? 0 : 1;
  }
  return 2;
}
