// Leaves processes behind that no signal to its process group reaches.
//   leaves daemon FILE      forks twice, as a program that becomes a daemon; the daemon writes its pid to FILE
//   leaves stubborn FILE    the same, and the daemon ignores SIGTERM
//   leaves bare FILE        the same, and the daemon has no environment
//   leaves serve PORT FILE  a service: a child in a session of its own listens at PORT and writes its pid to FILE, and both
//                           go on at SIGTERM
//   leaves orphan COMMAND…  COMMAND, which begins when its parent has ended
// The first three return when FILE is written.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void wait_for_signals() {
  while (true) pause();
}

// In one step, so that whoever waits for the file reads a whole number.
void write_pid(const std::string& file) {
  const std::string temporary = file + ".new";
  FILE* const out = fopen(temporary.c_str(), "w");
  if (out == nullptr) exit(3);
  fprintf(out, "%d\n", static_cast<int>(getpid()));
  fclose(out);
  if (rename(temporary.c_str(), file.c_str()) != 0) exit(3);
}

int leave_daemon(const char* self, const std::string& mode, const char* file) {
  int written[2];
  if (pipe(written) != 0) return 3;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    close(written[0]);
    if (mode == "stubborn") signal(SIGTERM, SIG_IGN);
    if (mode == "bare") {
      char end[16];
      snprintf(end, sizeof end, "%d", written[1]);
      char* const none[] = {nullptr};
      execle(self, self, "bare-daemon", end, file, nullptr, none);
      _exit(3);
    }
    write_pid(file);
    close(written[1]);
    wait_for_signals();
  }
  close(written[1]);
  waitpid(child, nullptr, 0);
  char byte;
  return read(written[0], &byte, 1) == 0 ? 0 : 3;
}

int leave_orphan(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const pid_t parent = getpid();
    if (fork() != 0) _exit(0);
    while (getppid() == parent) usleep(1000);
    execvp(command[0], command);
    _exit(3);
  }
  waitpid(child, nullptr, 0);
  return 0;
}

int serve(uint16_t port, const char* file) {
  signal(SIGTERM, SIG_IGN);
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
  }
  setsid();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 4;
  write_pid(file);
  listen(listener, 16);
  while (true) close(accept(listener, nullptr, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 2 ? argv[1] : "";
  if (mode == "orphan") return leave_orphan(argv + 2);
  if (mode == "serve" && argc == 4) return serve(static_cast<uint16_t>(atoi(argv[2])), argv[3]);
  if (mode == "bare-daemon" && argc == 4) {
    write_pid(argv[3]);
    close(atoi(argv[2]));
    wait_for_signals();
  }
  if (argc == 3) return leave_daemon(argv[0], mode, argv[2]);
  fprintf(
      stderr,
      "usage: leaves daemon|stubborn|bare FILE, leaves serve PORT FILE, or leaves orphan COMMAND...\n");
  return 2;
}
