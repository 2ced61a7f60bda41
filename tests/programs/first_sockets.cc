// first_sockets PORT: two threads whose first sockets are the first ones of the process, while what
// the preloaded library does once for all of them takes long in one of the two: its openat of the
// control page is held by a filter of system calls until the other thread's request to /second is
// answered, or kHeld has passed. Then its own request goes to /first. Says the status of each.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <chrono>
#include <cstddef>
#include <future>

#include "preload/os/raw_syscall.h"
#include "tests/programs/http_text.h"

namespace {

// Below the library's patience. Who does not wait is answered long before.
constexpr auto kHeld = std::chrono::milliseconds(200);

std::string get(int port, const std::string& path) {
  const int fd = connect_to(port);
  if (fd < 0) return strerror(errno);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  while (message_size(answer) == 0) {
    const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0) return strerror(errno);
    answer.append(bytes, static_cast<size_t>(size));
  }
  close(fd);
  return path + " " + answer.substr(9, 3);
}

// Of the calling thread alone: each readlinkat waits for an answer on the descriptor that it returns.
int hold_readlinkat() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Not by syscall(3): a process that the library sees restricting itself takes part in no session.
  return static_cast<int>(filibuster::preload::raw_syscall(
      SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int port = atoi(argv[1]);
  std::promise<int> filter;
  auto first = std::async(std::launch::async, [&] {
    filter.set_value(hold_readlinkat());
    return get(port, "/first");
  });
  const int held = filter.get_future().get();
  if (held < 0) {
    perror("first_sockets: seccomp");
    _exit(1);
  }
  std::future<std::string> second;
  for (;;) {
    pollfd ready = {held, POLLIN, 0};
    if (poll(&ready, 1, -1) < 0 || (ready.revents & POLLIN) == 0) break;  // the thread has ended
    seccomp_notif call = {};
    if (ioctl(held, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    // The memory is our own.
    const std::string path = reinterpret_cast<const char*>(call.data.args[1]);
    if (!second.valid() && path.ends_with("control")) {
      second = std::async(std::launch::async, get, port, "/second");
      second.wait_for(kHeld);
    }
    seccomp_notif_resp answer = {};
    answer.id = call.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(held, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
  if (!second.valid()) {
    fprintf(stderr, "first_sockets: the control page was not looked for\n");
    return 1;
  }
  printf("%s\n%s\n", first.get().c_str(), second.get().c_str());
}
