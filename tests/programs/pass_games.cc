// pass_games GAME PORT: connections to the echo server that change hands before their request, and
// says how each one ended.
//   message   a child gets it over a Unix socket, and sends the request
//   exec      this program, executed anew, inherits it under its number
//   pidfd     the parent takes it out of its child (pidfd_getfd)
//   ring      the request and its answer go by io_uring
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>

#include "tests/programs/http_text.h"

namespace {

int g_port;
constexpr int kTimes = 5;

std::string exchange(int fd, int n) {
  std::string rest, answer, problem = "reset";
  if (send_all(fd, whole_request(n))) problem = receive_answer(fd, &rest, &answer);
  return problem.empty() ? judge(whole_request(n), answer) : problem;
}

void say(const std::string& what) {
  const std::string line = what + "\n";
  static_cast<void>(!write(STDOUT_FILENO, line.data(), line.size()));
}

bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool send_descriptor(int socket, int fd) {
  char byte = 'x';
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  return sendmsg(socket, &message, 0) == 1;
}

int receive_descriptor(int socket) {
  char byte;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, 0) != 1 || CMSG_FIRSTHDR(&message) == nullptr) return -1;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return fd;
}

bool by_message(int n) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const int fd = receive_descriptor(pair[1]);
    say("in a child: " + exchange(fd, n));
    _exit(0);
  }
  const int fd = connect_to(g_port);
  const bool sent = send_descriptor(pair[0], fd);
  close(fd);
  const bool ok = ended_well(child);
  close(pair[0]);
  close(pair[1]);
  return sent && ok;
}

bool by_exec(int n) {
  const int fd = connect_to(g_port);
  const pid_t child = fork();
  if (child == 0) {
    const std::string number = std::to_string(fd), which = std::to_string(n);
    execl("/proc/self/exe", "pass_games", "inherited", number.c_str(), which.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  close(fd);
  return ended_well(child);
}

bool by_pidfd(int n) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const int fd = connect_to(g_port);
    if (write(pair[1], &fd, sizeof fd) != sizeof fd) _exit(1);
    char done;
    _exit(read(pair[1], &done, 1) == 1 ? 0 : 1);
  }
  int theirs = -1;
  if (read(pair[0], &theirs, sizeof theirs) != sizeof theirs) return false;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const int fd = static_cast<int>(syscall(SYS_pidfd_getfd, process, theirs, 0));
  say("taken from a child: " + (fd < 0 ? std::string(strerror(errno)) : exchange(fd, n)));
  static_cast<void>(!write(pair[0], "x", 1));
  close(fd);
  close(process);
  const bool ok = ended_well(child);
  close(pair[0]);
  close(pair[1]);
  return ok;
}

// One submission at a time, waited for.
class Ring {
 public:
  bool open() {
    io_uring_params parameters = {};
    fd_ = static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters));
    if (fd_ < 0) return false;
    const auto map = [this](size_t size, off_t offset) {
      return static_cast<char*>(
          mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, offset));
    };
    char* submissions = map(4096, IORING_OFF_SQ_RING);
    char* completions = map(4096, IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(4096, IORING_OFF_SQES));
    tail_ = reinterpret_cast<std::atomic<unsigned>*>(submissions + parameters.sq_off.tail);
    mask_ = *reinterpret_cast<unsigned*>(submissions + parameters.sq_off.ring_mask);
    array_ = reinterpret_cast<unsigned*>(submissions + parameters.sq_off.array);
    head_ = reinterpret_cast<std::atomic<unsigned>*>(completions + parameters.cq_off.head);
    done_mask_ = *reinterpret_cast<unsigned*>(completions + parameters.cq_off.ring_mask);
    done_ = reinterpret_cast<io_uring_cqe*>(completions + parameters.cq_off.cqes);
    return true;
  }
  int submit(uint8_t what, int fd, void* data, size_t size) {
    const unsigned tail = tail_->load();
    io_uring_sqe& entry = entries_[tail & mask_];
    memset(&entry, 0, sizeof entry);
    entry.opcode = what;
    entry.fd = fd;
    entry.addr = reinterpret_cast<uint64_t>(data);
    entry.len = static_cast<unsigned>(size);
    array_[tail & mask_] = tail & mask_;
    tail_->store(tail + 1);
    if (syscall(SYS_io_uring_enter, fd_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0)
      return -errno;
    const unsigned head = head_->load();
    const int result = done_[head & done_mask_].res;
    head_->store(head + 1);
    return result;
  }

 private:
  int fd_ = -1;
  io_uring_sqe* entries_ = nullptr;
  io_uring_cqe* done_ = nullptr;
  std::atomic<unsigned>*tail_ = nullptr, *head_ = nullptr;
  unsigned *array_ = nullptr, mask_ = 0, done_mask_ = 0;
};

bool by_ring(int n) {
  static Ring ring;
  if (n == 0 && !ring.open()) {
    say(std::string("no ring: ") + strerror(errno));
    return true;  // the system allows none: nothing to compare
  }
  const int fd = connect_to(g_port);
  std::string request = whole_request(n), answer;
  const int sent = ring.submit(IORING_OP_SEND, fd, request.data(), request.size());
  char bytes[8192];
  while (sent == static_cast<int>(request.size()) && message_size(answer) == 0) {
    const int size = ring.submit(IORING_OP_RECV, fd, bytes, sizeof bytes);
    if (size <= 0) break;
    answer.append(bytes, static_cast<size_t>(size));
  }
  say("by a ring: " + (message_size(answer) == 0 ? "no answer" : judge(request, answer)));
  close(fd);
  return true;
}

struct Game {
  const char* name;
  bool (*play)(int n);
};
const Game kGames[] = {
    {"message", by_message}, {"exec", by_exec}, {"pidfd", by_pidfd}, {"ring", by_ring}};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "inherited") == 0) {
    say("inherited: " + exchange(atoi(argv[2]), atoi(argv[3])));
    return 0;
  }
  for (const Game& game : kGames) {
    if (argc != 3 || strcmp(argv[1], game.name) != 0) continue;
    g_port = atoi(argv[2]);
    for (int n = 0; n < kTimes; ++n) {
      if (!game.play(n)) return 1;
    }
    return 0;
  }
  fprintf(stderr, "usage: pass_games message|exec|pidfd|ring PORT\n");
  return 2;
}
