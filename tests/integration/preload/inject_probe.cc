// Proves preload/inject alone, without the hooks: each line printed is one fact about a faulted
// connection as its application sees it. Exit code 1 if any fact does not hold.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "core/fault/fault.h"
#include "tests/integration/preload/inject_fakes.h"

using namespace filibuster;
using namespace filibuster::preload;

namespace {

int g_failures = 0;
std::string g_where;

void fact(bool holds, const std::string& text) {
  printf("%s %s: %s\n", holds ? "ok  " : "FAIL", g_where.c_str(), text.c_str());
  if (!holds) ++g_failures;
}

enum class Fault { kAnswer, kReset, kSilence };
const char* const kFaultNames[] = {"answer", "reset", "silence"};
const char* family_name(int family) {
  return family == AF_INET ? "IPv4" : family == AF_INET6 ? "IPv6" : "Unix";
}

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_un un;
};

// A real connection to a real server, both ends here.
struct Connection {
  int app = -1, server = -1;
  Address peer = {};
  socklen_t peer_size = 0;

  explicit Connection(int family) {
    const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    peer.any.sa_family = static_cast<sa_family_t>(family);
    peer_size = family == AF_INET ? sizeof peer.v4 : sizeof peer.v6;
    if (family == AF_INET) peer.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (family == AF_INET6) peer.v6.sin6_addr = in6addr_loopback;
    if (family == AF_UNIX) peer_size = sizeof(sa_family_t);  // autobind: an abstract name
    const bool listens = bind(listener, &peer.any, peer_size) == 0 && listen(listener, 1) == 0;
    peer_size = sizeof peer;
    getsockname(listener, &peer.any, &peer_size);
    app = socket(family, SOCK_STREAM, 0);
    if (!listens || connect(app, &peer.any, peer_size) != 0) {
      perror("no connection to try with");
      exit(2);
    }
    server = accept(listener, nullptr, nullptr);
    close(listener);
  }
  ~Connection() {
    forget_replaced(app);
    close(app);
    close(server);
    fake::close_held();
  }
};

OutgoingCall make_call(Fault fault, bool refused = false) {
  OutgoingCall call;
  call.active = call.faulted = true;
  call.rpc = 7;
  call.plan = {};
  call.plan.kind = static_cast<uint8_t>(fault == Fault::kAnswer    ? FaultKind::kStatus
                                        : fault == Fault::kSilence ? FaultKind::kTimeout
                                        : refused                  ? FaultKind::kRefused
                                                                   : FaultKind::kReset);
  call.plan.status = 503;
  call.plan.blob_size = static_cast<uint32_t>(fake::answer.size());
  call.plan.blob_head_size = static_cast<uint32_t>(fake::answer.find("\r\n\r\n") + 4);
  return call;
}

bool inject(Connection& c, Fault fault) {
  OutgoingCall call = make_call(fault);
  const int finishes = fake::finishes;
  const bool done = inject_before_effect(c.app, nullptr, &call, false);
  if (fault == Fault::kSilence) return done && call.active && fake::finishes == finishes;
  return done && !call.active && fake::finishes == finishes + 1 && fake::finished.injected == 1;
}

// A receive as the hook performs it: what ran on the old connection is dropped and done again.
ssize_t hooked_recv(int fd, char* data, size_t size, int flags = 0) {
  for (;;) {
    const uint32_t before = replacements();
    const ssize_t n = recv(fd, data, size, flags);
    if (replacements() == before || !is_replaced(fd)) return n;
  }
}

// "answer" (whole, then EOF), "reset", "nothing" (EAGAIN), or what else came.
std::string read_all(int fd) {
  std::string all;
  char buffer[65536];
  for (;;) {
    const ssize_t n = hooked_recv(fd, buffer, sizeof buffer);
    if (n > 0) {
      all.append(buffer, static_cast<size_t>(n));
      continue;
    }
    if (n == 0) return all == fake::answer ? "answer" : "EOF after " + std::to_string(all.size());
    if (!all.empty()) return "cut after " + std::to_string(all.size());
    return errno == ECONNRESET ? "reset" : errno == EAGAIN ? "nothing" : strerror(errno);
  }
}
const char* expected(Fault fault) {
  return fault == Fault::kAnswer ? "answer" : fault == Fault::kReset ? "reset" : "nothing";
}
void nonblocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}
constexpr int kQuiet = 20;  // ms after which a silence counts as one

