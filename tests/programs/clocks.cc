// A service for tests of replays, which tells the time and waits until times.
//
// clocks PORT
//   GET /token/N   whether a token that expires N seconds after 1970 is valid, which day it is, and how many minutes local time is ahead
//   GET /now/N     the year by each way to ask for the time of day, and whose the other clocks are
//   GET /child/N   the year as a forked child, and a program that the service starts, are shown it
//   GET /waits/N   how each wait until a time of day that comes in N milliseconds has ended
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/timeb.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <vector>

#include "tests/programs/http_text.h"

// By another name, since glibc calls it deprecated.
extern "C" int old_ftime(timeb* out) __asm__("ftime");

namespace {

std::string day_of(time_t seconds, const char* form) {
  tm parts{};
  char text[32] = "";
  gmtime_r(&seconds, &parts);
  strftime(text, sizeof text, form, &parts);
  return text;
}

std::string member(const std::string& name, const std::string& value) {
  return "\"" + name + "\": \"" + value + "\"";
}

std::string joined(const std::vector<std::string>& members) {
  std::string out;
  for (const std::string& each : members) out += (out.empty() ? "{" : ", ") + each;
  return out + "}";
}

// The kernel's own clock, which no library stands before.
timespec of_kernel(clockid_t clock) {
  timespec out{};
  long result = SYS_clock_gettime;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(static_cast<long>(clock)), "S"(&out)
                   : "rcx", "r11", "memory");
  return out;
}

bool is_not_after(const timespec& a, const timespec& b) {
  return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec <= b.tv_nsec);
}

std::string owner_of(clockid_t clock) {
  const timespec before = of_kernel(clock);
  timespec asked{}, by_number{};
  clock_gettime(clock, &asked);
  syscall(SYS_clock_gettime, clock, &by_number);
  const timespec after = of_kernel(clock);
  return is_not_after(before, asked) && is_not_after(asked, by_number) &&
                 is_not_after(by_number, after)
             ? "the machine's"
             : "another one's";
}

std::string token(long expires) {
  const time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  return std::string("{\"valid\": ") + (now < expires ? "true" : "false") + ", " +
         member("day", day_of(now, "%Y-%m-%d")) +
         ", \"ahead\": " + std::to_string(local.tm_gmtoff / 60) + "}";
}

std::string year(time_t seconds) {
  return day_of(seconds, "%Y");
}

std::string now() {
  timespec time_of_day{};
  timeval with_microseconds{};
  timeb with_milliseconds{};
  std::vector<std::string> out;
  clock_gettime(CLOCK_REALTIME, &time_of_day);
  out.push_back(member("clock_gettime", year(time_of_day.tv_sec)));
  clock_gettime(CLOCK_REALTIME_COARSE, &time_of_day);
  out.push_back(member("coarse", year(time_of_day.tv_sec)));
  gettimeofday(&with_microseconds, nullptr);
  out.push_back(member("gettimeofday", year(with_microseconds.tv_sec)));
  out.push_back(member("time", year(time(nullptr))));
  timespec_get(&time_of_day, TIME_UTC);
  out.push_back(member("timespec_get", year(time_of_day.tv_sec)));
  old_ftime(&with_milliseconds);
  out.push_back(member("ftime", year(with_milliseconds.time)));
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &time_of_day);
  out.push_back(member("SYS_clock_gettime", year(time_of_day.tv_sec)));
  syscall(SYS_gettimeofday, &with_microseconds, nullptr);
  out.push_back(member("SYS_gettimeofday", year(with_microseconds.tv_sec)));
  out.push_back(member("SYS_time", year(syscall(SYS_time, nullptr))));
  out.push_back(member("monotonic", owner_of(CLOCK_MONOTONIC)));
  out.push_back(member("boottime", owner_of(CLOCK_BOOTTIME)));
  out.push_back(member("cpu", owner_of(CLOCK_PROCESS_CPUTIME_ID)));
  return joined(out);
}

// What `child` writes to its standard output.
std::string said_by(const std::function<void()>& child) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    child();
    _exit(0);
  }
  close(ends[1]);
  std::string out;
  char text[64];
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;)
    out.append(text, static_cast<size_t>(n));
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string children() {
  const std::string forked = said_by([] {
    const std::string text = year(time(nullptr));
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(1);
  });
  const std::string started =
      said_by([] { execlp("date", "date", "-u", "+%Y", static_cast<char*>(nullptr)); });
  return joined({member("forked", forked), member("started", started)});
}

timespec in(long milliseconds, clockid_t clock = CLOCK_REALTIME) {
  timespec out{};
  clock_gettime(clock, &out);
  out.tv_nsec += milliseconds * 1'000'000;
  out.tv_sec += out.tv_nsec / 1'000'000'000;
  out.tv_nsec %= 1'000'000'000;
  return out;
}

