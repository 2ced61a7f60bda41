// What filibuster.Tls does: the JDK's SSLEngine and SSLSocket were edited to come here with what they read and
// write (runtimes/jvm/tls.h). The original is called back (tls/jvm/session.h).
#include <jni.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "preload/hooks/tls.h"
#include "preload/runtimes/jvm/tls.h"
#include "preload/tls/jvm/session.h"

namespace filibuster::preload::jvm {
namespace {

constinit std::atomic<bool> g_begun{false};
constinit jfieldID g_bytes = nullptr;

Session& of(jlong session) {
  return *reinterpret_cast<Session*>(session);
}

// A copy of a Java array.
class Bytes {
 public:
  Bytes(JNIEnv* env, jbyteArray array)
      : env_(env),
        array_(array),
        bytes_(array == nullptr ? nullptr : env->GetByteArrayElements(array, nullptr)),
        size_(bytes_ == nullptr ? 0 : static_cast<size_t>(env->GetArrayLength(array))) {}
  ~Bytes() {
    if (bytes_ != nullptr) env_->ReleaseByteArrayElements(array_, bytes_, JNI_ABORT);
  }
  Bytes(const Bytes&) = delete;
  iovec piece() const { return {bytes_, size_}; }

 private:
  JNIEnv* env_;
  jbyteArray array_;
  jbyte* bytes_;
  size_t size_;
};

// Calls the original for what is sent in the place of the application, or passes it.
class Inside {
 public:
  explicit Inside(const Call* call) : before_(t_call) { t_call = call; }
  ~Inside() { t_call = before_; }
  Inside(const Inside&) = delete;

 private:
  const Call* before_;
};

jboolean JNICALL idle(JNIEnv*, jclass) {
  if (!g_begun.load(std::memory_order_acquire)) return JNI_TRUE;
  return tls_is_idle() ? JNI_TRUE : JNI_FALSE;
}

jlong JNICALL make(JNIEnv*, jclass, jboolean engine, jboolean server) {
  const HookScope scope;
  return reinterpret_cast<jlong>(Session::make(engine == JNI_TRUE, server == JNI_TRUE));
}

void JNICALL free(JNIEnv*, jclass, jlong session) {
  const HookScope scope;
  of(session).freed();
}

jboolean JNICALL join(JNIEnv* env, jclass, jlong session, jbyteArray random) {
  const HookScope scope;
  filibuster::tls::ClientRandom bytes;
  if (env->GetArrayLength(random) != static_cast<jsize>(bytes.size())) return JNI_FALSE;
  env->GetByteArrayRegion(random, 0, static_cast<jsize>(bytes.size()),
                          reinterpret_cast<jbyte*>(bytes.data()));
  return of(session).join(bytes) ? JNI_TRUE : JNI_FALSE;
}

jboolean JNICALL diverted(JNIEnv*, jclass, jlong session) {
  return of(session).writes_diverted() ? JNI_TRUE : JNI_FALSE;
}

void JNICALL consumed(JNIEnv*, jclass, jlong session, jint size) {
  if (size > 0) of(session).consumed(static_cast<size_t>(size));
}

void JNICALL swallowed(JNIEnv*, jclass, jlong session, jint size) {
  of(session).swallowed(static_cast<size_t>(size));
}

void JNICALL produced(JNIEnv* env, jclass, jlong session, jbyteArray bytes) {
  const HookScope scope;
  const Bytes made(env, bytes);
  of(session).produced(made.piece().iov_base, made.piece().iov_len);
}

Pinned connection_of(Session& session, int* fd) {
  const HookScope scope;
  return scope.pass_through() ? Pinned() : session.connection(fd);
}

jint put(const Session& s, Connection* c, const Call& call, const iovec& piece) {
  const HookScope scope;
  t_carrying = c;
  const jint taken = call.put(piece.iov_base, piece.iov_len, s.writes_diverted());
  t_carrying = nullptr;
  return taken;
}

jint JNICALL write(JNIEnv* env, jclass, jlong session, jobject object, jbyteArray array) {
  Session& s = of(session);
  const Call call{env, object};
  const Bytes bytes(env, array);
  const iovec piece = bytes.piece();
  int fd = -1;
  Pinned connection = connection_of(s, &fd);
  if (!connection) return call.put(piece.iov_base, piece.iov_len, s.writes_diverted());
  Connection* const c = &*connection;
  Transfer transfer;
  {
    const Inside inside(&call);
    transfer = before_send_over(std::move(connection), fd, piece);
  }
  if (transfer.handled) {
    if (transfer.result >= 0) return static_cast<jint>(transfer.result);
    return errno == EAGAIN ? 0 : -errno;
  }
  const jint taken = put(s, c, call, piece);
  if (transfer.connection && taken > 0) after_send(transfer, fd, piece, static_cast<size_t>(taken));
  return std::max(taken, 0);
}

jint JNICALL read(JNIEnv* env, jclass, jlong session, jobject object, jint room) {
  Session& s = of(session);
  const Call call{env, object};
  int fd = -1;
  Pinned connection = connection_of(s, &fd);
  if (!connection) {
    const bool clear = s.reads_diverted();
    const jint got = call.get(clear, s.to_skip());
    if (clear && got > 0) s.unframed(static_cast<size_t>(got));
    return 0;
  }
  Transfer transfer = before_receive_over(std::move(connection), fd);
  if (transfer.handled) return -errno;
  jint got;
  do {
    const bool clear = s.reads_diverted();
    const Session::Reading reading(clear ? nullptr : &s);
    got = call.get(clear, s.to_skip());
    if (clear && got > 0) s.unframed(static_cast<size_t>(got));
  } while (!s.is_engine() && transfer.connection && must_repeat(transfer, fd));
  if (!transfer.connection) return 0;
  const Bytes bytes(
      env, got > 0 ? static_cast<jbyteArray>(env->GetObjectField(object, g_bytes)) : nullptr);
  const iovec piece = bytes.piece();
  errno = got == -1 ? EAGAIN : ECONNRESET;
  after_receive(transfer, fd, piece, 0, got < 0 ? -1 : got, static_cast<size_t>(room));
  return 0;
}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

#define NATIVE(name, descriptor, function) \
  { const_cast<char*>(name), const_cast<char*>(descriptor), address(function) }
#define CALL "Ljava/lang/Object;"

bool bind_tls(JNIEnv* env, jclass natives, jclass call) {
  const JNINativeMethod methods[] = {
      NATIVE("idle", "()Z", idle),
      NATIVE("make", "(ZZ)J", make),
      NATIVE("free", "(J)V", free),
      NATIVE("join", "(J[B)Z", join),
      NATIVE("diverted", "(J)Z", diverted),
      NATIVE("consumed", "(JI)V", consumed),
      NATIVE("produced", "(J[B)V", produced),
      NATIVE("swallowed", "(JI)V", swallowed),
      NATIVE("write", "(J" CALL "[B)I", write),
      NATIVE("read", "(J" CALL "I)I", read),
  };
  g_bytes = env->GetFieldID(call, "bytes", "[B");
  return g_bytes != nullptr && bind_call(env, call) &&
         env->RegisterNatives(natives, methods, static_cast<jint>(std::size(methods))) == JNI_OK;
}

void begin_tls() {
  g_begun.store(true, std::memory_order_release);
}

constexpr TlsDoor kDoor{bind_tls, begin_tls};
// Before any thread of the program runs.
__attribute__((constructor)) void open_door() {
  set_tls_door(&kDoor);
}

}  // namespace

}  // namespace filibuster::preload::jvm