// --- wake-up styles ---------------------------------------------------------------------------

struct Style {
  const char* name;
  uint32_t epoll_events;  // 0: not by epoll
  // Waits until `fd` is readable; false: it was not within kQuiet.
  bool (*wait)(int fd, int epoll, int timeout);
};
bool wait_recv(int, int, int) {
  return true;
}
bool wait_poll(int fd, int, int timeout) {
  pollfd p = {fd, POLLIN, 0};
  return poll(&p, 1, timeout) == 1 && (p.revents & POLLIN) != 0;
}
bool wait_select(int fd, int, int timeout) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(fd, &set);
  timeval limit = {timeout / 1000, timeout % 1000 * 1000};
  return select(fd + 1, &set, nullptr, nullptr, timeout < 0 ? nullptr : &limit) == 1;
}
constexpr uint64_t kCookie = 0x1234567890abcdefull;
bool wait_epoll(int, int epoll, int timeout) {
  epoll_event event = {};
  return epoll_wait(epoll, &event, 1, timeout) == 1 && event.data.u64 == kCookie &&
         (event.events & EPOLLIN) != 0;
}
const Style kStyles[] = {
    {"blocking read", 0, wait_recv},
    {"poll", 0, wait_poll},
    {"select", 0, wait_select},
    {"level-triggered epoll", EPOLLIN, wait_epoll},
    {"edge-triggered epoll", EPOLLIN | EPOLLRDHUP | EPOLLET, wait_epoll},
    {"one-shot epoll", EPOLLIN | EPOLLONESHOT, wait_epoll},
};

int make_epoll(int fd, uint32_t events) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event = {};
  event.events = events;
  event.data.u64 = kCookie;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  return epoll;
}

void one_style(int family, Fault fault, const Style& style) {
  Connection c(family);
  const int epoll = style.epoll_events ? make_epoll(c.app, style.epoll_events) : -1;
  if (style.wait == wait_recv && fault == Fault::kSilence) {
    const timeval limit = {0, kQuiet * 1000};
    setsockopt(c.app, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  } else if (style.wait != wait_recv) {
    nonblocking(c.app);
  }
  bool ok = inject(c, fault);
  const bool readable = style.wait(c.app, epoll, fault == Fault::kSilence ? kQuiet : 5000);
  if (style.wait != wait_recv) ok = ok && readable == (fault != Fault::kSilence);
  const std::string seen = read_all(c.app);
  ok = ok && seen == expected(fault);
  if (epoll >= 0 && fault != Fault::kSilence) {
    // The mode was kept: nothing more without a new edge, nothing more of a one-shot.
    const bool again = wait_epoll(c.app, epoll, 0);
    ok = ok && again == (style.epoll_events == EPOLLIN);
  }
  fact(ok, std::string(style.name) + " gives " + seen);
  if (epoll >= 0) close(epoll);
}

// Waits until the thread sleeps in the kernel.
void until_asleep(const std::atomic<int>& tid) {
  while (tid.load() == 0) sched_yield();
  for (;;) {
    char path[64], text[256] = {};
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid.load());
    const int file = open(path, O_RDONLY);
    const ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    const char* state = n > 0 ? strrchr(text, ')') : nullptr;
    if (state != nullptr && state[2] == 'S') return;
    sched_yield();
  }
}

