#include "preload/tls/jvm/session.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "preload/inject/inject.h"
#include "preload/inject/pair.h"
#include "preload/inject/records.h"
#include "preload/os/pool.h"
#include "preload/tls/jvm/engine.h"

namespace filibuster::preload::jvm {

constinit thread_local const Call* t_call __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

Pool<Session, 64, 1024> g_sessions;
constinit jmethodID g_put = nullptr, g_get = nullptr, g_pumped = nullptr;

constexpr size_t kMost = 16 * 1024;

}  // namespace

bool bind_call(JNIEnv* env, jclass call) {
  g_put = env->GetMethodID(call, "put", "([BZ)I");
  g_get = env->GetMethodID(call, "get", "(ZI)I");
  g_pumped = env->GetMethodID(call, "pumped", "()Lsun/security/ssl/FilibusterPumped;");
  return g_put != nullptr && g_get != nullptr && g_pumped != nullptr;
}

jint Call::put(const void* bytes, size_t size, bool clear) const {
  const auto count = static_cast<jsize>(std::min(size, kMost));
  const jbyteArray array = env->NewByteArray(count);
  if (array == nullptr) return -1;  // the exception is the caller's
  env->SetByteArrayRegion(array, 0, count, static_cast<const jbyte*>(bytes));
  const jint taken = env->CallIntMethod(object, g_put, array, static_cast<jboolean>(clear));
  const bool failed =
      env->ExceptionCheck();  // it throws nothing but what the machine itself throws
  env->DeleteLocalRef(array);
  return failed ? -1 : taken;
}

jint Call::get(bool clear, uint64_t skipped) const {
  const jint got = env->CallIntMethod(object, g_get, static_cast<jboolean>(clear),
                                      static_cast<jint>(std::min<uint64_t>(skipped, INT32_MAX)));
  return env->ExceptionCheck() ? -2 : got;
}

jobject Call::pumped() const {
  const jobject made = env->CallObjectMethod(object, g_pumped);
  return env->ExceptionCheck() ? nullptr : made;
}

Session* Session::make(bool engine, bool server) {
  Session* memory = g_sessions.take();
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) Session;
  made->engine_ = engine;
  made->server_ = server;
  return made;
}

void Session::give_back() {
  unsent_.drop();
  g_sessions.give(this);
}

bool Session::join(const tls::ClientRandom& random) {
  if (fd_ < 0 && !find_descriptor(random, server_)) return false;
  // If another thread moves bytes at the moment, the next call tries again.
  int fd;
  return static_cast<bool>(connection(&fd));
}

Pinned Session::connection(int* fd) {
  *fd = fd_;
  return fd_ < 0 ? Pinned() : join_connection(server_);
}

void Session::joins(const Connection& c) {
  counted_ = false;
  if (engine_ && connection_ == nullptr && c.carried_known) counts_received();
}

ssize_t Session::send(const OnTheWire& out) {
  if (t_call == nullptr) {
    errno = EAGAIN;  // a thread of the agent: it has no engine to encrypt with
    return -1;
  }
  const iovec piece = gathered_.of(out);
  t_carrying = connection_;
  const jint taken = t_call->put(piece.iov_base, piece.iov_len, writes_diverted());
  t_carrying = nullptr;
  gathered_.forget();
  if (taken > 0) return taken;
  errno = taken == 0 ? EAGAIN : EPIPE;
  return -1;
}

// --- encrypted bytes on the descriptor -------------------------------------------------------------------

uint64_t Session::to_send() const {
  if (!counted_) return 0;
  const uint64_t made = produced_;
  return made - std::min(made, connection_->carried);
}

void Session::produced(const void* bytes, size_t size) {
  const iovec piece{const_cast<void*>(bytes), size};
  unsent_.add(piece, size, to_send());
  produced_ += size;
}

size_t Session::obsolete(int fd, size_t size) {
  if (!is_replaced(fd) || connection_ == nullptr || connection_->aside.load() >= 0) return 0;
  if (!engine_ || swallows_writes(fd)) return size;
  const auto encrypted = static_cast<size_t>(std::min<uint64_t>(to_send(), size));
  const auto clear = static_cast<size_t>(std::min<uint64_t>(swallowed_, size - encrypted));
  swallowed_ -= clear;
  return encrypted + clear;
}

// A fault is about to take the connection away. False: some thread is using it.
bool Session::keep_out() {
  // What a reader inside of a socket would make of the end of its connection, cannot be undone.
  if (!engine_) return reading_.load() == 0;
  return counted_ && keep_carriers_out();
}

bool Session::has_unread() {
  std::string_view received;
  return !keep_out() || (engine_ && !received_.last(to_skip(), &received));
}

bool Session::all_is_read() {
  return all_records_are_taken(fd_);
}

void Session::unframed(size_t size) {
  if (engine_) take_records(fd_, tls::kRecordHeader + size);
}

// What the application has received begins where a record does, since an engine takes whole ones. Of the last one it may
// have a part. Nothing of what comes now completes it, so zeros do, and are skipped with it.
bool Session::begin_records(tls::RecordRest* rest) {
  std::string_view received;
  if (!engine_) return false;
  if (!received_.last(to_skip(), &received)) return true;
  *rest = tls::rest_of_record(received);
  connection_->carried_in += rest->header_left + rest->zeros;
  return true;
}

int Session::plain_end(int real) {
  std::string_view received, unsent;
  if (pumped_ || t_call == nullptr || !keep_out()) return -1;
  if (engine_ && (!received_.last(to_skip(), &received) || !unsent_.last(to_send(), &unsent)))
    return -1;
  Pair pair;
  if (!make_pair(AF_INET, &pair)) return -1;
  const int plain = adopt_descriptor(pair.app);
  if (plain >= 0) {
    pair.app = -1;
    const jobject object = t_call->pumped();
    pumped_ = object != nullptr && pump_object(t_call->env, object, received, unsent, real, plain);
  }
  if (pumped_) return pair.held;
  if (plain >= 0) release_descriptor(plain);
  discard_pair(&pair);
  return -1;
}

}  // namespace filibuster::preload::jvm
