#include "preload/tls/gnutls/session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "preload/inject/pair.h"
#include "preload/inject/raw.h"
#include "preload/os/pool.h"
#include "preload/tls/gnutls/engine.h"

namespace filibuster::preload::gnutls {
namespace {

Pool<Session, 64, 1024> g_sessions;

// By the address of the library's own object, which has no room for ours.
struct Entry {
  std::atomic<SessionPtr> key;
  std::atomic<Session*> session;
};
constexpr size_t kEntries = 16'384;  // a power of two
constexpr size_t kTries = 16;
constinit Entry g_entries[kEntries] = {};

Entry* entry_at(SessionPtr key, size_t attempt) {
  const uint64_t hash = reinterpret_cast<uintptr_t>(key) * 0x9E3779B97F4A7C15ull >> 40;
  return &g_entries[(hash + attempt) & (kEntries - 1)];
}

Entry* entry_of(SessionPtr key) {
  for (size_t i = 0; i < kTries; ++i) {
    Entry* entry = entry_at(key, i);
    if (entry->key.load(std::memory_order_acquire) == key) return entry;
  }
  return nullptr;
}

}  // namespace

void Session::begin(const Api& api, SessionPtr session, bool server) {
  for (size_t i = 0; i < kTries; ++i) {
    Entry* entry = entry_at(session, i);
    SessionPtr none = nullptr;
    if (!entry->key.compare_exchange_strong(none, session)) continue;
    Session* memory = g_sessions.take();
    Session* made = memory == nullptr ? nullptr : new (memory) Session;
    if (made != nullptr) {
      made->api_ = &api;
      made->session_ = session;
      made->server_ = server;
    }
    entry->session.store(made, std::memory_order_release);
    return;
  }
}

Session* Session::find(SessionPtr session) {
  const Entry* entry = entry_of(session);
  return entry == nullptr ? nullptr : entry->session.load(std::memory_order_acquire);
}

void Session::end(SessionPtr session) {
  Entry* entry = entry_of(session);
  if (entry == nullptr) return;
  Session* ours = entry->session.exchange(nullptr);
  entry->key.store(nullptr, std::memory_order_release);
  if (ours == nullptr) return;
  if (ours->engine_ != nullptr) stop_pump(ours->engine_);
  {
    // No thread of the agent finds the session from here on, and none is inside.
    const Use use(ours);
    ours->session_ = nullptr;
  }
  ours->drop();
}

void Session::give_back() {
  g_sessions.give(this);
}

Pinned Session::connection(int* fd) {
  if (fd_ < 0) {
    Datum random{nullptr, 0};
    api_->gnutls_session_get_random(session_, &random, nullptr);
    tls::ClientRandom bytes;
    if (random.data == nullptr || random.size != bytes.size()) return Pinned();
    std::memcpy(bytes.data(), random.data, bytes.size());
    if (!find_descriptor(bytes, server_)) return Pinned();
  }
  *fd = fd_;
  return join_connection(server_);
}

namespace {

ssize_t as_library(long result, int failed) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return errno == EAGAIN ? kAgain : errno == EINTR ? kInterrupted : failed;
}

}  // namespace

ssize_t Session::read_diverted(void* data, size_t size) {
  own_direction = 0;
  return as_library(raw::read(fd_, data, size), kPullError);
}
ssize_t Session::write_diverted(const void* data, size_t size) {
  own_direction = 1;
  return as_library(raw::send(fd_, data, size, MSG_NOSIGNAL), kPushError);
}

ssize_t Session::send(const OnTheWire& out) {
  if (session_ == nullptr) {
    errno = EPIPE;
    return -1;
  }
  const iovec piece = gathered_.of(out);
  if (writes_diverted()) {
    sent = write_diverted(piece.iov_base, piece.iov_len);
  } else {
    own_direction = -1;
    t_carrying = connection_;
    errno = 0;
    sent = api_->gnutls_record_send(session_, piece.iov_base, piece.iov_len);
    t_carrying = nullptr;
  }
  const bool again = sent == kAgain || sent == kInterrupted;
  if (!again) gathered_.forget();
  if (sent > 0) return sent;
  errno = again ? EAGAIN : errno != 0 ? errno : EPIPE;
  return -1;
}

bool Session::has_unread() {
  return session_ != nullptr && api_->gnutls_record_check_pending(session_) != 0;
}

int Session::plain_end(int real) {
  if (session_ == nullptr || engine_ != nullptr) return -1;
  Pair pair;
  if (!make_pair(AF_INET, &pair)) return -1;
  const int plain = adopt_descriptor(pair.app);
  if (plain >= 0) {
    pair.app = -1;
    api_->gnutls_transport_get_ptr2(session_, &pointers_.receive, &pointers_.send);
    engine_ = pump_session(*api_, session_, real, plain);
  }
  if (engine_ != nullptr) return pair.held;
  if (plain >= 0) release_descriptor(plain);
  discard_pair(&pair);
  return -1;
}

}  // namespace filibuster::preload::gnutls