// Calls `wait` with a deadline. "late" if it has ended by it: with one of `ends` as its result, and not before.
std::string wait_until(long milliseconds, const std::function<int(const timespec*)>& wait, int ends,
                       clockid_t clock = CLOCK_REALTIME) {
  const timespec deadline = in(milliseconds, clock);
  const int result = wait(&deadline);
  const timespec ended = in(0, clock);
  if (result != ends) return "ended with " + std::to_string(result);
  return is_not_after(deadline, ended) ? "late" : "early";
}

int failed(long result) {
  return result == 0 ? 0 : errno;
}

int wait_for_timer(int timer) {
  uint64_t times = 0;
  return read(timer, &times, sizeof times) == sizeof times ? static_cast<int>(times) : -1;
}

// Locks of another thread, which this one cannot get.
struct Locks {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  mtx_t c_mutex;
  sem_t taken, given_back;
};

void* hold(void* argument) {
  auto* locks = static_cast<Locks*>(argument);
  pthread_mutex_lock(&locks->mutex);
  pthread_rwlock_wrlock(&locks->rwlock);
  mtx_lock(&locks->c_mutex);
  sem_post(&locks->taken);
  sem_wait(&locks->given_back);
  mtx_unlock(&locks->c_mutex);
  pthread_rwlock_unlock(&locks->rwlock);
  pthread_mutex_unlock(&locks->mutex);
  return nullptr;
}

void conditions(long ms, std::vector<std::string>* out) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER, monotonic;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&monotonic, &attributes);
  pthread_mutex_lock(&mutex);
  const auto add = [&](const char* name, const std::string& how) {
    out->push_back(member(name, how));
  };
  add("pthread_cond_timedwait",
      wait_until(
          ms, [&](const timespec* t) { return pthread_cond_timedwait(&condition, &mutex, t); },
          ETIMEDOUT));
  add("its monotonic condition",
      wait_until(
          ms, [&](const timespec* t) { return pthread_cond_timedwait(&monotonic, &mutex, t); },
          ETIMEDOUT, CLOCK_MONOTONIC));
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    add(clock == CLOCK_REALTIME ? "pthread_cond_clockwait" : "monotonic pthread_cond_clockwait",
        wait_until(
            ms,
            [&](const timespec* t) { return pthread_cond_clockwait(&condition, &mutex, clock, t); },
            ETIMEDOUT, clock));
  }
  pthread_mutex_unlock(&mutex);
  cnd_t c_condition;
  mtx_t c_mutex;
  cnd_init(&c_condition);
  mtx_init(&c_mutex, mtx_timed);
  mtx_lock(&c_mutex);
  add("cnd_timedwait",
      wait_until(
          ms, [&](const timespec* t) { return cnd_timedwait(&c_condition, &c_mutex, t); },
          thrd_timedout));
  mtx_unlock(&c_mutex);
  std::mutex of_cpp;
  std::unique_lock lock(of_cpp);
  std::condition_variable variable;
  const auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(ms);
  const bool ended = !variable.wait_until(lock, until, [] { return false; });
  add("std::condition_variable",
      ended && std::chrono::system_clock::now() >= until ? "late" : "early");
  // A future waits by a system call.
  std::promise<void> promise;
  const auto then = std::chrono::system_clock::now() + std::chrono::milliseconds(ms);
  const bool over = promise.get_future().wait_until(then) == std::future_status::timeout;
  add("std::future", over && std::chrono::system_clock::now() >= then ? "late" : "early");
}

