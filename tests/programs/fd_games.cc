// fd_games GAME PORT: does to the descriptor table what programs do, with requests to the echo
// server before and after.
//   close-all     close(3), close(4), ... to the limit
//   close-range   close_range(3, ~0, 0)
//   closefrom     closefrom(3)
//   dup2-over     /dev/null onto every number from 400 to 1023, then checks that each is /dev/null
//   daemonize     fork, setsid, fork, close everything, 0 to 2 onto /dev/null; requests as the
//   daemon database      closes all, opens a file that takes the lowest numbers, writes it during
//   requests, and
//                 checks that it holds nothing else
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <vector>

#include "tests/programs/http_text.h"

namespace {

int g_port, g_next = 0;

bool requests(const char* when) {
  for (int i = 0; i < 5; ++i) {
    const std::string seen = one_request(g_port, g_next++);
    if (seen == "echo") continue;
    fprintf(stderr, "fd_games: %s: %s\n", when, seen.c_str());
    return false;
  }
  return true;
}

int limit() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur > 4096 ? 4096 : static_cast<int>(files.rlim_cur);
}
bool close_all() {
  for (int fd = 3; fd < limit(); ++fd) close(fd);
  return true;
}

bool is_null_device(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

bool dup2_over() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  const int end = files.rlim_cur > 1024 ? 1024 : static_cast<int>(files.rlim_cur);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 40; fd < end; ++fd) {
    if (dup2(null, fd) != fd) return false;
  }
  const bool served = requests("while the high numbers are taken");
  for (int fd = 40; fd < end; ++fd) {
    if (!is_null_device(fd)) {
      fprintf(stderr, "fd_games: %d is not what was put there\n", fd);
      return false;
    }
    close(fd);
  }
  close(null);
  return served;
}

// In the daemon; its result comes back through a file, for it has no descriptor left.
bool daemonize() {
  char name[] = "/tmp/fd_games_XXXXXX";
  const int result = mkstemp(name);
  const pid_t first = fork();
  if (first == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int fd = 0; fd < limit(); ++fd) close(fd);
    open("/dev/null", O_RDWR);
    for (int fd = 1; fd <= 2; ++fd) {
      if (dup2(0, fd) != fd) _exit(1);
    }
    const bool ok =
        is_null_device(0) && is_null_device(1) && is_null_device(2) && requests("daemon");
    const int file = open(name, O_WRONLY);
    const ssize_t n = file == 3 ? write(file, ok ? "y" : "n", 1) : write(file, "d", 1);
    _exit(n == 1 ? 0 : 1);
  }
  waitpid(first, nullptr, 0);
  char said = 0;
  // The daemon is not our child: look at its file, for at most 20 s.
  for (int i = 0; i < 2000 && pread(result, &said, 1, 0) != 1; ++i) usleep(10000);
  unlink(name);
  close(result);
  if (said != 'y') fprintf(stderr, "fd_games: the daemon said '%c'\n", said);
  return said == 'y';
}

bool database() {
  if (!requests("before the database")) return false;
  close_all();
  char name[] = "/tmp/fd_games_XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  std::string written;
  bool ok = file == 3;
  for (int i = 0; i < 20 && ok; ++i) {
    const std::string row = "row " + std::to_string(i) + "\n";
    written += row;
    ok = write(file, row.data(), row.size()) == static_cast<ssize_t>(row.size()) &&
         requests("while the database is open");
  }
  std::string kept(written.size() + 1, 0);
  const ssize_t n = pread(file, kept.data(), kept.size(), 0);
  kept.resize(n < 0 ? 0 : static_cast<size_t>(n));
  if (kept != written) fprintf(stderr, "fd_games: the database holds other bytes\n");
  close(file);
  return ok && kept == written;
}

struct Game {
  const char* name;
  bool (*play)();
};
const Game kGames[] = {
    {"close-all", close_all},
    {"close-range", [] { return close_range(3, ~0u, 0) == 0; }},
    {"closefrom",
     [] {
       closefrom(3);
       return true;
     }},
    {"dup2-over", dup2_over},
    {"daemonize", daemonize},
    {"database", database},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Game& game : kGames) {
    if (argc != 3 || strcmp(argv[1], game.name) != 0) continue;
    g_port = atoi(argv[2]);
    bool ok = requests("before");
    for (int i = 0; i < 3 && ok; ++i) ok = game.play() && requests("after");
    // The lowest number is what a program expects that has closed everything.
    const int next = dup(0);
    if (next != 3 && strcmp(game.name, "dup2-over") != 0 && strcmp(game.name, "daemonize") != 0) {
      fprintf(stderr, "fd_games: the next descriptor is %d\n", next);
      ok = false;
    }
    printf("fd_games %s: %s\n", game.name, ok ? "ok" : "FAILED");
    return ok ? 0 : 1;
  }
  fprintf(stderr,
          "usage: fd_games close-all|close-range|closefrom|dup2-over|daemonize|database PORT\n");
  return 2;
}
