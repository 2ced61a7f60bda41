// limit_games GAME PORT: sends requests to the echo server while it may have little of something,
// and says how each one ended. What it says is the same whoever else lives in the process.
//   few-descriptors   as many as the next connection needs
//   little-memory     64 KiB of address space more than it has
//   no-files          no file may grow
//   no-processes      none may be started
//   small-stacks      threads with the smallest stack that the system allows
//   few-calls         a filter of system calls knows those that this program makes, and no others
//   fewer-and-fewer   descriptors: down to none
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <climits>
#include <cstddef>
#include <vector>

#include "tests/programs/http_text.h"

namespace {

int g_port;

void say(const std::string& what) {
  const std::string line = what + "\n";
  static_cast<void>(!write(STDOUT_FILENO, line.data(), line.size()));
}

void requests(const char* when) {
  for (int i = 0; i < 3; ++i) say(std::string(when) + ": " + one_request(g_port, i));
}

bool limit(decltype(RLIMIT_AS) what, rlim_t most) {
  const rlimit limits = {most, most};
  return setrlimit(what, &limits) == 0;
}

bool few_descriptors() {
  if (!limit(RLIMIT_NOFILE, 4)) return false;
  requests("with one");
  return true;
}

bool fewer_and_fewer() {
  requests("with many");
  for (rlim_t most = 64; most > 0; most /= 2) {
    if (!limit(RLIMIT_NOFILE, most)) return false;
    requests(("with " + std::to_string(most)).c_str());
  }
  return true;
}

bool little_memory() {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == nullptr || fscanf(file, "%ld", &pages) != 1) return false;
  fclose(file);
  if (!limit(RLIMIT_AS, static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + 64 * 1024)))
    return false;
  requests("with little memory");
  return true;
}

bool no_files() {
  if (!limit(RLIMIT_FSIZE, 0)) return false;
  requests("without files");
  return true;
}

bool no_processes() {
  if (!limit(RLIMIT_NPROC, 0)) return false;
  requests("without processes");
  return true;
}

void* one_of_a_thread(void* result) {
  *static_cast<std::string*>(result) = one_request(g_port, 1);
  return nullptr;
}

bool small_stacks() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // What http_text.h itself puts there, and the least.
  if (pthread_attr_setstacksize(&attributes, static_cast<size_t>(PTHREAD_STACK_MIN) + 16 * 1024) !=
      0) {
    return false;
  }
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    std::string result;
    if (pthread_create(&thread, &attributes, one_of_a_thread, &result) != 0) return false;
    pthread_join(thread, nullptr);
    say("on a small stack: " + result);
  }
  return true;
}

bool few_calls() {
  constexpr long kCalls[] = {SYS_socket, SYS_connect, SYS_setsockopt,  SYS_sendto, SYS_recvfrom,
                             SYS_close,  SYS_write,   SYS_exit_group,  SYS_mmap,   SYS_munmap,
                             SYS_brk,    SYS_futex,   SYS_rt_sigreturn};
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : kCalls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program = {static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return false;
  }
  requests("with few calls");
  return true;
}

struct Game {
  const char* name;
  bool (*play)();
};
const Game kGames[] = {
    {"few-descriptors", few_descriptors},
    {"fewer-and-fewer", fewer_and_fewer},
    {"little-memory", little_memory},
    {"no-files", no_files},
    {"no-processes", no_processes},
    {"small-stacks", small_stacks},
    {"few-calls", few_calls},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Game& game : kGames) {
    if (argc != 3 || strcmp(argv[1], game.name) != 0) continue;
    g_port = atoi(argv[2]);
    if (game.play()) return 0;
    say(std::string("cannot be played: ") + strerror(errno));
    return 1;
  }
  fprintf(stderr, "usage: limit_games GAME PORT\n");
  return 2;
}