void locks(long ms, std::vector<std::string>* out) {
  Locks held;
  mtx_init(&held.c_mutex, mtx_timed);
  sem_init(&held.taken, 0, 0);
  sem_init(&held.given_back, 0, 0);
  pthread_t holder;
  pthread_create(&holder, nullptr, hold, &held);
  sem_wait(&held.taken);
  const auto add = [&](const char* name, const std::function<int(const timespec*)>& wait,
                       int ends = ETIMEDOUT) {
    out->push_back(member(name, wait_until(ms, wait, ends)));
  };
  add("pthread_mutex_timedlock",
      [&](const timespec* t) { return pthread_mutex_timedlock(&held.mutex, t); });
  add("pthread_mutex_clocklock",
      [&](const timespec* t) { return pthread_mutex_clocklock(&held.mutex, CLOCK_REALTIME, t); });
  add("pthread_rwlock_timedrdlock",
      [&](const timespec* t) { return pthread_rwlock_timedrdlock(&held.rwlock, t); });
  add("pthread_rwlock_timedwrlock",
      [&](const timespec* t) { return pthread_rwlock_timedwrlock(&held.rwlock, t); });
  add("pthread_rwlock_clockrdlock", [&](const timespec* t) {
    return pthread_rwlock_clockrdlock(&held.rwlock, CLOCK_REALTIME, t);
  });
  add("pthread_rwlock_clockwrlock", [&](const timespec* t) {
    return pthread_rwlock_clockwrlock(&held.rwlock, CLOCK_REALTIME, t);
  });
  add(
      "mtx_timedlock", [&](const timespec* t) { return mtx_timedlock(&held.c_mutex, t); },
      thrd_timedout);
  add("pthread_timedjoin_np",
      [&](const timespec* t) { return pthread_timedjoin_np(holder, nullptr, t); });
  add("pthread_clockjoin_np",
      [&](const timespec* t) { return pthread_clockjoin_np(holder, nullptr, CLOCK_REALTIME, t); });
  add("sem_timedwait", [&](const timespec* t) { return failed(sem_timedwait(&held.taken, t)); });
  add("sem_clockwait",
      [&](const timespec* t) { return failed(sem_clockwait(&held.taken, CLOCK_REALTIME, t)); });
  int word = 0;
  constexpr int kFutex = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME;
  add("SYS_futex", [&](const timespec* t) {
    return failed(syscall(SYS_futex, &word, kFutex, 0, t, nullptr, FUTEX_BITSET_MATCH_ANY));
  });
  sem_post(&held.given_back);
  pthread_join(holder, nullptr);
}

void timers(long ms, std::vector<std::string>* out) {
  const auto add = [&](const char* name, const std::function<int(const timespec*)>& wait, int ends,
                       clockid_t clock = CLOCK_REALTIME) {
    out->push_back(member(name, wait_until(ms, wait, ends, clock)));
  };
  add(
      "clock_nanosleep",
      [](const timespec* t) { return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, t, nullptr); },
      0);
  add(
      "SYS_clock_nanosleep",
      [](const timespec* t) {
        return failed(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, t, nullptr));
      },
      0);
  for (const clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
    const int timer = timerfd_create(clock, TFD_CLOEXEC);
    add(
        clock == CLOCK_REALTIME ? "timerfd_settime" : "monotonic timerfd_settime",
        [&](const timespec* t) {
          const itimerspec once{{0, 0}, *t};
          timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, nullptr);
          return wait_for_timer(timer);
        },
        1, clock);
    close(timer);
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  sigevent how{};
  how.sigev_notify = SIGEV_SIGNAL;
  how.sigev_signo = SIGUSR1;
  timer_t timer;
  timer_create(CLOCK_REALTIME, &how, &timer);
  add(
      "timer_settime",
      [&](const timespec* t) {
        const itimerspec once{{0, 0}, *t};
        timer_settime(timer, TIMER_ABSTIME, &once, nullptr);
        return sigwaitinfo(&signals, nullptr);
      },
      SIGUSR1);
  timer_delete(timer);
  const std::string name = "/filibuster-clocks-" + std::to_string(getpid());
  mq_attr attributes{};
  attributes.mq_maxmsg = 1;
  attributes.mq_msgsize = 8;
  const mqd_t queue = mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes);
  if (queue == static_cast<mqd_t>(-1)) return;
  mq_unlink(name.c_str());
  char room[8];
  add(
      "mq_timedreceive",
      [&](const timespec* t) {
        return mq_timedreceive(queue, room, sizeof room, nullptr, t) < 0 ? errno : 0;
      },
      ETIMEDOUT);
  mq_send(queue, "full", 4, 0);
  add(
      "mq_timedsend",
      [&](const timespec* t) { return failed(mq_timedsend(queue, "more", 4, 0, t)); }, ETIMEDOUT);
  mq_close(queue);
}

std::string waits(long milliseconds) {
  std::vector<std::string> members;
  conditions(milliseconds, &members);
  locks(milliseconds, &members);
  timers(milliseconds, &members);
  return joined(members);
}

std::string answer(const std::string& request) {
  const size_t path = request.find('/'), number = request.find('/', path + 1);
  const std::string what = request.substr(path, number - path);
  const long n = strtol(request.c_str() + number + 1, nullptr, 10);
  return what == "/token"   ? token(n)
         : what == "/now"   ? now()
         : what == "/child" ? children()
                            : waits(n);
}

}  // namespace

int main(int, char** arguments) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(atoi(arguments[1])));
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 8) != 0) {
    perror("listen");
    return 1;
  }
  for (int fd; (fd = accept(listener, nullptr, nullptr)) >= 0; close(fd)) {
    std::string request;
    char buffer[4096];
    for (ssize_t n; message_size(request) == 0 && (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
      request.append(buffer, static_cast<size_t>(n));
    if (request.empty()) continue;
    const std::string body = answer(request);
    send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  return 1;
}
