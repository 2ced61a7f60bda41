// thread_games GAME PORT: threads and handlers that leave the middle of a call, and says how the
// requests to the echo server end that come after.
//   cancel    threads are cancelled while they wait for an answer that never comes
//   jump      a handler jumps out of such a wait, in the same thread
//   exit      threads end with their connections open
//   signals   a timer interrupts each call, a thousand times a second; handlers send requests, too
//   storm     threads come and go, each with a request
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/programs/http_text.h"

namespace {

constexpr int kTimes = 20;
int g_port;

void say(const std::string& what) {
  const std::string line = what + "\n";
  static_cast<void>(!write(STDOUT_FILENO, line.data(), line.size()));
}

// Sends half of a request, then waits for an answer to all of it.
void wait_in_vain(int fd) {
  const std::string request = whole_request(7);
  send_all(fd, request.substr(0, request.size() / 2));
  const timeval for_ever = {};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
  char byte;
  while (recv(fd, &byte, 1, 0) != 0) {
  }
}

// Does the thread sleep in the kernel?
bool sleeps(pid_t thread) {
  char path[64], text[512] = {};
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE* file = fopen(path, "r");
  if (file == nullptr) return false;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  const char* end = strrchr(text, ')');
  return end != nullptr && end[2] == 'S';
}

struct Waiter {
  int fd = -1;
  std::atomic<pid_t> thread{0};
};

void* waits(void* of) {
  auto* waiter = static_cast<Waiter*>(of);
  waiter->thread = gettid();
  wait_in_vain(waiter->fd);
  return nullptr;
}

void cancel() {
  for (int i = 0; i < kTimes; ++i) {
    Waiter waiter;
    waiter.fd = connect_to(g_port);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, waits, &waiter) != 0) return say("no thread");
    while (waiter.thread == 0 || !sleeps(waiter.thread)) usleep(100);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    close(waiter.fd);
    say((result == PTHREAD_CANCELED ? "cancelled: " : "ended: ") + one_request(g_port, i));
  }
}

sigjmp_buf g_out;
void jump_out(int) {
  siglongjmp(g_out, 1);
}

void jump() {
  struct sigaction action = {};
  action.sa_handler = jump_out;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < kTimes; ++i) {
    const int fd = connect_to(g_port);
    std::thread other;
    if (sigsetjmp(g_out, 1) == 0) {
      other = std::thread([self = pthread_self(), id = gettid()] {
        while (!sleeps(id)) usleep(100);
        pthread_kill(self, SIGUSR1);
      });
      wait_in_vain(fd);
    }
    other.join();
    close(fd);
    say("jumped: " + one_request(g_port, i));
  }
}

void exits() {
  for (int i = 0; i < kTimes; ++i) {
    int fd = -1;
    std::thread([&] {
      fd = connect_to(g_port);
      const std::string request = whole_request(i);
      send_all(fd, request.substr(0, 20));
    }).join();
    const std::string request = whole_request(i);
    std::string rest, answer;
    std::string problem =
        send_all(fd, request.substr(20)) ? receive_answer(fd, &rest, &answer) : "reset";
    close(fd);
    say("begun by another: " + (problem.empty() ? judge(request, answer) : problem));
  }
}

std::atomic<int> g_interrupted{0};
std::string g_request_of_handler;
void interrupted(int) {
  const int before = errno;
  // Not in the middle of itself, and not so often that nothing else is done. Nothing here may
  // allocate, since the signal may come in the middle of malloc.
  if (g_interrupted.fetch_add(1) % 100 == 0) {
    const int fd = connect_to(g_port);
    char part[4096];
    if (send_all(fd, g_request_of_handler)) {
      shutdown(fd, SHUT_WR);
      while (recv(fd, part, sizeof part, 0) > 0) {
      }
    }
    close(fd);
  }
  errno = before;
}

void signals() {
  g_request_of_handler = whole_request(3);
  struct sigaction action = {};
  action.sa_handler = interrupted;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (int i = 0; i < 10 * kTimes; ++i) say("interrupted: " + one_request(g_port, i));
  const itimerval never = {};
  setitimer(ITIMER_REAL, &never, nullptr);
}

void storm() {
  std::atomic<int> echoed{0};
  for (int round = 0; round < kTimes; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 50; ++i) {
      threads.emplace_back([&, i] { echoed += one_request(g_port, i) == "echo"; });
    }
    for (std::thread& thread : threads) thread.join();
  }
  say("echoed: " + std::to_string(echoed));
}

struct Game {
  const char* name;
  void (*play)();
};
const Game kGames[] = {
    {"cancel", cancel}, {"jump", jump}, {"exit", exits}, {"signals", signals}, {"storm", storm}};

}  // namespace

int main(int argc, char** argv) {
  for (const Game& game : kGames) {
    if (argc != 3 || strcmp(argv[1], game.name) != 0) continue;
    g_port = atoi(argv[2]);
    game.play();
    return 0;
  }
  fprintf(stderr, "usage: thread_games cancel|jump|exit|signals|storm PORT\n");
  return 2;
}
