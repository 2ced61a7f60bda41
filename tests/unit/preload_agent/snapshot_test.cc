// What is in the way of a fork, and what a child of a snapshot makes anew. Each test runs in a child of its
// own, since it changes the descriptors of its process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "preload/snapshot/fresh.h"
#include "preload/snapshot/obstacles.h"

namespace filibuster::preload {
namespace {

// Runs `body` in a child; what it returns is why it failed. As in a snapshot, the parent keeps what the
// child closes.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    // The output of the tests may be a file.
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
    const std::string why = body();
    if (write(ends[1], why.data(), why.size()) != static_cast<ssize_t>(why.size())) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string out;
  char bytes[512];
  for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
    out.append(bytes, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? out : out + " (status " + std::to_string(status) + ")";
}

#define WANT(condition) \
  if (!(condition))     \
  return std::string(#condition " does not hold, line ") + std::to_string(__LINE__)

std::string file_with(const std::string& text) {
  char name[] = "/tmp/filibuster-snapshot-XXXXXX";
  const int fd = mkostemp(name, O_CLOEXEC);
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) abort();
  close(fd);
  return name;
}

std::string obstacle_after(const std::function<void()>& before) {
  return in_child([&]() -> std::string {
    before();
    Obstacle obstacle;
    find_obstacle(0, &obstacle);
    return std::string(obstacle.exclusive ? "!" : "") + obstacle.text;
  });
}

int listener() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(fd, 1);
  return fd;
}

TEST(Obstacles, APlainProcessHasNone) {
  EXPECT_EQ(obstacle_after([] {}), "");
  EXPECT_EQ(obstacle_after([] {
              socket(AF_INET, SOCK_STREAM, 0);
              (void)open("/etc/hostname", O_RDONLY);
            }),
            "");
}

TEST(Obstacles, WhatWouldBeSharedIsNamed) {
  const std::string path = file_with("x");
  EXPECT_EQ(obstacle_after([&] { (void)open(path.c_str(), O_WRONLY); }),
            "!it has " + path + " open for writing");
  EXPECT_EQ(obstacle_after([&] { flock(open(path.c_str(), O_RDONLY), LOCK_SH); }),
            "!it holds a lock on " + path);
  EXPECT_EQ(obstacle_after([] { listener(); }).substr(0, 25), "!it listens on 127.0.0.1:");
  const int server = listener();
  EXPECT_EQ(obstacle_after([server] {
              sockaddr_in address{};
              socklen_t size = sizeof address;
              getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
              const int client = socket(AF_INET, SOCK_STREAM, 0);
              (void)connect(client, reinterpret_cast<sockaddr*>(&address), size);
              close(server);  // this test's own stays open, and with it the connection
            }).substr(0, 15),
            "it is connected");
  close(server);
  EXPECT_EQ(obstacle_after([] {
              (void)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
            }).substr(0, 16),
            "it shares memory");
  EXPECT_EQ(obstacle_after([] { std::thread([] { pause(); }).detach(); }), "it has 2 threads");
  EXPECT_EQ(obstacle_after([] {
              if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);  // it holds the pipe of the result
                if (getppid() != 1) pause();
                _exit(0);
              }
            }),
            "!it has started other processes");
  unlink(path.c_str());
}

