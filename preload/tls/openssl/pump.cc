#include "preload/tls/openssl/pump.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "preload/inject/raw.h"
#include "preload/os/bounded_wait.h"
#include "preload/os/pool.h"
#include "preload/rpc/agent.h"
#include "preload/session/agent_thread.h"

namespace filibuster::preload::openssl {
namespace {

constinit thread_local bool t_pump __attribute__((tls_model("initial-exec"))) = false;

// Of a record of TLS, and more than what its encryption adds.
constexpr size_t kBuffer = 20 * 1024;

struct Buffer {
  size_t from, to;
  char bytes[kBuffer];
  bool empty() const { return from == to; }
};

struct Pump {
  const Api* api;
  Ssl* ssl;
  Bio *in, *out;  // memory, of the SSL
  std::atomic<Pump*>* live;
  int real, plain;
  bool real_ended, plain_ended;  // nothing more comes from there
  bool told_real, told_plain;    // and the other side knows
  bool failed;
  Buffer encrypted;  // on its way to `real`
  Buffer clear;      // on its way to `plain`
  Buffer request;    // on its way into the SSL
};
Pool<Pump, 4, 1024> g_pumps;

// OpenSSL frees what it has at the end of the process, and no thread may be inside then.
constexpr size_t kMostLive = 256;
constinit std::atomic<Pump*> g_live[kMostLive] = {};
constinit std::atomic<uint32_t> g_running{0};
constinit std::atomic<bool> g_ending{false}, g_registered{false};
constexpr uint64_t kEndedWithinNs = 1'000'000'000;

std::atomic<Pump*>* enter_live(Pump* p) {
  for (std::atomic<Pump*>& live : g_live) {
    Pump* none = nullptr;
    if (live.load(std::memory_order_relaxed) == nullptr && live.compare_exchange_strong(none, p))
      return &live;
  }
  return nullptr;
}

void end_all() {
  g_ending.store(true);
  for (std::atomic<Pump*>& live : g_live) {
    const Pump* p = live.load();
    if (p == nullptr) continue;
    raw::shutdown(p->plain, SHUT_RDWR);
    raw::shutdown(p->real, SHUT_RD);
  }
  wait_until([] { return g_running.load() == 0; }, kEndedWithinNs);
}

// Registered behind OpenSSL's own, so that it runs before that.
void register_end() {
  if (!g_registered.exchange(true)) std::atexit(end_all);
}

// Sends what is there. False: the descriptor takes nothing any more.
bool send_from(Buffer* b, int fd) {
  while (!b->empty()) {
    const long sent =
        raw::send(fd, b->bytes + b->from, b->to - b->from, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == -EINTR) continue;
    if (sent == -EAGAIN) return true;
    if (sent <= 0) return false;
    b->from += static_cast<size_t>(sent);
  }
  return true;
}

// Receives into an empty buffer. False: nothing more comes.
bool receive_into(Buffer* b, int fd, bool* reset) {
  const long got =
      raw::call(SYS_recvfrom, fd, raw::address_of(b->bytes), sizeof b->bytes, MSG_DONTWAIT, 0, 0);
  if (got == -EAGAIN || got == -EINTR) return true;
  if (got <= 0) {
    *reset = got < 0;
    return false;
  }
  b->from = 0;
  b->to = static_cast<size_t>(got);
  return true;
}

bool fill_from(Bio* bio, const Api& api, Buffer* b) {
  const int size = api.BIO_read(bio, b->bytes, sizeof b->bytes);
  if (size <= 0) return false;
  b->from = 0;
  b->to = static_cast<size_t>(size);
  return true;
}

// Moves what can be moved between the SSL and its buffers. OpenSSL reads one record at a time.
void turn(Pump& p) {
  const Api& api = *p.api;
  if (!p.request.empty()) {
    const int put = api.SSL_write(p.ssl, p.request.bytes + p.request.from,
                                  static_cast<int>(p.request.to - p.request.from));
    if (put > 0) {
      p.request.from += static_cast<size_t>(put);
    } else if (const int error = api.SSL_get_error(p.ssl, put);
               error != kErrorWantRead && error != kErrorWantWrite) {
      p.request.from = p.request.to;
      p.failed = true;
    }
  }
  if (p.plain_ended && p.request.empty() && !p.told_real && !p.failed) {
    api.SSL_shutdown(p.ssl);
    p.told_real = true;
  }
  if (p.clear.empty() && !p.told_plain) {
    const int got = api.SSL_read(p.ssl, p.clear.bytes, sizeof p.clear.bytes);
    if (got > 0) {
      p.clear.from = 0;
      p.clear.to = static_cast<size_t>(got);
    } else if (const int error = api.SSL_get_error(p.ssl, got);
               (error != kErrorWantRead && error != kErrorWantWrite) || p.real_ended) {
      p.told_plain = true;
      raw::shutdown(p.plain, SHUT_WR);
    }
    api.ERR_clear_error();
  }
  if (p.encrypted.empty()) fill_from(p.out, api, &p.encrypted);
}

void reset(int fd) {
  const linger now{1, 0};
  raw::set_option(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool receive_encrypted(Pump& p) {
  Buffer received;
  received.from = received.to = 0;
  bool was_reset = false;
  if (!receive_into(&received, p.real, &was_reset)) {
    p.real_ended = true;
    if (was_reset) reset(p.plain);
    return !was_reset;
  }
  if (!received.empty())
    p.api->BIO_write(p.in, received.bytes + received.from,
                     static_cast<int>(received.to - received.from));
  return true;
}

bool receive_clear(Pump& p) {
  bool was_reset = false;
  if (receive_into(&p.request, p.plain, &was_reset)) return true;
  p.plain_ended = true;
  if (was_reset) reset(p.real);
  return !was_reset;
}

pollfd poll_for(int fd, bool reads, bool writes) {
  const int events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);
  return {events != 0 ? fd : -1, static_cast<short>(events), 0};
}

void pass_on(Pump& p) {
  while (!g_ending.load(std::memory_order_relaxed)) {
    turn(p);
    const bool moved = !p.encrypted.empty() || !p.clear.empty();
    if (!send_from(&p.encrypted, p.real) || !send_from(&p.clear, p.plain)) return;
    if (moved && p.encrypted.empty() && p.clear.empty()) continue;
    const bool idle = p.encrypted.empty() && p.clear.empty();
    if (p.failed || (idle && p.told_plain && p.plain_ended) ||
        (idle && p.told_real && p.real_ended))
      return;
    // A descriptor without an event is not waited for: its end would be told at every turn.
    const bool wants_real = !p.real_ended && p.clear.empty();
    const bool wants_plain = !p.plain_ended && p.request.empty();
    pollfd fds[] = {poll_for(p.real, wants_real, !p.encrypted.empty()),
                    poll_for(p.plain, wants_plain, !p.clear.empty())};
    const long ready = raw::call(SYS_ppoll, raw::address_of(fds), 2, 0, 0);
    if (ready < 0 && ready != -EINTR) return;
    if (ready < 0) continue;
    if (wants_real && (fds[0].revents & ~POLLOUT) != 0 && !receive_encrypted(p)) return;
    if (wants_plain && (fds[1].revents & ~POLLOUT) != 0 && !receive_clear(p)) return;
  }
}

void run(void* argument) {
  t_pump = true;
  auto* p = static_cast<Pump*>(argument);
  pass_on(*p);
  p->live->store(nullptr);
  release_descriptor(p->real);
  release_descriptor(p->plain);
  if (!g_ending.load()) p->api->SSL_free(p->ssl);
  g_pumps.give(p);
  g_running.fetch_sub(1);
}

void no_callback() {}

}  // namespace

bool is_pump() {
  return t_pump;
}

bool start_pump(const Api& api, Ssl* ssl, Output output, int real, int plain) {
  Pump* p = g_pumps.take();
  Bio* in = api.BIO_new(api.BIO_s_mem());
  Bio* out = api.BIO_new(api.BIO_s_mem());
  if (p == nullptr || in == nullptr || out == nullptr) return false;
  p->live = enter_live(p);
  if (p->live == nullptr) return false;
  register_end();
  p->real_ended = p->plain_ended = p->told_real = p->told_plain = p->failed = false;
  for (Buffer* b : {&p->encrypted, &p->clear, &p->request}) b->from = b->to = 0;
  p->api = &api;
  p->ssl = ssl;
  p->in = in;
  p->out = out;
  p->real = real;
  p->plain = plain;
  // An empty memory BIO says "later", not "the end".
  api.BIO_ctrl(in, kControlMemoryEnd, -1, nullptr);
  api.BIO_ctrl(out, kControlMemoryEnd, -1, nullptr);
  Bio* const before_in = api.SSL_get_rbio(ssl);
  Bio* const before_out = api.SSL_get_wbio(ssl);
  // Only what is there: to ask for more, a BIO of the application might wait.
  const auto move = [&](Bio* from, Bio* to, size_t skipped) {
    while (api.BIO_ctrl(from, kControlPending, 0, nullptr) > 0) {
      const int size = api.BIO_read(from, p->clear.bytes, sizeof p->clear.bytes);
      if (size <= 0) return;
      const size_t skip = std::min(skipped, static_cast<size_t>(size));
      skipped -= skip;
      if (static_cast<size_t>(size) > skip)
        api.BIO_write(to, p->clear.bytes + skip, size - static_cast<int>(skip));
    }
  };
  move(before_in, in, 0);
  if (output.is_memory) move(before_out, out, output.sent);
  api.SSL_up_ref(ssl);
  api.SSL_set0_rbio(ssl, in);
  api.SSL_set0_wbio(ssl, out);
  // Nothing of the application is called from another thread.
  api.SSL_callback_ctrl(ssl, kControlMessageCallback, no_callback);
  api.SSL_set_info_callback(ssl, reinterpret_cast<void (*)(const Ssl*, int, int)>(no_callback));
  g_running.fetch_add(1);
  if (start_agent_thread(run, p)) return true;
  g_running.fetch_sub(1);
  p->live->store(nullptr);
  api.BIO_up_ref(before_in);
  api.BIO_up_ref(before_out);
  api.SSL_set0_rbio(ssl, before_in);
  api.SSL_set0_wbio(ssl, before_out);
  api.SSL_free(ssl);
  g_pumps.give(p);
  return false;
}

}  // namespace filibuster::preload::openssl