void second_thread(int family, Fault fault, const Style& style) {
  Connection c(family);
  const int epoll = style.epoll_events ? make_epoll(c.app, style.epoll_events) : -1;
  if (style.wait != wait_recv) nonblocking(c.app);
  std::atomic<int> tid{0};
  std::string seen;
  std::thread reader([&] {
    tid = static_cast<int>(syscall(SYS_gettid));
    // Wakes by the fault; a silence is ended by the daemon's reset below, which a poll or select
    // that began before the fault sees at its next turn.
    do {
      style.wait(c.app, epoll, fault == Fault::kSilence ? kQuiet : -1);
      seen = read_all(c.app);
    } while (seen == "nothing");
  });
  until_asleep(tid);
  bool ok = inject(c, fault);
  if (fault == Fault::kSilence) {
    if (family == AF_UNIX) {
      const char byte = 0;
      send(c.app, &byte, 1, MSG_NOSIGNAL);
    } else {
      const linger now = {1, 0};
      setsockopt(fake::held, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    fake::close_held();
  }
  reader.join();
  ok = ok && seen == (fault == Fault::kSilence ? "reset" : expected(fault));
  fact(ok, std::string("a second thread in ") + style.name + " gets " + seen);
  if (epoll >= 0) close(epoll);
}

// --- what else the application can see --------------------------------------------------------

void visible_state(int family) {
  {
    Connection c(family);
    const timeval limit = {3, 0};
    const int on = 1;
    setsockopt(c.app, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(c.app, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (family != AF_UNIX) setsockopt(c.app, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    nonblocking(c.app);
    fcntl(c.app, F_SETFD, FD_CLOEXEC);
    Address local = {};
    socklen_t local_size = sizeof local;
    getsockname(c.app, &local.any, &local_size);
    inject(c, Fault::kAnswer);
    int unread = 0, error = -1, nodelay = 0, domain = 0;
    socklen_t size = sizeof error;
    ioctl(c.app, FIONREAD, &unread);
    fact(unread == static_cast<int>(fake::answer.size()), "FIONREAD is the size of the answer");
    char peeked[65536];
    const ssize_t n = recv(c.app, peeked, sizeof peeked, MSG_PEEK);
    fact(std::string(peeked, static_cast<size_t>(n < 0 ? 0 : n)) == fake::answer,
         "MSG_PEEK shows the answer");
    getsockopt(c.app, SOL_SOCKET, SO_ERROR, &error, &size);
    fact(error == 0, "SO_ERROR is 0 after an answer");
    Address seen = {};
    socklen_t seen_size = sizeof seen;
    fact(original_peer(c.app, &seen.any, &seen_size) && seen_size == c.peer_size &&
             memcmp(&seen, &c.peer, seen_size) == 0,
         "getpeername is the original peer");
    seen_size = sizeof seen;
    fact(original_local(c.app, &seen.any, &seen_size) && seen_size == local_size &&
             memcmp(&seen, &local, seen_size) == 0,
         "getsockname is the original address");
    char small[4] = {};
    seen_size = 1;
    fact(original_peer(c.app, reinterpret_cast<sockaddr*>(small), &seen_size) &&
             seen_size == c.peer_size && small[1] == 0,
         "a short address buffer is filled up to its size, and told the whole");
    timeval kept = {}, kept_send = {};
    size = sizeof kept;
    getsockopt(c.app, SOL_SOCKET, SO_RCVTIMEO, &kept, &size);
    getsockopt(c.app, SOL_SOCKET, SO_SNDTIMEO, &kept_send, &size);
    size = sizeof nodelay;
    getsockopt(c.app, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (family != AF_UNIX) getsockopt(c.app, IPPROTO_TCP, TCP_NODELAY, &nodelay, &size);
    fact(kept.tv_sec == 3 && kept_send.tv_sec == 3 && (nodelay != 0) == (family != AF_UNIX) &&
             (fcntl(c.app, F_GETFL) & O_NONBLOCK) && (fcntl(c.app, F_GETFD) & FD_CLOEXEC) &&
             domain == family,
         "timeouts, TCP_NODELAY, O_NONBLOCK, close-on-exec and the family are kept");
    fact(read_all(c.app) == "answer", "the answer is still whole after MSG_PEEK");
    const std::string more(20000, 'b');
    fact(swallows_writes(c.app) && send(c.app, more.data(), more.size(), MSG_NOSIGNAL) > 0 &&
             send(c.app, "x", 1, MSG_NOSIGNAL) == 1 && hooked_recv(c.app, peeked, 1) == 0,
         "a client that still sends after the answer meets neither EPIPE nor a reset");
    char byte;
    fact(recv(c.server, &byte, 1, 0) == 0, "the server got no byte, and the end of the connection");
  }
  {
    Connection c(family);
    inject(c, Fault::kReset);
    int error = 0;
    socklen_t size = sizeof error;
    pollfd p = {c.app, POLLIN, 0};
    poll(&p, 1, 0);
    getsockopt(c.app, SOL_SOCKET, SO_ERROR, &error, &size);
    fact((p.revents & POLLIN) && (p.revents & POLLHUP) && error == ECONNRESET &&
             !swallows_writes(c.app) && send(c.app, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE,
         "a reset: POLLIN, POLLHUP, SO_ERROR is ECONNRESET, then EPIPE on sending");
  }
  {
    Connection c(family);
    OutgoingCall call = make_call(Fault::kReset, true);
    inject_before_effect(c.app, nullptr, &call, false);
    fact(fake::how == FaultHow::kResetInsteadOfRefused && read_all(c.app) == "reset",
         "a refusal on an open connection is a reset, and says so");
  }
  {
    Connection c(family);
    OutgoingCall call = make_call(Fault::kAnswer);
    inject_before_effect(c.app, nullptr, &call, true);
    char buffer[65536];
    const ssize_t n = recv(c.app, buffer, sizeof buffer, 0);
    fact(n == static_cast<ssize_t>(call.plan.blob_head_size) && recv(c.app, buffer, 1, 0) == 0,
         "a HEAD request is answered without body");
  }
  {
    Connection c(family);
    const std::string small = fake::answer;
    fake::answer = "HTTP/1.1 500 E\r\nContent-Length: 200000\r\n\r\n" + std::string(200000, 'z');
    const bool done = inject(c, Fault::kAnswer);
    fact(done && read_all(c.app) == "answer", "an answer of 200 kB needs no reader to be written");
    fake::answer = small;
  }
  {
    Connection c(family);
    const int copy = dup(c.app), epoll = make_epoll(copy, EPOLLIN);
    inject(c, Fault::kAnswer);
    fact(is_replaced(copy) && wait_epoll(copy, epoll, 5000) && read_all(copy) == "answer",
         "another number of the same socket is replaced with it, with its epoll registration");
    forget_replaced(copy);
    close(copy);
    close(epoll);
  }
  {
    Connection c(family), other(family);
    const int first = make_epoll(c.app, EPOLLIN), second = make_epoll(c.app, EPOLLIN | EPOLLET);
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = other.app;
    epoll_ctl(first, EPOLL_CTL_ADD, other.app, &event);
    const ssize_t sent = send(other.server, "x", 1, 0);
    inject(c, Fault::kSilence);
    epoll_event seen[4];
    const bool only_other = epoll_wait(first, seen, 4, 0) == 1 && seen[0].data.fd == other.app;
    fact(sent == 1 && only_other && epoll_wait(second, seen, 4, 0) == 0,
         "other registrations of the same epoll set are untouched, a second set is quiet too");
    close(first);
    close(second);
  }
}

void after_effect(int family) {
  for (const Fault fault : {Fault::kAnswer, Fault::kReset, Fault::kSilence}) {
    Connection c(family);
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const ssize_t sent = send(c.app, request.data(), request.size(), 0);
    OutgoingCall call = make_call(fault);
    const bool done = inject_after_effect(c.app, nullptr, &call, false);
    char buffer[256];
    const bool arrived = recv(c.server, buffer, sizeof buffer, 0) == sent;
    const ssize_t answered = send(c.server, "HTTP/1.1 200 OK\r\n\r\n", 19, 0);
    nonblocking(c.app);
    const bool hidden = recv(c.app, buffer, sizeof buffer, 0) < 0 && errno == EAGAIN;
    const HandOffKind kind = fault == Fault::kAnswer  ? HandOffKind::kDrainThenAnswer
                             : fault == Fault::kReset ? HandOffKind::kDrainThenReset
                                                      : HandOffKind::kDrainThenSilence;
    fact(done && arrived && hidden && fake::kind == kind && fake::real >= 0 &&
             recv(fake::real, buffer, sizeof buffer, 0) == answered &&
             call.active == (fault == Fault::kSilence),
         std::string(kFaultNames[static_cast<int>(fault)]) +
             " after effect: the server has the request, the daemon the real answer");
  }
}

void declined(int family) {
  for (const bool unread : {false, true}) {
    Connection c(family);
    const int epoll = make_epoll(c.app, EPOLLIN);
    ssize_t sent = unread ? send(c.server, "x", 1, 0) : 0;
    fake::daemon_there = unread;
    OutgoingCall call = make_call(unread ? Fault::kAnswer : Fault::kSilence);
    const bool done = inject_before_effect(c.app, nullptr, &call, false);
    fake::daemon_there = true;
    if (!unread) sent = send(c.server, "x", 1, 0);
    char byte;
    fact(!done && sent == 1 && fake::how == FaultHow::kNotInjected && !is_replaced(c.app) &&
             wait_epoll(c.app, epoll, 5000) && recv(c.app, &byte, 1, 0) == 1,
         "not injected (" + fake::detail + "): the real connection goes on");
    close(epoll);
  }
  Connection c(family);
  int sets[40];
  for (int& set : sets) set = make_epoll(c.app, EPOLLIN);
  OutgoingCall call = make_call(Fault::kAnswer);
  fact(!inject_before_effect(c.app, nullptr, &call, false) && !is_replaced(c.app),
       "not injected (" + fake::detail + ")");
  for (const int set : sets) close(set);
}

void many(int family) {
  const size_t before = fake::own.size();
  const int next = dup(0);
  close(next);
  bool ok = true;
  for (int i = 0; i < 600; ++i) {
    Connection c(family);
    ok = ok && inject(c, i % 2 ? Fault::kAnswer : Fault::kReset);
  }
  const int after = dup(0);
  close(after);
  fact(ok && fake::own.size() <= before && after == next && g_replaced_now == 0,
       "600 faults leave no descriptor and no entry behind");
}

void shared_with_child(int family) {
  Connection c(family);
  int gate[2];
  if (pipe(gate) != 0) exit(2);
  // The fault replaces the parent's descriptor only; a child that holds a copy of the real one
  // (as after a fork) must not keep the reset away.
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
  const bool done = inject(c, Fault::kReset);
  const std::string seen = read_all(c.app);
  close(gate[1]);
  close(gate[0]);
  int status = 0;
  waitpid(child, &status, 0);
  fact(done && seen == "reset",
       "a child that shares the real connection does not keep a reset away");
}

// --- refused connects, timeouts ---------------------------------------------------------------

int refused_error(int fd, const Address& to, socklen_t size) {
  if (connect_refused(fd, &to.any, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd p = {fd, POLLOUT, 0};
  poll(&p, 1, 5000);
  int error = 0;
  socklen_t error_size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
  return error;
}

void refused() {
  g_where = "refused connect";
  for (const char* name : {"IPv4", "IPv6", "IPv6 only", "mapped IPv4", "Unix"}) {
    Address to = {};
    socklen_t size = sizeof to.v6;
    int family = AF_INET6;
    to.v6.sin6_port = htons(80);
    if (!strcmp(name, "IPv4")) family = AF_INET, size = sizeof to.v4;
    if (!strcmp(name, "Unix")) family = AF_UNIX, size = sizeof to.un;
    if (family == AF_INET6) to.v6.sin6_addr = in6addr_loopback;
    if (!strcmp(name, "mapped IPv4")) {
      const uint8_t bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3};
      memcpy(&to.v6.sin6_addr, bytes, sizeof bytes);
    }
    to.any.sa_family = static_cast<sa_family_t>(family);
    for (const int mode : {0, static_cast<int>(SOCK_NONBLOCK)}) {
      const int fd = socket(family, SOCK_STREAM | mode, 0), on = 1;
      if (!strcmp(name, "IPv6 only")) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
      Address peer = {};
      socklen_t peer_size = sizeof peer;
      fact(refused_error(fd, to, size) == ECONNREFUSED &&
               !original_peer(fd, &peer.any, &peer_size) &&
               getpeername(fd, &peer.any, &peer_size) < 0 && errno == ENOTCONN,
           std::string(name) + (mode ? ", non-blocking" : ", blocking"));
      close(fd);
    }
  }
  for (const int fd : std::set<int>(fake::own)) release_descriptor(fd);
  Address to = {};
  to.v4.sin_family = AF_INET;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  fact(refused_error(fd, to, sizeof to.v4) == ECONNREFUSED,
       "still refused after the program closed our descriptors");
  close(fd);
}

void timeouts() {
  g_where = "fast timeout";
  Connection c(AF_INET), other(AF_INET);
  inject(c, Fault::kSilence);
  const timeval limit = {5, 0};
  setsockopt(c.app, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  pollfd fds[2] = {{c.app, POLLIN, 0}, {other.app, POLLIN, 0}};
  fact(!elapse_wait(fds, 1, 1000) && !elapse_receive(c.app), "never without the lane's option");
  fake::options = kOptionFastTimeouts;
  fact(!elapse_wait(fds, 2, 1000), "not while another descriptor is waited for");
  fact(!elapse_wait(fds, 1, -1) && !elapse_wait(fds, 1, 0), "not an infinite wait, not a look");
  fds[0].events = POLLIN | POLLOUT;
  fact(!elapse_wait(fds, 1, 1000), "not a wait to write");
  fds[0].events = POLLIN;
  fact(elapse_wait(fds, 1, 1000) && !elapse_wait(fds, 1, 1000) && !elapse_receive(c.app),
       "the first wait, and no later one");
  Connection d(AF_INET);
  inject(d, Fault::kSilence);
  fact(!elapse_receive(d.app), "not a receive without SO_RCVTIMEO");
  setsockopt(d.app, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  fact(elapse_receive(d.app) && !elapse_receive(d.app), "a receive with SO_RCVTIMEO, once");
  Connection e(AF_INET);
  OutgoingCall call = make_call(Fault::kSilence);
  const ssize_t sent = send(e.app, "x", 1, 0);
  inject_after_effect(e.app, nullptr, &call, false);
  std::atomic<bool> effect{false}, before_effect{false};
  std::atomic<int> tid{0};
  std::thread caller([&] {
    pollfd one = {e.app, POLLIN, 0};
    tid = static_cast<int>(syscall(SYS_gettid));
    before_effect = !elapse_wait(&one, 1, 60000) || !effect;
  });
  until_asleep(tid);
  effect = true;
  shutdown(fake::real, SHUT_RDWR);
  caller.join();
  fact(sent == 1 && !before_effect, "after effect: not before the real answer was read away");
  fake::options = 0;
}

}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  signal(SIGALRM, SIG_DFL);
  alarm(30);  // a reader that never wakes ends the test
  fake::answer =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 8\r\nConnection: close\r\n\r\ninjected";
  for (const int family : {AF_INET, AF_INET6, AF_UNIX}) {
    for (const Fault fault : {Fault::kAnswer, Fault::kReset, Fault::kSilence}) {
      g_where = std::string(family_name(family)) + ", " + kFaultNames[static_cast<int>(fault)];
      for (const Style& style : kStyles) one_style(family, fault, style);
      for (const Style& style : kStyles) second_thread(family, fault, style);
    }
    g_where = family_name(family);
    visible_state(family);
    after_effect(family);
    declined(family);
    many(family);
    shared_with_child(family);
  }
  timeouts();
  refused();
  printf("%s\n", g_failures == 0 ? "inject_probe: all facts hold" : "inject_probe: FAILED");
  return g_failures == 0 ? 0 : 1;
}
