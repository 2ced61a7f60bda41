// Edits the JDK's TLS (SSLEngine and SSLSocket) so that it reads and writes through hooks/jvm.cc.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <string_view>

namespace filibuster::preload::jvm {

// Loads a class of the JDK without initialising it; nullptr: there is none.
class ClassLoading {
 public:
  virtual jclass load(std::string_view name) = 0;

 protected:
  ~ClassLoading() = default;
};

// Called once, after our classes were defined. Returns what went wrong, or empty. If something did, encrypted
// connections of this machine are not followed, and are reported as such.
std::string_view edit_tls(JNIEnv* env, ClassLoading* classes);

// What stands behind filibuster.Tls: hooks/jvm.cc, which is above this folder.
struct TlsDoor {
  bool (*bind)(JNIEnv* env, jclass natives, jclass call);
  // All edits are made: from now on sessions are followed.
  void (*begin)();
};
void set_tls_door(const TlsDoor* door);

}  // namespace filibuster::preload::jvm