TEST(Fresh, FilesKeepTheirOffsetsAndShareThemNoMore) {
  const std::string path = file_with("0123456789");
  const std::string why = in_child([&]() -> std::string {
    const int fd = open(path.c_str(), O_RDONLY);
    const int copy = dup(fd);
    lseek(fd, 4, SEEK_SET);
    const pid_t child = fork();
    if (child == 0) {
      make_descriptors_fresh(0, open("/dev/null", O_WRONLY));
      char byte = 0;
      const bool right = read(fd, &byte, 1) == 1 && byte == '4' && lseek(copy, 0, SEEK_CUR) == 5;
      _exit(right ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    WANT(status == 0);
    WANT(lseek(fd, 0, SEEK_CUR) == 4);
    return "";
  });
  EXPECT_EQ(why, "");
  unlink(path.c_str());
}

TEST(Fresh, ATemporaryFileWithoutANameIsCopied) {
  EXPECT_EQ(in_child([]() -> std::string {
              const int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
              if (fd < 0) return "";  // a file system without them
              WANT(write(fd, "before", 6) == 6);
              const pid_t child = fork();
              if (child == 0) {
                make_descriptors_fresh(0, open("/dev/null", O_WRONLY));
                const bool wrote = write(fd, " child", 6) == 6;
                char text[16] = {};
                const bool right = pread(fd, text, sizeof text - 1, 0) == 12 &&
                                   std::string(text) == "before child";
                _exit(wrote && right ? 0 : 1);
              }
              int status = 1;
              waitpid(child, &status, 0);
              WANT(status == 0);
              struct stat about {};
              fstat(fd, &about);
              WANT(about.st_size == 6);
              return "";
            }),
            "");
}

TEST(Fresh, TheLogIsReplacedWhereverItIs) {
  const std::string before = file_with(""), after = file_with("");
  EXPECT_EQ(in_child([&]() -> std::string {
              const int log = open(before.c_str(), O_WRONLY | O_APPEND);
              const int copy = dup(log);
              struct stat about {};
              fstat(log, &about);
              make_descriptors_fresh(about.st_ino, open(after.c_str(), O_WRONLY | O_APPEND));
              WANT(write(log, "a", 1) == 1 && write(copy, "b", 1) == 1);
              return "";
            }),
            "");
  char text[4] = {};
  const int fd = open(after.c_str(), O_RDONLY);
  EXPECT_EQ(read(fd, text, sizeof text), 2);
  EXPECT_STREQ(text, "ab");
  close(fd);
  unlink(before.c_str());
  unlink(after.c_str());
}

TEST(Fresh, ASocketIsAnotherOneWithTheSameOptions) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1, room = 65536;
  const timeval time{7, 0};
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  const int set = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLET;
  event.data.u64 = 0x1122334455667788;
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  EXPECT_EQ(
      in_child([fd, set]() -> std::string {
        struct stat first {
        }, second{};
        int sizes[2] = {};
        socklen_t length = sizeof(int);
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sizes[0], &length);
        fstat(fd, &first);
        make_descriptors_fresh(0, open("/dev/null", O_WRONLY));
        fstat(fd, &second);
        WANT(first.st_ino != second.st_ino);
        WANT((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
        WANT((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
        int value = 0;
        WANT(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0 && value == 1);
        getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sizes[1], &length);
        WANT(sizes[0] == sizes[1]);
        timeval seen{};
        length = sizeof seen;
        WANT(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &seen, &length) == 0 && seen.tv_sec == 7);
        // An unconnected socket hangs up, which its set tells with our data.
        epoll_event got{};
        WANT(epoll_wait(set, &got, 1, 1000) == 1);
        WANT(got.data.u64 == 0x1122334455667788);
        return "";
      }),
      "");
  close(set);
  close(fd);
}

TEST(Fresh, APipeToItselfIsAnotherOne) {
  EXPECT_EQ(in_child([]() -> std::string {
              int ends[2];
              WANT(pipe2(ends, O_NONBLOCK) == 0);
              struct stat first {
              }, read_end{}, write_end{};
              fstat(ends[0], &first);
              make_descriptors_fresh(0, open("/dev/null", O_WRONLY));
              fstat(ends[0], &read_end);
              fstat(ends[1], &write_end);
              WANT(read_end.st_ino != first.st_ino && read_end.st_ino == write_end.st_ino);
              char byte = 0;
              WANT(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
              WANT(read(ends[0], &byte, 1) == -1);  // non-blocking
              return "";
            }),
            "");
}

TEST(Timers, AreArmedAgainInAChild) {
  EXPECT_EQ(in_child([]() -> std::string {
              const itimerval armed{{0, 0}, {500, 0}};
              setitimer(ITIMER_REAL, &armed, nullptr);
              timer_t timer = nullptr;
              sigevent event{};
              event.sigev_notify = SIGEV_SIGNAL;
              event.sigev_signo = SIGUSR1;
              WANT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
              const itimerspec time{{0, 0}, {300, 0}};
              timer_settime(timer, 0, &time, nullptr);
              Timers timers;
              WANT(timers.read());
              const pid_t child = fork();
              if (child == 0) {
                timers.make_again();
                itimerval left{};
                itimerspec rest{};
                getitimer(ITIMER_REAL, &left);
                const bool there = timer_gettime(timer, &rest) == 0;
                _exit(left.it_value.tv_sec > 400 && there && rest.it_value.tv_sec > 200 ? 0 : 1);
              }
              int status = 1;
              waitpid(child, &status, 0);
              WANT(status == 0);
              return "";
            }),
            "");
}

}  // namespace
}  // namespace filibuster::preload
