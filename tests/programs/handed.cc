// A service whose connections come ready-made: who answers (or asks) has neither accepted nor connected them, and makes no socket
// before it has read the request.
//
// handed PORT URL WAY: answers each request with 200 if a GET of URL gives 200, else with 503. WAY:
//   rights    a process that was forked before there was any socket gets each connection in a message (SCM_RIGHTS)
//   started   the same with another program, whose standard input is the Unix socket
//   inetd     each connection is standard input and output of a program of its own
//   bytes     the same; the program reads byte by byte
//   activated each connection is descriptor 3 of a program of its own (systemd's Accept=yes)
//   listening one program has the listening socket as descriptor 3 (systemd's Accept=no)
//   pidfd     a process that was forked before there was any socket takes each connection out of its parent's table
//   asking    the connection to URL is descriptors 6 and 7 of a program of its own, which asks (UCSPI)
#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "tests/programs/asking.h"

namespace {

const char* self;
const char* url;

// The next request, without a body; "": there is none.
std::string read_request(int fd, size_t piece) {
  std::string in;
  char bytes[4096];
  while (in.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = read(fd, bytes, piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    in.append(bytes, static_cast<size_t>(n));
  }
  return in;
}

void write_answer(int fd, bool good) {
  const std::string text = std::string("HTTP/1.1 ") +
                           (good ? "200 OK" : "503 Service Unavailable") +
                           "\r\nContent-Length: 2\r\n\r\nok";
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) exit(1);
}

bool ask_for_it() {
  const Answer answer = get(url, 1000);
  return answer.problem.empty() && answer.status == 200;
}

void answer_all(int in, int out, size_t piece = 4096) {
  while (!read_request(in, piece).empty()) write_answer(out, ask_for_it());
}

void send_descriptor(int to, int fd) {
  char byte = 'x';
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(to, &message, 0) != 1) exit(1);
}

int receive_descriptor(int from) {
  char byte;
  iovec data = {&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(from, &message, 0) != 1) exit(0);
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

[[noreturn]] void serve_given(int from) {
  for (;;) {
    const int fd = receive_descriptor(from);
    answer_all(fd, fd);
    close(fd);
  }
}

[[noreturn]] void serve_taken(int from) {
  const int parent = static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0));
  for (int theirs; read(from, &theirs, sizeof theirs) == sizeof theirs;) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_getfd, parent, theirs, 0));
    if (fd < 0) exit(1);
    // Until it is told so, the parent keeps its own.
    if (write(from, "x", 1) != 1) exit(1);
    answer_all(fd, fd);
    close(fd);
  }
  exit(0);
}

// Starts this program once more, with `fd` as each of the descriptors.
pid_t start(const char* way, int fd, std::initializer_list<int> descriptors) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (const int to : descriptors) {
    if (fd == to) {
      fcntl(fd, F_SETFD, 0);
    } else {
      dup2(fd, to);
    }
  }
  execl(self, self, "-", url, way, static_cast<char*>(nullptr));
  _exit(127);
}

int connected() {
  const std::string text = url;
  const size_t host = text.find("://") + 3, colon = text.find(':', host);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(atoi(text.c_str() + colon + 1)));
  inet_pton(AF_INET, text.substr(host, colon - host).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 ? fd : -1;
}

// Over 7 and 6, as a program under tcpclient does.
int ask_over_given() {
  const std::string request = "GET / HTTP/1.1\r\nHost: given\r\n\r\n";
  if (write(7, request.data(), request.size()) != static_cast<ssize_t>(request.size())) return 1;
  std::string in;
  char bytes[4096];
  while (message_size(in) == 0) {
    pollfd ready = {6, POLLIN, 0};
    if (poll(&ready, 1, 1000) != 1) return 1;
    const ssize_t n = read(6, bytes, sizeof bytes);
    if (n <= 0) return 1;
    in.append(bytes, static_cast<size_t>(n));
  }
  return in.compare(9, 3, "200") == 0 ? 0 : 1;
}

void answer_by_program(int fd) {
  while (!read_request(fd, 4096).empty()) {
    int status = 1;
    if (const int upstream = connected(); upstream >= 0) {
      const pid_t child = start("asking", upstream, {6, 7});
      close(upstream);
      waitpid(child, &status, 0);
    }
    write_answer(fd, status == 0);
  }
}

int run_started(const std::string& way) {
  if (way == "asking") {
    const int status = ask_over_given();
    close(6);
    close(7);
    return status;
  }
  if (way == "started") serve_given(0);
  if (way == "listening") {
    for (;;) {
      const int fd = accept(3, nullptr, nullptr);
      if (fd < 0) return 1;
      answer_all(fd, fd);
      close(fd);
    }
  }
  if (way == "activated") {
    answer_all(3, 3);
  } else {
    answer_all(0, 1, way == "bytes" ? 1 : 4096);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: handed PORT URL WAY, see handed.cc\n");
    return 2;
  }
  self = "/proc/self/exe";
  url = argv[2];
  const std::string way = argv[3];
  if (strcmp(argv[1], "-") == 0) return run_started(way);
  signal(SIGPIPE, SIG_IGN);
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  if (way == "pidfd") prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (way == "rights" || way == "pidfd") {
    if (fork() == 0) {
      close(ends[0]);
      if (way == "rights") serve_given(ends[1]);
      serve_taken(ends[1]);
    }
  } else if (way == "started") {
    start("started", ends[1], {0});
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(argv[1])));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 128) != 0)
    return 1;
  if (way == "listening") {
    int status;
    waitpid(start("listening", listener, {3}), &status, 0);
    return 1;
  }
  if (way != "asking") signal(SIGCHLD, SIG_IGN);
  for (;;) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (way == "rights" || way == "started") {
      send_descriptor(ends[0], fd);
    } else if (way == "pidfd") {
      char taken;
      if (write(ends[0], &fd, sizeof fd) != sizeof fd || read(ends[0], &taken, 1) != 1) return 1;
    } else if (way == "activated") {
      start("activated", fd, {3});
    } else if (way == "asking") {
      answer_by_program(fd);
    } else {
      start(way.c_str(), fd, {0, 1});
    }
    close(fd);
  }
}
