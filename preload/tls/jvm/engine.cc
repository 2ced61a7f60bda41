#include "preload/tls/jvm/engine.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "preload/os/pool.h"
#include "preload/runtimes/jvm/vm.h"
#include "preload/tls/pump.h"

namespace filibuster::preload::jvm {
namespace {

constexpr size_t kMostBytes = 16 * 1024;

struct Methods {
  jmethodID feed, unsent, take, read, write, close, abandon;
};

class ObjectEngine final : public Engine {
 public:
  ObjectEngine(jobject object, const Methods& methods) : object_(object), methods_(methods) {}

  void feed(const char* bytes, size_t size) override { give(methods_.feed, bytes, size); }
  size_t take(char* bytes, size_t room) override {
    return static_cast<size_t>(std::max<ssize_t>(get(methods_.take, bytes, room), 0));
  }
  ssize_t read(char* bytes, size_t room) override { return get(methods_.read, bytes, room); }
  ssize_t write(const char* bytes, size_t size) override {
    return give(methods_.write, bytes, std::min(size, kMostBytes));
  }
  void close() override {
    if (attached() == nullptr) return;
    env_->CallVoidMethod(object_, methods_.close);
    result(0);
  }
  void drop(bool process_ends) override;

 private:
  // The machine knows the thread from its first call on.
  JNIEnv* attached() {
    if (env_ == nullptr && !failed_) env_ = attach_thread();
    failed_ = env_ == nullptr;
    return env_;
  }
  // The objects throw nothing but what the machine itself throws.
  ssize_t result(jint size) {
    if (!env_->ExceptionCheck()) return size;
    env_->ExceptionClear();
    return -ECONNABORTED;
  }
  ssize_t give(jmethodID method, const char* bytes, size_t size) {
    if (attached() == nullptr) return -ECONNABORTED;
    const jbyteArray array = env_->NewByteArray(static_cast<jsize>(size));
    if (array == nullptr) return result(0);
    env_->SetByteArrayRegion(array, 0, static_cast<jsize>(size),
                             reinterpret_cast<const jbyte*>(bytes));
    const ssize_t given = result(env_->CallIntMethod(object_, method, array));
    env_->DeleteLocalRef(array);
    return given;
  }
  ssize_t get(jmethodID method, char* bytes, size_t room) {
    if (attached() == nullptr) return -ECONNABORTED;
    const jbyteArray array = env_->NewByteArray(static_cast<jsize>(std::min(room, kMostBytes)));
    if (array == nullptr) return result(0);
    const ssize_t got = result(env_->CallIntMethod(object_, method, array));
    if (got > 0)
      env_->GetByteArrayRegion(array, 0, static_cast<jsize>(got), reinterpret_cast<jbyte*>(bytes));
    env_->DeleteLocalRef(array);
    return got;
  }

  jobject object_;
  Methods methods_;
  JNIEnv* env_ = nullptr;
  bool failed_ = false;
};

Pool<ObjectEngine, 16, 1024> g_engines;

void ObjectEngine::drop(bool process_ends) {
  if (!process_ends && attached() != nullptr) {
    env_->DeleteGlobalRef(object_);
    detach_thread();
  }
  g_engines.give(this);
}

}  // namespace

bool pump_object(JNIEnv* env, jobject object, std::string_view received, std::string_view unsent,
                 int real, int plain) {
  const jclass type = env->GetObjectClass(object);
  const Methods methods{
      env->GetMethodID(type, "feed", "([B)I"),  env->GetMethodID(type, "unsent", "([B)I"),
      env->GetMethodID(type, "take", "([B)I"),  env->GetMethodID(type, "read", "([B)I"),
      env->GetMethodID(type, "write", "([B)I"), env->GetMethodID(type, "close", "()V"),
      env->GetMethodID(type, "abandon", "()V")};
  const jobject kept = env->NewGlobalRef(object);
  ObjectEngine* memory = kept != nullptr ? g_engines.take() : nullptr;
  const auto fail = [&] {
    env->CallVoidMethod(object, methods.abandon);
    if (env->ExceptionCheck()) env->ExceptionClear();
    if (memory != nullptr) g_engines.give(memory);
    env->DeleteGlobalRef(kept);
    return false;
  };
  if (memory == nullptr) return fail();
  for (const auto& [method, bytes] :
       {std::pair(methods.feed, received), {methods.unsent, unsent}}) {
    if (bytes.empty()) continue;
    const jbyteArray array = env->NewByteArray(static_cast<jsize>(bytes.size()));
    if (array == nullptr) {
      env->ExceptionClear();
      return fail();
    }
    env->SetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()),
                            reinterpret_cast<const jbyte*>(bytes.data()));
    env->CallIntMethod(kept, method, array);
    if (env->ExceptionCheck()) {
      env->ExceptionClear();
      return fail();
    }
  }
  return start_pump(new (memory) ObjectEngine(kept, methods), real, plain) || fail();
}

}  // namespace filibuster::preload::jvm
