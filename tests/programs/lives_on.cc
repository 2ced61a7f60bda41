// lives_on MODE PORT: asks the server on PORT, in a manner that leaves the preloaded library
// without its daemon; says "alone", and lives on until it is killed.
//   closes      closes all its descriptors by system calls of its own between two requests
//   cannot-map  a filter of system calls refuses it memory that is shared with other processes; the
//               library does not see that it was set
//   restricts   a filter that allows everything is set by prctl(3)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>

#include "preload/os/raw_syscall.h"
#include "tests/programs/http_text.h"

namespace {

bool get(int port, const std::string& path) {
  const int fd = connect_to(port);
  if (fd < 0) return false;
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  while (message_size(answer) == 0) {
    const ssize_t size = recv(fd, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    answer.append(bytes, static_cast<size_t>(size));
  }
  close(fd);
  return true;
}

bool refuse_shared_memory() {
  constexpr auto argument = [](int number) {
    return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(number));
  };
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(3)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(4)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         filibuster::preload::raw_syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                                          &program) == 0;
}

bool restrict_nothing() {
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {1, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const int port = atoi(argv[2]);
  if (mode == "cannot-map" && !refuse_shared_memory()) return 3;
  if (mode == "restricts" && !restrict_nothing()) return 3;
  if (!get(port, "/first")) return 1;
  if (mode == "closes") {
    filibuster::preload::raw_syscall(SYS_close_range, 3, ~0u, 0);
    if (!get(port, "/second")) return 1;
  }
  static_cast<void>(!write(STDOUT_FILENO, "alone\n", 6));
  for (;;) pause();
}
