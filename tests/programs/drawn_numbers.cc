// A service for tests of recordings and replays: GET /draw/N answers with a random number of each source that a native program has.
// With LESS or MORE in the environment it draws one number less or more before, of which the answer has nothing. Behind each
// request a thread that works for none draws, too.
//
// drawn_numbers PORT
#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "tests/programs/http_text.h"

extern "C" void uuid_generate(
    unsigned char* out);  // of libuuid, whose header is not installed everywhere

namespace {

std::mutex g_mutex;
std::condition_variable g_changed;
bool g_awake = true;

void draw_for_nobody() {
  for (;;) {
    char bytes[7];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) abort();
    std::unique_lock lock(g_mutex);
    g_awake = false;
    g_changed.notify_all();
    g_changed.wait(lock, [] { return g_awake; });
  }
}

void wake() {
  const std::lock_guard lock(g_mutex);
  g_awake = true;
  g_changed.notify_all();
}

// Who draws while no request is open is known not to draw for one.
void start_who_draws_for_nobody() {
  std::thread(draw_for_nobody).detach();
  std::unique_lock lock(g_mutex);
  g_changed.wait(lock, [] { return !g_awake; });
}

// {"name": number, ...}
class Answer {
 public:
  template <typename Number>
  void add(const char* name, Number number) {
    text_ += (text_.empty() ? "{\"" : ", \"") + std::string(name) + "\": " + std::to_string(number);
  }
  std::string text() const { return text_ + "}"; }

 private:
  std::string text_;
};

// Of the address space, so that it is another one in each process, and no random number that is recorded.
unsigned short seed() {
  static std::atomic<unsigned short> last(
      static_cast<unsigned short>(reinterpret_cast<uintptr_t>(&g_mutex) >> 12));
  return last += 7919;
}

template <typename Fill>
uint32_t filled(const Fill& fill) {
  uint32_t out = 0;
  if (!fill(&out, sizeof out)) abort();
  return out;
}

std::string answer() {
  char skipped[2], further[3];
  if (getenv("LESS") == nullptr && getrandom(skipped, sizeof skipped, 0) < 0) abort();
  if (getenv("MORE") != nullptr && getrandom(further, sizeof further, 0) < 0) abort();
  wake();
  Answer out;
  out.add("getrandom", filled([](void* to, size_t size) {
            return getrandom(to, size, 0) == static_cast<ssize_t>(size);
          }));
  out.add("syscall", filled([](void* to, size_t size) {
            return syscall(SYS_getrandom, to, size, 0) == static_cast<long>(size);
          }));
  out.add("getentropy", filled([](void* to, size_t size) { return getentropy(to, size) == 0; }));
  out.add("device", filled([](void* to, size_t size) {
            const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
            const bool good = read(fd, to, size) == static_cast<ssize_t>(size);
            close(fd);
            return good;
          }));
  out.add("openssl", filled([](void* to, size_t size) {
            return RAND_bytes(static_cast<unsigned char*>(to), static_cast<int>(size)) == 1;
          }));
  out.add("private", filled([](void* to, size_t size) {
            return RAND_priv_bytes(static_cast<unsigned char*>(to), static_cast<int>(size)) == 1;
          }));
  out.add("random_device", std::random_device()());
  out.add("rand", rand());
  out.add("random", random());
  out.add("drand48", static_cast<uint64_t>(drand48() * 1e12));
  out.add("lrand48", lrand48());
  out.add("mrand48", mrand48());
  unsigned short state[3] = {seed(), seed(), seed()};
  out.add("jrand48", jrand48(state));
  out.add("nrand48", nrand48(state));
  out.add("erand48", static_cast<uint64_t>(erand48(state) * 1e12));
  unsigned small = seed();
  out.add("rand_r", rand_r(&small));
  uint32_t uuid[4];
  uuid_generate(reinterpret_cast<unsigned char*>(uuid));
  out.add("uuid", uuid[3]);
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 36)
  out.add("arc4random", arc4random());
  out.add("arc4random_uniform", arc4random_uniform(1000000));
#endif
#endif
  return out.text();
}

void serve(int fd) {
  std::string request;
  char buffer[4096];
  for (ssize_t n; message_size(request) == 0 && (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
    request.append(buffer, static_cast<size_t>(n));
  if (!request.empty()) {
    const std::string body = answer();
    const std::string whole =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    if (send(fd, whole.data(), whole.size(), MSG_NOSIGNAL) < 0) perror("send");
  }
  close(fd);
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
      listen(listener, 64) != 0) {
    perror("listen");
    return 1;
  }
  start_who_draws_for_nobody();
  for (int fd; (fd = accept(listener, nullptr, nullptr)) >= 0;) std::thread(serve, fd).detach();
}
