#include "preload/tls/gnutls/engine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "preload/os/pool.h"

namespace filibuster::preload::gnutls {
namespace {

// Of two records, and of what is fed at once.
constexpr size_t kRoom = 64 * 1024;

struct Queue {
  size_t from = 0, to = 0;
  char bytes[kRoom];

  size_t size() const { return to - from; }
  bool put(const void* data, size_t more) {
    if (from != 0) std::memmove(bytes, bytes + from, size());
    to -= from;
    from = 0;
    if (more > kRoom - to) return false;
    std::memcpy(bytes + to, data, more);
    to += more;
    return true;
  }
  size_t take(void* data, size_t most) {
    const size_t size_taken = std::min(most, size());
    std::memcpy(data, bytes + from, size_taken);
    from += size_taken;
    return size_taken;
  }
};

class SessionEngine final : public Engine {
 public:
  SessionEngine(const Api& api, SessionPtr session) : api_(api), session_(session) {
    api.gnutls_transport_set_ptr(session, this);
    api.gnutls_transport_set_push_function(session, push);
    api.gnutls_transport_set_pull_function(session, pull);
    api.gnutls_transport_set_pull_timeout_function(session, wait);
  }

  void feed(const char* bytes, size_t size) override { failed_ = !in_.put(bytes, size) || failed_; }
  size_t take(char* bytes, size_t room) override { return out_.take(bytes, room); }
  ssize_t read(char* bytes, size_t room) override {
    // A record that brings no data (a ticket of the session) ends the call, although others follow.
    ssize_t got = 0;
    size_t left = 0;
    do {
      left = in_.size();
      got = moved(api_.gnutls_record_recv(session_, bytes, room));
    } while (got == -EAGAIN && in_.size() != 0 && in_.size() != left);
    return got;
  }
  ssize_t write(const char* bytes, size_t size) override {
    return moved(api_.gnutls_record_send(session_, bytes, size));
  }
  void close() override { api_.gnutls_bye(session_, kSendsFinOnly); }
  void drop(bool process_ends) override;

 private:
  ssize_t moved(ssize_t result) const {
    if (failed_) return -ECONNABORTED;
    if (result >= 0) return result;
    return result == kAgain || result == kInterrupted ? -EAGAIN : -ECONNABORTED;
  }
  static ssize_t push(void* self, const void* data, size_t size) {
    auto& engine = *static_cast<SessionEngine*>(self);
    if (engine.out_.put(data, size)) return static_cast<ssize_t>(size);
    engine.api_.gnutls_transport_set_errno(engine.session_, EAGAIN);
    return -1;
  }
  static ssize_t pull(void* self, void* data, size_t size) {
    auto& engine = *static_cast<SessionEngine*>(self);
    if (engine.in_.size() != 0) return static_cast<ssize_t>(engine.in_.take(data, size));
    engine.api_.gnutls_transport_set_errno(engine.session_, EAGAIN);
    return -1;
  }
  static int wait(void* self, unsigned) {
    return static_cast<SessionEngine*>(self)->in_.size() != 0 ? 1 : 0;
  }

  const Api& api_;
  SessionPtr session_;
  bool failed_ = false;
  Queue in_, out_;
};

Pool<SessionEngine, 1, 1024> g_engines;

void SessionEngine::drop(bool) {
  g_engines.give(this);
}

}  // namespace

Engine* pump_session(const Api& api, SessionPtr session, int real, int plain) {
  SessionEngine* memory = g_engines.take();
  if (memory == nullptr) return nullptr;
  auto* engine = new (memory) SessionEngine(api, session);
  if (start_pump(engine, real, plain)) return engine;
  g_engines.give(engine);
  return nullptr;
}

}  // namespace filibuster::preload::gnutls
