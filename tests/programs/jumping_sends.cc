// jumping_sends MODE PORT: a thread waits in a send that its server does not read (apps/deaf_until.py, which
// sends SIGUSR1 then), and is taken out of it. MODE:
//   jump     by siglongjmp out of the handler; closes the connection, then GETs /after
//   cancel   by pthread_cancel; GETs /cleanup while it ends, and the main thread GETs /after
//   handler  not at all: the handler GETs /within, upon which the server reads; the answer is 200
// Exit code 0: every GET was answered by 200.
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

uint16_t g_port;
bool g_good = true;
int g_connection = -1;
sigjmp_buf g_before;
const char* g_mode;
constexpr size_t kBody = 64 << 20;

int connected() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(g_port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) abort();
  return fd;
}

bool answered(int fd) {
  char answer[256] = {};
  size_t size = 0;
  while (size < sizeof answer - 1) {
    const ssize_t got = recv(fd, answer + size, sizeof answer - 1 - size, 0);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  return strncmp(answer, "HTTP/1.1 200", 12) == 0;
}

void get(const char* path) {
  const int fd = connected();
  char request[128];
  const int size = snprintf(request, sizeof request,
                            "GET %s HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n", path);
  if (send(fd, request, static_cast<size_t>(size), 0) != size || !answered(fd)) g_good = false;
  close(fd);
}

void post() {
  g_connection = connected();
  std::string request(512 + kBody, 'x');
  const int head =
      snprintf(request.data(), 512,
               "POST /%s HTTP/1.1\r\nHost: web\r\nConnection: close\r\nPid: %d\r\nTid: %ld\r\n"
               "Content-Length: %zu\r\n\r\n",
               g_mode, getpid(), syscall(SYS_gettid), kBody);
  request[static_cast<size_t>(head)] = 'x';
  const size_t size = static_cast<size_t>(head) + kBody;
  size_t sent = 0;
  while (sent < size) {
    const ssize_t n = send(g_connection, request.data() + sent, size - sent, 0);
    if (n <= 0) abort();
    sent += static_cast<size_t>(n);
  }
  if (!answered(g_connection)) g_good = false;
}

void on_signal(int) {
  if (strcmp(g_mode, "jump") == 0) siglongjmp(g_before, 1);
  get("/within");
}

void* cancelled(void*) {
  pthread_cleanup_push([](void*) { get("/cleanup"); }, nullptr);
  post();
  pthread_cleanup_pop(0);
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  g_mode = arguments[1];
  g_port = static_cast<uint16_t>(atoi(arguments[2]));
  if (strcmp(g_mode, "cancel") == 0) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &only, nullptr);
    pthread_t thread;
    pthread_create(&thread, nullptr, cancelled, nullptr);
    int signal = 0;
    sigwait(&only, &signal);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  } else {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    if (sigsetjmp(g_before, 1) == 0) post();
  }
  close(g_connection);
  if (strcmp(g_mode, "handler") != 0) get("/after");
  return g_good ? 0 : 1;
}
